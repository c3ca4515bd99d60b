//! The events of a load of sessions, and their listeners.

use std::io;

use abx_sys::Nanos;

/// Receives the events of sessions.
pub trait SessionListener {
    /// Receives the next step. `at` counts from the load's beginning.
    fn on_step(&mut self, at: Nanos, step: SessionStep<'_>);
}

/// Supplies the requests of sessions, and receives their events.
pub trait SessionClient: SessionListener {
    /// Appends the next request to `bytes`. Returns false if none is left, which ends the session.
    fn append_request(&mut self, bytes: &mut Vec<u8>) -> bool;
}

/// An event in a load of sessions. Calls are counted over all sessions, from 0.
#[derive(Debug, PartialEq, Eq)]
pub enum SessionStep<'a> {
    /// A connection is being made.
    Begins {
        /// Connections that are open or being made, including this one.
        open: u64,
        /// Connections that were begun since the last wait, including this one.
        together: u64,
    },
    /// The connection opened after this time. With TLS, it includes the handshake.
    Opened(Nanos),
    /// A request was sent completely.
    Sent { call: u64, request: &'a [u8] },
    /// A part of a response's head. Interim heads and the empty line are included.
    Head {
        /// The call of this response.
        call: u64,
        bytes: &'a [u8],
    },
    /// A part of a response's body, without framing.
    Body {
        /// The call of this response.
        call: u64,
        bytes: &'a [u8],
    },
    Responded {
        /// The call of this response.
        call: u64,
        response: SessionResponse,
    },
    /// A session ends with work left to do, or could not begin at all.
    Fails(SessionFailure),
    /// A connection that was begun is closed.
    Ends {
        /// From its beginning.
        lasted: Nanos,
        /// The responses on this connection.
        responses: u64,
    },
    /// A further [`SessionOptions::tick`](super::SessionOptions::tick) has passed.
    Ticks,
}

/// A response, as far as it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionResponse {
    pub status: u16,
    /// Bytes of its head. Interim heads and the empty line are included.
    pub head_bytes: u64,
    /// Bytes of its body without framing.
    pub body_bytes: u64,
    /// Bytes after the last chunk of a chunked body: its trailer and the empty line.
    pub footer_bytes: u64,
    /// From the sending of the request's first byte to the response's first byte.
    pub first_byte: Nanos,
    /// From the response's first byte to its last byte.
    pub rest: Nanos,
    /// Whether the connection was closed in the middle of the body.
    pub is_cut: bool,
}

/// Why a session ended early, or could not begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionFailure {
    /// No progress within [`SessionOptions::timeout`](super::SessionOptions::timeout).
    Timeout,
    /// The kernel gave up on the connection.
    KernelTimeout,
    Refused,
    /// The connection was closed or reset before the session was complete.
    Reset,
    /// This process has no descriptor left; the connection was not begun.
    NoDescriptor,
    /// The machine has no descriptor left; the connection was not begun.
    FileTableFull,
    /// No local port is left; the connection was not begun.
    NoPort,
    /// Another failure, as a sentence.
    Other(String),
}

impl SessionFailure {
    pub(super) fn of(error: &io::Error) -> SessionFailure {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => SessionFailure::Refused,
            io::ErrorKind::TimedOut => SessionFailure::KernelTimeout,
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => SessionFailure::Reset,
            io::ErrorKind::AddrNotAvailable => SessionFailure::NoPort,
            _ if abx_sys::is_file_table_full(error) => SessionFailure::FileTableFull,
            _ if abx_sys::is_out_of_descriptors(error) => SessionFailure::NoDescriptor,
            _ => SessionFailure::Other(error.to_string()),
        }
    }

    /// Whether no connection could be begun at all.
    pub(super) fn is_unbegun(&self) -> bool {
        use SessionFailure::{FileTableFull, NoDescriptor, NoPort};
        matches!(self, NoDescriptor | FileTableFull | NoPort)
    }
}
