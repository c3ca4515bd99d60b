//! The contract of every back end, and the types that cross it.

use std::io;
use std::net::IpAddr;

use abx_evidence::TlsOptions;
use abx_evidence::record::TlsSession;
use abx_sys::{Nanos, ServerAddress};

/// Whether a send failed because the peer takes no more bytes. What it sent before that, which
/// may be a whole response, can still be received: an event follows, and the end comes after it.
pub(crate) fn is_cut_off(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}

/// Below this span the clock is read again before a wait, so that work done since the
/// last reading does not delay the end of the wait.
pub(super) const NEAR: Nanos = Nanos(20_000_000);

/// How a TLS connection was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handshake {
    /// From the connect of its socket to the last byte of the handshake.
    pub span: Nanos,
    /// Whether it resumed the session of an earlier connection.
    pub(crate) is_resumed: bool,
}

/// Identifies a connection of a back end by its slot and its generation in that slot.
///
/// The engine chooses both. Slots are small numbers from 0. A slot has one connection at a time,
/// and each new connection has a new generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    pub slot: u32,
    pub generation: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaits {
    Responses,
    /// Nothing: the peer has no reason to send.
    Nothing,
}

impl Awaits {
    pub fn of(in_flight: usize) -> Awaits {
        match in_flight {
            0 => Awaits::Nothing,
            _ => Awaits::Responses,
        }
    }
}

/// How long a back end waited for responses without sleeping, while there were none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Awake {
    pub(crate) on_cpu_ns: u64,
    /// The time meanwhile in which the thread did not have its processor.
    pub(crate) off_cpu_ns: u64,
}

#[derive(Debug)]
pub enum Ready {
    Connected(Token),
    /// The connection could not be made; there is nothing to close.
    Unconnected(Token, io::Error),
    /// The rest of a partial send can be sent now.
    MaySend(Token),
    /// There is something to receive: bytes, an end or a failure.
    Receivable(Token),
}

#[derive(Debug)]
pub enum Received<'a> {
    /// The next bytes, at least one; valid until the next call to the back end.
    Bytes(&'a [u8]),
    /// This many bytes, at least one, were discarded as [`Io::skip`] requested.
    Skipped(u64),
    /// No more in this turn; another [`Ready::Receivable`] follows when there is more.
    Nothing,
    /// The peer will send no more.
    Ended,
    Failed,
}

/// Moves the bytes of one pool's connections, on one thread, without blocking
/// anywhere but in [`Io::wait`].
///
/// The rules that every back end keeps and the engine relies on:
///
/// - **Tokens.** Every call except `connect` names an open connection. `wait` lists no events of
///   connections closed before it. SUBTLE: the engine may close connections while it works
///   through a list, so it drops the later events of such a connection in the same list, by
///   generation.
/// - **Order.** `Connected` or `Unconnected` comes first and once for each
///   `connect` that returned `Ok`. A list holds at most one `Receivable` per
///   connection.
/// - **Pulling.** After `Receivable` the engine pulls until `Nothing`, `Ended` or
///   `Failed`, or closes the connection. Until then no other `Receivable` need
///   come; afterwards one comes for any new bytes. After `Ended` and `Failed` the
///   engine closes the connection.
/// - **Turns.** A peer that sends without end must not hold the engine in one list: `Nothing`
///   also ends a turn of `TURN_BYTES`. Then the next `wait` lists the connection
///   again, and does not sleep. The engine does not see the difference.
/// - **Bytes** come exactly once, in order, and before the end or failure that follows them, as
///   far as the kernel still has them.
/// - **Sending.** Bytes that were taken go out in order. `MaySend` follows a short count.
/// - **Cost.** No call allocates per request.
pub trait Io {
    /// Reads the clock that all times here refer to.
    fn now(&mut self) -> Nanos;

    /// Starts to connect to `to`, from the address `from` when one is given.
    ///
    /// # Errors
    /// Failures that are known at once. Then there is nothing to close.
    fn connect(&mut self, token: Token, to: &ServerAddress, from: Option<IpAddr>)
    -> io::Result<()>;

    fn close(&mut self, token: Token);

    /// Sends bytes and returns how many were taken; zero means none for now. The caller keeps
    /// the rest, and [`Ready::MaySend`] follows.
    ///
    /// # Errors
    /// The connection is broken. There may still be bytes to receive.
    fn send(&mut self, token: Token, bytes: &[u8]) -> io::Result<usize>;

    /// Discards the next `bytes` of this connection unread. [`Received::Skipped`]
    /// counts them, in one or more pulls, before any further `Bytes`. Called only
    /// when no earlier skip is pending.
    fn skip(&mut self, token: Token, bytes: u64);

    /// Limits how much one pull should bring, from now on.
    ///
    /// This is a hint by a caller that wants to skip the bytes after a head; a back end may
    /// return more.
    fn limit_receive(&mut self, token: Token, most: usize);

    /// Waits until something is ready or the moment `until` is reached, and
    /// refills `ready`. Returns the one reading of the clock that the whole list
    /// shares. With a moment in the past it only polls; a signal may end the
    /// wait early, with an empty list. While responses are awaited, a back end may stay
    /// awake, so that the server's sends need not wake a thread.
    fn wait(&mut self, until: Nanos, awaits: Awaits, ready: &mut Vec<Ready>) -> Nanos;

    /// The time waited awake since the last call; the default if a back end always sleeps.
    fn take_awake(&mut self) -> Awake {
        Awake::default()
    }

    /// Whether the peer's kernel has acknowledged all bytes sent on a connection. At
    /// an orderly end this shows whether the peer had everything before it closed: a
    /// kernel that closes acknowledges bytes that came before, and none that come later.
    fn is_acknowledged(&mut self, token: Token) -> bool;

    fn receive(&mut self, token: Token) -> Received<'_>;

    /// Takes the reason why TLS failed on an open connection: its peer sent a record that breaks
    /// a rule, or an alert. In TLS 1.3 an alert may refuse a client after the handshake is over
    /// on this side.
    fn take_fault(&mut self, _: Token) -> Option<io::Error> {
        None
    }

    /// The TLS handshake of an open connection; `None` without one.
    fn handshake(&self, _: Token) -> Option<Handshake> {
        None
    }

    /// The parameters agreed on in a connection's TLS handshake; `None` without one.
    fn tls_session(&self, _: Token) -> Option<TlsSession> {
        None
    }

    fn tls_options(&self, _: Token) -> Option<TlsOptions> {
        None
    }
}

/// A token as the number that an epoll set keeps.
pub(super) fn number(token: Token) -> u64 {
    u64::from(token.generation) << 32 | u64::from(token.slot)
}

#[allow(clippy::cast_possible_truncation, reason = "each half is 32 bits")]
pub(super) fn token(number: u64) -> Token {
    Token {
        slot: number as u32,
        generation: (number >> 32) as u32,
    }
}
