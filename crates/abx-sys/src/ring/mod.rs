//! io_uring for a TCP client on one thread: many requests for each system call.
//!
//! Nothing is done when it is asked for. Connects, sends and receives are
//! written into a queue, and [`Ring::wait`] hands all of them to the kernel and
//! takes out what has come, in one system call. A send that the socket has room
//! for says nothing; what is left of any other the ring sends on by itself. (Only
//! large requests are sent at once, so that it is known how much of them has left.) A
//! receive stays armed over many answers ([`Receiving::Multishot`]), and the
//! kernel picks a buffer for bytes when they are there, so that idle connections
//! hold none.
//!
//! What keeps it sound: all memory that the kernel reads or writes belongs to
//! the ring (requests by [`Ring::register`], buffers, addresses), stays where it
//! is, and outlives every operation; a dropped ring first cancels them all and
//! waits for their ends. Bytes are lent out from the buffers until the next call.
//!
//! Start at [`Ring::new`]; `ring/outgoing.rs` sends, `ring/state.rs` says what
//! completions mean, and `ring/line.rs` how a connection's life is longer than the caller's view of it.

pub(crate) mod file_ring;

mod buffers;
mod destination;
mod line;
mod op;
mod outgoing;
mod pieces;
pub(crate) mod setup;
mod state;

use std::io;
use std::mem::ManuallyDrop;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use io_uring::types::{CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, opcode, squeue};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, ipproto, socket_with, sockopt};

use crate::Nanos;
use crate::net::socket::set_bind_address_no_port;
use crate::net::socket::unacknowledged;
use destination::Destinations;
use line::{ConnectionStage, Incoming, StreamEnd};
use op::{Op, Operation};
pub use setup::RingError;
use state::RingState;

/// How a ring is made.
#[derive(Debug, Clone, Copy)]
pub struct RingOptions {
    /// How many operations one system call hands over, in [1, 32768]; more take
    /// further calls. About as many as there are connections.
    pub entries: u32,
    /// How many buffers there are: a power of two, in [1, 32768].
    pub buffer_count: u16,
    /// The size of a buffer. Since Linux 6.16 answers are packed into buffers
    /// without gaps, so that large ones (64 KiB) cost nothing for small answers.
    /// Before, one receive takes a whole buffer.
    pub buffer_bytes: u32,
    /// How receives are asked for.
    pub receiving: Receiving,
}

/// How receives are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receiving {
    /// Once for each connection: best for small answers on connections that are
    /// kept. A skip or a close has to stop it first, which takes effect in the
    /// next wait.
    Multishot,
    /// Anew in each wait that follows a receive. While the caller works on what
    /// came, none is under way, so that a close is a close at once, a skip needs
    /// nothing to be stopped, and [`Ring::limit_receive`] is obeyed: best for bodies that
    /// are skipped and for connections that are not kept.
    Single,
}

/// Names bytes that were given to [`Ring::register`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestId(u32);

/// What a wait brought; the number is the connection's token.
#[derive(Debug)]
pub enum RingEvent {
    /// The connection stands.
    Connected(u64),
    /// It could not be made; nothing is left to be closed.
    Unconnected(u64, io::Error),
    /// A send that was refused, or its rest, can be asked for now.
    MaySend(u64),
    /// There is something to receive: bytes, an end or a failure.
    Receivable(u64),
}

impl RingEvent {
    /// The connection that it is about.
    #[must_use]
    pub fn token(&self) -> u64 {
        match self {
            RingEvent::Connected(token)
            | RingEvent::Unconnected(token, _)
            | RingEvent::MaySend(token)
            | RingEvent::Receivable(token) => *token,
        }
    }
}

/// What one pull gave.
#[derive(Debug)]
pub enum Received<'a> {
    /// The next bytes, at least one.
    Bytes(&'a [u8]),
    /// So many bytes, at least one, were discarded as [`Ring::skip`] had asked.
    Skipped(u64),
    /// No more for now; a [`RingEvent::Receivable`] will tell.
    Nothing,
    /// The peer sends no more.
    Ended,
    /// The connection is broken, by a receive or a send.
    Failed(io::Error),
}

/// Connections of one thread and the queues that it shares with the kernel.
///
/// A connection is named by a token that the caller chooses: the low 32 bits are
/// a place, a small number, which has one connection at a time; the high 32 bits
/// tell the place's connections apart. The ring stays in the thread that made it.
pub struct Ring {
    /// Dropped first, so that the kernel is done with what follows.
    ring: ManuallyDrop<IoUring>,
    state: ManuallyDrop<RingState>,
    /// Bytes that the kernel reads: never moved, changed or dropped before the ring.
    requests: ManuallyDrop<Vec<Box<[u8]>>>,
    destinations: ManuallyDrop<Destinations>,
    /// The buffer that the caller's last bytes are in.
    lent: Option<u16>,
    receiving: Receiving,
    /// The lines that `arm` works on, kept for its memory.
    arming: Vec<u32>,
}

impl Ring {
    /// Makes a ring without connections.
    ///
    /// # Errors
    /// Why there can be none: see [`RingError`]. Epoll is the way out.
    ///
    /// # Panics
    /// The number of buffers is not a power of two.
    pub fn new(options: RingOptions) -> Result<Ring, RingError> {
        let (ring, buffers) = setup::make(&options)?;
        Ok(Ring {
            ring: ManuallyDrop::new(ring),
            state: ManuallyDrop::new(RingState::new(buffers)),
            requests: ManuallyDrop::new(Vec::new()),
            destinations: ManuallyDrop::new(Destinations::default()),
            lent: None,
            receiving: options.receiving,
            arming: Vec::new(),
        })
    }

    /// Keeps the bytes of a request for as long as the ring lives.
    pub fn register(&mut self, bytes: Vec<u8>) -> RequestId {
        self.requests.push(bytes.into_boxed_slice());
        let id = u32::try_from(self.requests.len() - 1).expect("fewer requests than memory");
        RequestId(id)
    }

    /// Starts to connect to `to`, from the address `from` when one is given,
    /// with the next wait. Nagle's algorithm is off.
    ///
    /// # Errors
    /// What is known at once: no descriptor, an address that is not ours.
    ///
    /// # Panics
    /// The token's place has a connection that was not closed.
    pub fn connect(&mut self, token: u64, to: SocketAddr, from: Option<IpAddr>) -> io::Result<()> {
        let socket = unconnected(to, from)?;
        let fd = Fd(socket.as_raw_fd());
        let at = self.state.lines.open(token, socket);
        let (address, length) = self.destinations.find(to);
        let entry = opcode::Connect::new(fd, address, length).build();
        self.push(at, Operation::Connect, entry).inspect_err(|_| {
            self.state.lines.detach(at);
            self.state.lines.free(at);
        })?;
        self.state.begun(at);
        Ok(())
    }

    /// Drops a connection, standing or in the making. Nothing more is told of it.
    ///
    /// The socket is closed at once when nothing is under way on it, else in the
    /// next wait. A token that has no connection is ignored.
    pub fn close(&mut self, token: u64) {
        if let Some(at) = self.state.lines.find(token) {
            self.state.close(at);
        }
    }

    /// The next `bytes` of a connection are of no interest: they are counted by
    /// [`Received::Skipped`], in one or more pulls, before any further bytes.
    ///
    /// Those that have come already are there to be pulled at once. The others
    /// are discarded in the kernel without a copy, unless a multishot receive is
    /// under way and they are too few for it to be stopped.
    ///
    /// # Panics
    /// There is no such connection.
    pub fn skip(&mut self, token: u64, bytes: u64) {
        let at = self.known(token);
        self.state.skip(at, bytes);
    }

    /// One pull should bring at most `most` bytes from now on; zero is as many as
    /// a buffer holds. A wish: a multishot receive brings what is there.
    ///
    /// # Panics
    /// There is no such connection.
    pub fn limit_receive(&mut self, token: u64, most: u32) {
        let at = self.known(token);
        self.state.lines.line(at).most = most;
    }

    /// Hands over what was asked for, waits until something happens, at most
    /// `limit` (without limit when `None`), and fills `happenings` anew.
    ///
    /// It may end early with nothing to tell: a signal, or work of the ring's
    /// own. Of one connection there is at most one [`RingEvent::Receivable`]; it
    /// comes again only for something new, so pull until [`Received::Nothing`].
    ///
    /// # Errors
    /// What the kernel says; not seen on an open ring.
    pub fn wait(
        &mut self,
        limit: Option<Nanos>,
        happenings: &mut Vec<RingEvent>,
    ) -> io::Result<()> {
        self.take_back();
        self.prepare()?;
        let must_wait = self.state.news.is_empty() && self.state.refused.is_empty();
        self.enter(u32::from(must_wait && limit != Some(Nanos(0))), limit)?;
        self.reap();
        // SUBTLE: Completions that found no room wait in the kernel. A send's
        // failure may be among them, and the next send must not overtake it.
        while self.ring.submission().cq_overflow() {
            self.enter(0, None)?;
            self.reap();
        }
        self.state.end_batch();
        happenings.clear();
        std::mem::swap(happenings, &mut self.state.news);
        Ok(())
    }

    /// Hands over what was asked for without waiting, so that sends start now.
    ///
    /// # Errors
    /// What the kernel says; not seen on an open ring.
    pub fn flush(&mut self) -> io::Result<()> {
        self.enter(0, None)
    }

    /// Gives what comes next on a connection.
    ///
    /// # Panics
    /// There is no such connection.
    pub fn receive(&mut self, token: u64) -> Received<'_> {
        self.take_back();
        let at = self.known(token);
        let line = self.state.lines.line(at);
        let skipped = std::mem::take(&mut line.skipped);
        if skipped > 0 {
            return Received::Skipped(skipped);
        }
        let (mut queue, end) = (line.pieces, line.end);
        let Some(span) = self.state.pieces.pop(&mut queue) else {
            return match end {
                None => Received::Nothing,
                Some(StreamEnd::Ended) => Received::Ended,
                Some(StreamEnd::Failed(number)) => {
                    Received::Failed(io::Error::from_raw_os_error(number))
                }
            };
        };
        self.state.lines.line(at).pieces = queue;
        self.lent = Some(span.buffer);
        Received::Bytes(self.state.buffers.bytes(span))
    }

    /// Whether the peer's kernel has acknowledged all that was sent on a connection.
    ///
    /// # Panics
    /// There is no such connection.
    pub fn is_acknowledged(&mut self, token: u64) -> bool {
        let at = self.known(token);
        let batch = self.state.batch;
        let line = self.state.lines.line(at);
        let is_sent = !line.is_handed_in(batch) && !line.is_sending();
        let socket = line.socket.as_ref();
        is_sent && socket.is_some_and(|socket| matches!(unacknowledged(socket.as_fd()), Ok(0)))
    }

    fn known(&self, token: u64) -> u32 {
        self.state
            .lines
            .find(token)
            .expect("the token's connection was not closed")
    }

    /// The bytes that were lent out last are not borrowed any more.
    fn take_back(&mut self) {
        if let Some(buffer) = self.lent.take() {
            self.state.buffers.give_back(buffer);
        }
    }

    /// Writes the entries that follow from what has come and what was closed.
    fn prepare(&mut self) -> io::Result<()> {
        // Cancels first: an entry behind them is never what they mean.
        while let Some(op) = self.state.cancels.pop() {
            let entry = opcode::AsyncCancel::new(op.to_bits())
                .build()
                .flags(squeue::Flags::SKIP_SUCCESS);
            self.push(op.line, Operation::Cancel, entry)?;
        }
        while let Some(at) = self.state.sending.pop() {
            self.send_on(at)?;
        }
        self.arm()?;
        self.state.buffers.publish();
        Ok(())
    }

    /// Asks for a receive on every line that wants one.
    fn arm(&mut self) -> io::Result<()> {
        let has_buffers = self.state.buffers.has_offered();
        // Pushing may take out completions, and with them list more lines.
        std::mem::swap(&mut self.arming, &mut self.state.wanting);
        for index in 0..self.arming.len() {
            let at = self.arming[index];
            let line = self.state.lines.line(at);
            let may = line.stage == ConnectionStage::Open && line.incoming == Incoming::Idle;
            // One that was closed since may be somebody else's now, who is listed anew.
            let was_listed = std::mem::take(&mut line.is_listed);
            if !was_listed || !may || line.end.is_some() {
                continue;
            }
            if line.to_skip > 0 || has_buffers {
                self.arm_one(at)?;
            } else {
                // The caller holds them all: asking would only be refused, in a circle.
                self.state.want(at);
            }
        }
        self.arming.clear();
        Ok(())
    }

    fn arm_one(&mut self, at: u32) -> io::Result<()> {
        let fd = self.fd(at);
        let receiving = self.receiving;
        let line = self.state.lines.line(at);
        let first = if line.has_more { 0 } else { POLL_FIRST };
        let (kind, entry) = if line.to_skip > 0 {
            let length = u32::try_from(line.to_skip.min(SKIP_MAX)).expect("capped");
            line.incoming = Incoming::Skip;
            // With MSG_TRUNC TCP writes nothing to the buffer, which may be null.
            // SUBTLE: Not MSG_WAITALL: a second try would ask for all bytes again,
            // since none were copied, and discard too many.
            let entry = opcode::Recv::new(fd, std::ptr::null_mut(), length)
                .flags(libc::MSG_TRUNC)
                .ioprio(first);
            (Operation::Skip, entry.build())
        } else if receiving == Receiving::Multishot {
            line.incoming = Incoming::Receive;
            (
                Operation::Receive,
                opcode::RecvMulti::new(fd, BUFFER_GROUP).build(),
            )
        } else {
            line.incoming = Incoming::Receive;
            let entry = opcode::Recv::new(fd, std::ptr::null_mut(), line.most)
                .buf_group(BUFFER_GROUP)
                .ioprio(first);
            let entry = entry.build().flags(squeue::Flags::BUFFER_SELECT);
            (Operation::Receive, entry)
        };
        self.push(at, kind, entry)?;
        self.state.begun(at);
        Ok(())
    }

    fn fd(&mut self, at: u32) -> Fd {
        let line = self.state.lines.line(at);
        let socket = line.socket.as_ref().expect("a line in use has a socket");
        Fd(socket.as_raw_fd())
    }

    /// Writes one entry, handing over earlier ones when there is no room.
    #[allow(unsafe_code)]
    fn push(&mut self, at: u32, kind: Operation, entry: squeue::Entry) -> io::Result<()> {
        let generation = self.state.lines.line(at).generation;
        let op = Op {
            line: at,
            generation,
            kind,
        };
        let entry = entry.user_data(op.to_bits());
        for _ in 0..PUSHES_MAX {
            // SAFETY: What an entry of this module points at belongs to the ring
            // and stays in place until after its last completion: requests and
            // addresses are boxed and never dropped before the ring, buffers are
            // named by their group, and a skip's null is not written to. The
            // socket's number stays its own until nothing is under way
            // (`RingState::close`). `Drop` waits for all completions, or keeps the memory.
            if unsafe { self.ring.submission().push(&entry) }.is_ok() {
                return Ok(());
            }
            self.enter(0, None)?;
            self.reap();
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Hands over all entries, runs what the kernel has put off for this thread,
    /// and waits for `want` completions.
    #[allow(unsafe_code)]
    fn enter(&mut self, want: u32, limit: Option<Nanos>) -> io::Result<()> {
        let count = u32::try_from(self.ring.submission().len()).expect("at most 32768 entries");
        let flags = (EnterFlags::GETEVENTS | EnterFlags::EXT_ARG).bits();
        let span = limit.map(timespec);
        let mut args = SubmitArgs::new();
        if let Some(span) = &span {
            args = args.timespec(span);
        }
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

    /// Takes out all completions.
    fn reap(&mut self) {
        for entry in self.ring.completion() {
            self.state.complete(&entry);
        }
    }

    /// Ends everything that is under way; answers whether all of it has ended.
    fn cancel_all(&mut self) -> bool {
        let numbers = self.state.lines.numbers();
        for at in numbers {
            if matches!(
                self.state.lines.line(at).stage,
                ConnectionStage::Connecting | ConnectionStage::Open
            ) {
                self.state.close(at);
            }
        }
        if self.prepare().is_err() {
            return false;
        }
        let mut waits_in_vain = 0;
        while waits_in_vain < DROP_WAITS_MAX {
            let before = self.state.under_way;
            if self.enter(0, None).is_err() {
                return false;
            }
            self.reap();
            self.state.end_batch();
            if self.state.under_way == 0 && self.ring.submission().is_empty() {
                return true;
            }
            // The kernel gives few completions at a time, of however many there are.
            if self.state.under_way < before {
                waits_in_vain = 0;
                continue;
            }
            waits_in_vain += 1;
            let all = CancelBuilder::any();
            let limit = Some(timespec(DROP_WAIT));
            // Not found is no error here, and nothing else would be done about one.
            let _ = self.ring.submitter().register_sync_cancel(limit, all);
            if self.enter(1, Some(DROP_WAIT)).is_err() {
                return false;
            }
            self.reap();
        }
        false
    }
}

impl Drop for Ring {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        self.take_back();
        let is_over = self.cancel_all();
        // SAFETY: None of the fields is used after this. The kernel reads and
        // writes none of the memory any more, since every operation has given its
        // last completion; when that cannot be had, the memory is kept for good.
        unsafe {
            ManuallyDrop::drop(&mut self.ring);
            if is_over {
                ManuallyDrop::drop(&mut self.state);
                ManuallyDrop::drop(&mut self.requests);
                ManuallyDrop::drop(&mut self.destinations);
            }
        }
    }
}

/// A socket bound to `from`. It blocks: on one that does not, io_uring fails what would wait.
fn unconnected(to: SocketAddr, from: Option<IpAddr>) -> io::Result<OwnedFd> {
    let family = match to {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let protocol = Some(ipproto::TCP);
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, protocol)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    if let Some(from) = from {
        set_bind_address_no_port(&socket)?;
        bind(&socket, &SocketAddr::new(from, 0))?;
    }
    Ok(socket)
}

fn timespec(span: Nanos) -> Timespec {
    let below_second = span.0 % 1_000_000_000;
    // The kernel's seconds are signed.
    Timespec::new()
        .sec((span.0 / 1_000_000_000).min(i64::MAX.unsigned_abs()))
        .nsec(u32::try_from(below_second).expect("below a thousand million"))
}

/// The number of our one group of buffers.
const BUFFER_GROUP: u16 = 0;
/// `IORING_RECVSEND_POLL_FIRST` of the kernel's interface: nothing is there yet, do not look.
const POLL_FIRST: u16 = 1;
/// One skip takes no more.
const SKIP_MAX: u64 = 1 << 30;
/// Room in a full queue is had by the first try, unless completions overflow.
const PUSHES_MAX: usize = 16;
/// How often and how long a drop waits while nothing ends of what was cancelled:
/// a cancel takes microseconds.
const DROP_WAITS_MAX: usize = 50;
const DROP_WAIT: Nanos = Nanos(100_000_000);
