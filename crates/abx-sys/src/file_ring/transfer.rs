//! What is being sent on one connection: a file's part, piece by piece through
//! one buffer.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::Arc;

use super::part::{FILE_PIECE_BYTES_MAX, FilePart};
use crate::Socket;

/// Bytes to send, and the source of more.
///
/// While operations are under way, the buffer is neither moved nor written to,
/// and file and socket stay open.
#[derive(Debug)]
pub(super) struct Transfer {
    socket: Arc<Socket>,
    part: FilePart,
    /// Bytes to send, of which the first `sent` are sent. It has the capacity for
    /// a piece of the file behind them.
    buffer: Vec<u8>,
    sent: usize,
    /// Bytes that the read under way was asked for; zero without a read.
    awaited: usize,
    /// Operations of this transfer that have not ended.
    pub(super) under_way: u8,
    /// The result of the piece's ended operations, while another one has not ended.
    outcome: Outcome,
}

/// The result of a piece so far.
#[derive(Debug, Default)]
enum Outcome {
    #[default]
    Moved,
    Full,
    Failed(io::Error),
}

#[derive(Debug)]
pub(super) enum TransferStep {
    /// The other operation of its piece has not ended.
    Waits,
    /// There is more to be sent.
    Piece,
    /// More when the socket has room.
    Full,
    StreamEnd(io::Result<()>),
}

/// Where the next piece is read and sent from.
pub(super) struct FileSpan {
    pub(super) read: Option<FileRead>,
    pub(super) unsent: *const u8,
    pub(super) unsent_bytes: u32,
}

/// A read of the file into the buffer's spare capacity.
pub(super) struct FileRead {
    pub(super) file: RawFd,
    pub(super) offset: u64,
    pub(super) into: *mut u8,
    pub(super) bytes: u32,
}

impl Transfer {
    pub(super) fn new(socket: Arc<Socket>, out: Vec<u8>, part: FilePart) -> Transfer {
        Transfer {
            socket,
            part,
            buffer: out,
            sent: 0,
            awaited: 0,
            under_way: 0,
            outcome: Outcome::Moved,
        }
    }

    pub(super) fn socket_number(&self) -> RawFd {
        self.socket.as_fd().as_raw_fd()
    }

    pub(super) fn into_buffer(mut self) -> Vec<u8> {
        self.buffer.clear();
        self.buffer
    }

    /// Makes room for the next piece and returns where it goes. Nothing is under way.
    pub(super) fn prepare(&mut self) -> FileSpan {
        assert!(self.under_way == 0, "one piece at a time");
        if self.sent == self.buffer.len() {
            self.buffer.clear();
            self.sent = 0;
        }
        // Bytes that the socket did not accept are sent before more are read.
        let reads = self.sent == 0 && self.part.left > 0 && self.has_room();
        let wanted = if reads {
            self.part.left.min(FILE_PIECE_BYTES_MAX as u64)
        } else {
            0
        };
        self.awaited = usize::try_from(wanted).expect("it was capped");
        self.buffer.reserve_exact(self.awaited);
        let unsent_bytes = self.buffer.len() - self.sent + self.awaited;
        let length = |bytes| u32::try_from(bytes).expect("a buffer holds heads and one piece");
        let spare = self.buffer.spare_capacity_mut().as_mut_ptr();
        FileSpan {
            read: (self.awaited > 0).then(|| FileRead {
                file: self.part.file.as_raw_fd(),
                offset: self.part.offset,
                into: spare.cast(),
                bytes: length(self.awaited),
            }),
            unsent: self.buffer.as_ptr().wrapping_add(self.sent),
            unsent_bytes: length(unsent_bytes),
        }
    }

    /// Whether a piece may still be read to the end of the buffer.
    fn has_room(&self) -> bool {
        self.buffer.len() < FILE_PIECE_BYTES_MAX
    }

    /// The read has ended with this result of the kernel's.
    pub(super) fn has_read(&mut self, result: i32) -> TransferStep {
        match usize::try_from(result) {
            // The file is shorter than announced.
            Ok(0) => self.outcome = Outcome::Failed(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => self.take_read(read),
            Err(_) => self.outcome = Outcome::Failed(io::Error::from_raw_os_error(-result)),
        }
        self.ended()
    }

    #[allow(unsafe_code)]
    fn take_read(&mut self, read: usize) {
        assert!(
            read <= self.awaited,
            "the kernel reads what it was asked for"
        );
        // SAFETY: `prepare` reserved `awaited` bytes behind the buffer's end, of
        // which the kernel has just written the first `read`.
        unsafe { self.buffer.set_len(self.buffer.len() + read) };
        self.part.offset += read as u64;
        self.part.left -= read as u64;
    }

    /// The send has ended with this result of the kernel's.
    pub(super) fn has_sent(&mut self, result: i32) -> TransferStep {
        match usize::try_from(result) {
            Ok(sent) => self.sent += sent,
            Err(_) => match -result {
                // The read before it did not bring all: it has reported why, and what
                // it brought is sent next.
                libc::ECANCELED | libc::EINTR => {}
                libc::EAGAIN => self.outcome = Outcome::Full,
                number => self.outcome = Outcome::Failed(io::Error::from_raw_os_error(number)),
            },
        }
        self.ended()
    }

    fn ended(&mut self) -> TransferStep {
        self.under_way -= 1;
        if self.under_way > 0 {
            return TransferStep::Waits;
        }
        let is_whole = self.sent == self.buffer.len() && self.part.left == 0;
        match std::mem::take(&mut self.outcome) {
            Outcome::Failed(error) => TransferStep::StreamEnd(Err(error)),
            Outcome::Full => TransferStep::Full,
            Outcome::Moved if is_whole => TransferStep::StreamEnd(Ok(())),
            Outcome::Moved => TransferStep::Piece,
        }
    }
}
