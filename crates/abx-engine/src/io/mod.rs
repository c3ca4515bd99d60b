//! The one contract between the engine and what moves its bytes.
//!
//! A back end owns the connections of one pool; the engine owns what they mean.
//! It is pull-style, so that readiness (epoll) and completion (rings) fit
//! alike: [`Io::wait`] says *which* connections have something, the engine then
//! pulls with [`Io::receive`], reads the bytes where the back end has them, and
//! never holds them over the next call. Start at [`Io`].
//!
//! A layer that changes the bytes of connections, as TLS does, is such a contract over
//! another one: it answers `Connected` when its handshake is over, copies what was
//! registered, and skips what it has read. `simulation/sealed.rs` is one, and passes the
//! same tests. What multiplexes requests, as HTTP/2 does, is a
//! [`Protocol`](crate::protocol::Protocol) with an outbox.
//!
//! Makers: `epoll.rs`, `uring.rs`, and for tests `simulation/network.rs` with virtual time. All
//! of them pass the same tests, in `simulation/contract.rs`.

mod busy_wait;
mod epoll;
mod uring;
mod wake;

use std::io;
use std::net::{IpAddr, SocketAddr};

use abx_sys::Nanos;

pub(crate) use epoll::EpollIo;
pub(crate) use uring::UringIo;

/// Below this span the clock is read again before a wait, so that what was done
/// since the last reading does not make it end late.
const NEAR: Nanos = Nanos(20_000_000);

/// Names one connection of a back end: a place, and which of the place's
/// connections in turn.
///
/// The engine chooses both. Places are small numbers from 0; a place has one
/// connection at a time, and each further one has a new generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

/// Names bytes that were registered to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestId(pub(crate) u32);

/// What the engine waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaits {
    /// Answers: requests are in flight.
    Answers,
    /// Nothing that the other side would send now.
    Nothing,
}

impl Awaits {
    /// What is awaited with so many requests in flight.
    pub(crate) fn of(requests: usize) -> Awaits {
        match requests {
            0 => Awaits::Nothing,
            _ => Awaits::Answers,
        }
    }
}

/// How long a back end waited for answers without sleeping, and without finding any.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Awake {
    /// Processor time of it.
    pub(crate) on_cpu_ns: u64,
    /// Time of it in which the thread did not have its processor.
    pub(crate) off_cpu_ns: u64,
}

/// What became ready.
#[derive(Debug)]
pub(crate) enum Ready {
    /// The connection stands.
    Connected(Token),
    /// It could not be made; nothing of it is left to be closed.
    Unconnected(Token, io::Error),
    /// The rest of what was taken in part can be sent now.
    MaySend(Token),
    /// There is something to receive: bytes, an end or a failure.
    Receivable(Token),
}

/// One pull.
#[derive(Debug)]
pub(crate) enum Received<'a> {
    /// The next bytes, at least one; valid until the next call to the back end.
    Bytes(&'a [u8]),
    /// So many bytes, at least one, were discarded as [`Io::skip`] had asked.
    Skipped(u64),
    /// No more for now; another [`Ready::Receivable`] will tell.
    Nothing,
    /// The peer will send no more.
    Ended,
    /// The connection is broken.
    Failed,
}

/// Moves the bytes of one pool's connections, on one thread, without blocking
/// anywhere but in [`Io::wait`].
///
/// The rules that every back end keeps and the engine relies on:
///
/// - **Tokens.** Every call but `connect` names a connection that was not closed
///   since. `wait` lists nothing of a connection closed before it. SUBTLE: the
///   engine may close connections while it works through a list, so it is the
///   engine that drops what the same list still says of them, by generation.
/// - **Order.** `Connected` or `Unconnected` comes first and once for each
///   `connect` that answered `Ok`. Of one connection a list holds at most one
///   `Receivable`.
/// - **Pulling.** After `Receivable` the engine pulls until `Nothing`, `Ended` or
///   `Failed`, or closes the connection. Until then no other `Receivable` need
///   come; afterwards it comes for whatever is new. After `Ended` and `Failed` the
///   engine closes.
/// - **Bytes** come exactly once and in order, those before an end or a failure
///   before it, as far as the kernel still has them.
/// - **Sending.** The engine sends registered bytes from any offset to their end,
///   one such slice at a time on a connection: each next offset is the last one
///   and what was taken from there. What it says by [`Io::send_bytes`] is such a slice
///   too. A short count is followed by `MaySend`.
/// - **Cost.** No call allocates per request.
pub(crate) trait Io {
    /// Reads the clock that all moments here are on.
    fn now(&mut self) -> Nanos;

    /// Takes the bytes of a request, once for each pool: they stay where they
    /// are for as long as the back end lives, and are never copied per request.
    fn register(&mut self, bytes: Vec<u8>) -> RequestId;

    /// Starts to connect to `to`, from the address `from` when one is given.
    ///
    /// # Errors
    /// What is known at once; nothing is left to be closed then.
    fn connect(&mut self, token: Token, to: SocketAddr, from: Option<IpAddr>) -> io::Result<()>;

    /// Drops a connection, standing or in the making.
    fn close(&mut self, token: Token);

    /// Sends registered bytes from `offset` to their end and answers how many
    /// were taken; zero is "none for now". SUBTLE: a new slice may begin at an
    /// offset above zero, when fewer copies of a request are sent than registered.
    ///
    /// # Errors
    /// The connection is broken. There may still be bytes to receive.
    fn send(&mut self, token: Token, request: RequestId, offset: usize) -> io::Result<usize>;

    /// Sends bytes that are not registered, a slice of their own, and answers how
    /// many were taken; the caller keeps the rest, which [`Ready::MaySend`] follows.
    /// For what is said once: handshakes, pongs. It may cost a call of the kernel's.
    ///
    /// # Errors
    /// As [`Io::send`].
    fn send_bytes(&mut self, token: Token, bytes: &[u8]) -> io::Result<usize>;

    /// The next `bytes` of this connection are of no interest: they are counted
    /// by [`Received::Skipped`], in one or more pulls, before any further `Bytes`,
    /// and discarded unread. Asked for while nothing is left of an earlier one.
    fn skip(&mut self, token: Token, bytes: u64);

    /// Says how much one pull should bring at most, from now on.
    ///
    /// A wish, for a caller that wants to skip what comes behind a head; a back
    /// end may give more.
    fn limit_receive(&mut self, token: Token, most: usize);

    /// Waits until something is ready or the moment `until` is reached, and
    /// fills `ready` anew. Answers the one reading of the clock that all of the
    /// list shares. A moment that has passed only looks; a signal may end the
    /// wait early, with an empty list. While answers are awaited a back end may stay
    /// awake, so that the server's sends wake nobody up.
    fn wait(&mut self, until: Nanos, awaits: Awaits, ready: &mut Vec<Ready>) -> Nanos;

    /// What was waited awake since this was last asked; nothing where that is not done.
    fn take_awake(&mut self) -> Awake {
        Awake::default()
    }

    /// Whether the peer's kernel has acknowledged all that was sent on a connection. At
    /// an orderly end this tells whether the peer had everything before it closed: a
    /// kernel that closes acknowledges what came before, and nothing that comes later.
    fn is_acknowledged(&mut self, token: Token) -> bool;

    /// Gives what comes next on a connection.
    fn receive(&mut self, token: Token) -> Received<'_>;
}

/// A token as the kernel's back ends write it.
fn number(token: Token) -> u64 {
    u64::from(token.generation) << 32 | u64::from(token.slot)
}

/// The token of such a number.
#[allow(clippy::cast_possible_truncation, reason = "each half is 32 bits")]
fn token(number: u64) -> Token {
    Token {
        slot: number as u32,
        generation: (number >> 32) as u32,
    }
}
