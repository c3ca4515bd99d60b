//! Files sent over sockets by io_uring, many pieces for each system call.
//!
//! A piece is two operations, of which the second waits for the first: a read of
//! the file behind the bytes that stand in a buffer, and a send of that buffer.
//! A send takes what there is room for; only reads may
//! take their time, and only [`FileRing::notice`] waits for them. [`FileRing::advance`]
//! submits what was requested and reports the results.
//!
//! What keeps it sound: buffer, file and socket of a piece belong to the ring
//! while it is under way; a dropped ring waits for all that is, or keeps it.

mod part;
mod setup;
mod transfer;

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, opcode, squeue};
use rustix::event::{EventfdFlags, eventfd};

use crate::Socket;
pub use part::{FILE_PIECE_BYTES_MAX, FilePart};
pub use setup::RingError;
use transfer::{Transfer, TransferStep};

/// The state of the transfer on one connection.
#[derive(Debug)]
pub struct Delivery {
    pub number: usize,
    pub sent: Sent,
}

/// The state of a transfer.
#[derive(Debug)]
pub enum Sent {
    /// Everything is sent; the buffer is returned empty.
    Whole(Vec<u8>),
    /// The socket has no room: [`FileRing::resume`] when it may have some again.
    Full,
    /// The connection is broken, or the file shorter than announced; nothing is
    /// left of it in the ring.
    Failed(io::Error),
}

/// A ring for the files of one thread, which is the one that made it.
pub struct FileRing {
    /// Dropped first, so that the kernel is done with what follows.
    ring: ManuallyDrop<IoUring>,
    transfers: ManuallyDrop<Vec<Option<Transfer>>>,
    notice: OwnedFd,
    /// Operations that were submitted to the kernel, or are about to be, and that have not ended.
    under_way: usize,
}

impl FileRing {
    /// Makes a ring that has nothing to send.
    ///
    /// # Errors
    /// Why a ring cannot be made: see [`RingError`].
    pub fn new() -> Result<FileRing, RingError> {
        let ring = setup::make(ENTRIES)?;
        let notice = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let notice = notice.map_err(io::Error::from)?;
        ring.submitter().register_eventfd(notice.as_raw_fd())?;
        Ok(FileRing {
            ring: ManuallyDrop::new(ring),
            transfers: ManuallyDrop::new(Vec::new()),
            notice,
            under_way: 0,
        })
    }

    /// Becomes readable, edge by edge, when [`FileRing::advance`] may have something to report.
    #[must_use]
    pub fn notice(&self) -> BorrowedFd<'_> {
        self.notice.as_fd()
    }

    /// Whether [`FileRing::advance`] has something to do without a notice.
    #[must_use]
    pub fn has_work(&mut self) -> bool {
        let queue = self.ring.submission();
        !queue.is_empty() || queue.cq_overflow()
    }

    /// Sends `out` and then the part of a file, which is not empty, over a
    /// socket. The connection's `number` names it.
    ///
    /// # Errors
    /// The kernel takes no more operations; not seen.
    ///
    /// # Panics
    /// Something is being sent under this number.
    pub fn start(
        &mut self,
        number: usize,
        socket: Arc<Socket>,
        out: Vec<u8>,
        part: FilePart,
    ) -> io::Result<()> {
        if self.transfers.len() <= number {
            self.transfers.resize_with(number + 1, || None);
        }
        let place = &mut self.transfers[number];
        assert!(place.is_none(), "one file at a time on a connection");
        *place = Some(Transfer::new(socket, out, part));
        self.resume(number)
    }

    /// Submits all that was requested, waits for nothing, and adds to
    /// `deliveries` what has come to an end or to a full socket.
    ///
    /// # Errors
    /// The kernel's error; not seen on an open ring.
    pub fn advance(&mut self, deliveries: &mut Vec<Delivery>) -> io::Result<()> {
        if self.under_way == 0 {
            return Ok(());
        }
        self.enter(0)?;
        while let Some((number, next)) = self.reap_one() {
            match next {
                TransferStep::Waits => {}
                TransferStep::Piece => self.resume(number)?,
                TransferStep::Full => deliveries.push(Delivery {
                    number,
                    sent: Sent::Full,
                }),
                TransferStep::StreamEnd(end) => {
                    let transfer = self.transfers[number].take();
                    let transfer = transfer.expect("it has just ended");
                    let sent = match end {
                        Ok(()) => Sent::Whole(transfer.into_buffer()),
                        Err(error) => Sent::Failed(error),
                    };
                    deliveries.push(Delivery { number, sent });
                }
            }
        }
        Ok(())
    }

    /// Takes out one completion, and returns what its transfer does next.
    fn reap_one(&mut self) -> Option<(usize, TransferStep)> {
        let entry = self.ring.completion().next()?;
        self.under_way -= 1;
        let (number, kind) = named(entry.user_data());
        let transfer = self.transfers[number].as_mut();
        let transfer = transfer.expect("a transfer outlives its operations");
        let next = match kind {
            PieceOperation::Read => transfer.has_read(entry.result()),
            PieceOperation::Send => transfer.has_sent(entry.result()),
        };
        Some((number, next))
    }

    /// Continues a transfer with its next piece, which the socket may have refused, or drops it.
    ///
    /// # Errors
    /// The kernel takes no more operations; not seen.
    ///
    /// # Panics
    /// Nothing is being sent under this number.
    pub fn resume(&mut self, number: usize) -> io::Result<()> {
        let pushed = self.push_piece(number);
        if pushed.is_err() {
            // None of its operations is under way, and it will not be requested again.
            self.transfers[number] = None;
        }
        pushed
    }

    /// Writes the entries of a piece: a read where the buffer has room, and a send.
    fn push_piece(&mut self, number: usize) -> io::Result<()> {
        let transfer = self.transfers[number].as_mut();
        let transfer = transfer.expect("the connection has something to send");
        let span = transfer.prepare();
        let user_data = |kind| number as u64 * KINDS + kind as u64;
        let socket = Fd(transfer.socket_number());
        let send = opcode::Send::new(socket, span.unsent, span.unsent_bytes)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
            .build()
            .user_data(user_data(PieceOperation::Send));
        match span.read {
            None => {
                transfer.under_way = 1;
                self.push(&[send])
            }
            Some(read) => {
                transfer.under_way = 2;
                let read = opcode::Read::new(Fd(read.file), read.into, read.bytes)
                    .offset(read.offset)
                    .build()
                    .flags(squeue::Flags::IO_LINK)
                    .user_data(user_data(PieceOperation::Read));
                self.push(&[read, send])
            }
        }
    }

    /// Writes entries that belong together, after submitting earlier ones if there is no room.
    #[allow(unsafe_code)]
    fn push(&mut self, entries: &[squeue::Entry]) -> io::Result<()> {
        for _ in 0..PUSHES_MAX {
            // SAFETY: Buffer, file and socket belong to a transfer, which moves,
            // changes or drops none of them while one of its operations is under
            // way (`Transfer`): it leaves the table after its last completion.
            // `Drop` waits for all completions, or keeps the memory.
            if unsafe { self.ring.submission().push_multiple(entries) }.is_ok() {
                self.under_way += entries.len();
                return Ok(());
            }
            self.enter(0)?;
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Submits all entries, runs the work that the kernel has deferred for this thread,
    /// and waits for `want` completions, for a while at most.
    #[allow(unsafe_code)]
    fn enter(&mut self, want: u32) -> io::Result<()> {
        let count = u32::try_from(self.ring.submission().len()).expect("at most ENTRIES");
        let flags = (EnterFlags::GETEVENTS | EnterFlags::EXT_ARG).bits();
        let span = Timespec::new().nsec(DROP_WAIT_NS);
        let args = SubmitArgs::new().timespec(&span);
        // SAFETY: `args` is what EXT_ARG announces, and it and the time it points
        // at live until the call returns; the kernel keeps neither.
        match unsafe { self.ring.submitter().enter(count, want, flags, Some(&args)) } {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // Time is up, a signal came, or completions must be taken out first.
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(error),
            },
        }
    }

    /// Waits for the ends of all that is under way; returns whether all has ended.
    fn drain(&mut self) -> bool {
        for _ in 0..DROP_WAITS_MAX {
            if self.under_way == 0 {
                return true;
            }
            if self.enter(1).is_err() {
                return false;
            }
            while self.reap_one().is_some() {}
        }
        false
    }
}

impl Drop for FileRing {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        let is_over = self.drain();
        // SAFETY: None of the fields is used after this. The kernel reads and
        // writes none of the memory any more, since every operation has given its
        // completion; when that cannot be had, the memory is kept for good.
        unsafe {
            ManuallyDrop::drop(&mut self.ring);
            if is_over {
                ManuallyDrop::drop(&mut self.transfers);
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PieceOperation {
    Read,
    Send,
}

/// The connection and the operation that a completion is of.
fn named(user_data: u64) -> (usize, PieceOperation) {
    let number = usize::try_from(user_data / KINDS).expect("made from an index");
    let kind = match user_data % KINDS {
        0 => PieceOperation::Read,
        _ => PieceOperation::Send,
    };
    (number, kind)
}

const KINDS: u64 = 2;

/// Operations that one system call submits; more take further calls.
const ENTRIES: u32 = 1024;

/// The first try makes room in a full queue.
const PUSHES_MAX: usize = 16;

/// How often and how long a drop waits: a read takes as long as its disk.
const DROP_WAITS_MAX: usize = 50;
const DROP_WAIT_NS: u32 = 100_000_000;
