//! Sessions, each over a connection of its own, told step by step.
//!
//! A pool counts requests, verifies them and sends some again; what became of each
//! connection it does not keep. Here the connection is the unit, as it is httperf's: so many
//! are begun, one behind the other or at given moments, each asks so many times, and a
//! [`SessionClient`] hears every step. One thread, over the same back ends; nothing is
//! verified. Start at [`run_sessions`].
//!
//! A *visit* is what one user does: bursts of calls with time to think between them, over
//! connections that each are a session. [`run_visits`] runs so many.

mod begins;
mod connections;
mod runner;
mod session;
mod visit;
mod visits;

use std::io;
use std::net::SocketAddr;

use abx_evidence::Wait;
use abx_sys::{Nanos, SocketTuning};
use abx_wire::http1::AnswerKind;

use crate::io::{EpollIo, Tls, TlsClient};
use crate::plan::TlsPlan;
use crate::stopper::Stopper;
use crate::workers::error::EngineError;

pub(crate) use runner::SessionRunner;
pub use visit::{VisitBurst, VisitCall, VisitClient, VisitEnd, VisitPlan};
pub(crate) use visits::VisitRunner;

/// So many connections find a TLS session to resume, of those that are opened at a time.
const CONNECTIONS: usize = 1024;

/// What holds for every session of a load.
pub struct SessionTerms {
    /// Where the server listens.
    pub address: SocketAddr,
    /// How connections are encrypted; `None` for not at all.
    pub tls: Option<TlsPlan>,
    /// For how long a session may make no progress; `None` for as long as it likes.
    pub timeout: Option<Nanos>,
    /// How much longer it may take until the first byte of an answer.
    pub answer_timeout: Nanos,
    /// How often [`SessionStep::Ticks`] is told, above zero.
    pub tick: Nanos,
    /// When the load ends at the latest, from its beginning; what is under way then is dropped.
    pub ends_after: Option<Nanos>,
    /// What is set on each connection's socket.
    pub tuning: SocketTuning,
}

/// A load of sessions.
pub struct SessionPlan {
    /// What holds for each.
    pub terms: SessionTerms,
    /// How many sessions there are.
    pub sessions: u64,
    /// When each next one begins, from the load's beginning and in order; `None` for when the
    /// one before it has ended.
    pub begins: Option<Box<dyn Iterator<Item = Nanos>>>,
    /// Requests of a session, at least one.
    pub calls: u32,
    /// Requests that go out together, at least one; the answers to all of them are awaited
    /// before the next ones.
    pub burst: u32,
    /// Whether the requests are for heads alone, whose answers have no body.
    pub heads_only: bool,
}

impl SessionPlan {
    fn kind(&self) -> AnswerKind {
        answer_kind(self.heads_only)
    }
}

fn answer_kind(is_head_only: bool) -> AnswerKind {
    match is_head_only {
        true => AnswerKind::HeadOnly,
        false => AnswerKind::WithBody,
    }
}

/// Who hears what becomes of sessions.
pub trait SessionListener {
    /// Hears the next step, which was at this moment from the load's beginning.
    fn hears(&mut self, at: Nanos, step: SessionStep<'_>);
}

/// Who asks in sessions, and hears what becomes of that.
pub trait SessionClient: SessionListener {
    /// Writes the next request behind what stands in `bytes`. False when there is none left,
    /// which ends the session that it was for.
    fn ask(&mut self, bytes: &mut Vec<u8>) -> bool;
}

/// What happens in a load of sessions. Calls are counted over all of them, from 0.
#[derive(Debug, PartialEq, Eq)]
pub enum SessionStep<'a> {
    /// A connection is being made.
    Begins {
        /// How many are open or being made, this one included.
        open: u64,
        /// How many were begun at one go so far, this one included.
        together: u64,
    },
    /// It stands, and did so much later than it was begun; with TLS the handshake is in that.
    Stands(Nanos),
    /// A request was handed over whole.
    Sent {
        /// Its call.
        call: u64,
        /// All of it.
        request: &'a [u8],
    },
    /// A part of an answer's head, interim ones and the empty line included.
    Head {
        /// The call that it answers.
        call: u64,
        /// The part.
        bytes: &'a [u8],
    },
    /// A part of an answer's body, without framing.
    Body {
        /// The call that it answers.
        call: u64,
        /// The part.
        bytes: &'a [u8],
    },
    /// An answer has come.
    Answered {
        /// The call that it answers.
        call: u64,
        /// What it was.
        answer: SessionAnswer,
    },
    /// A session ends here that had more to do, or one could not be begun at all.
    Fails(SessionFailure),
    /// A connection that was begun is closed.
    Ends {
        /// Since it was begun.
        lasted: Nanos,
        /// Answers that came over it.
        answers: u64,
    },
    /// A further [`SessionTerms::tick`] has passed.
    Ticks,
}

/// An answer, as far as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionAnswer {
    /// The status.
    pub status: u16,
    /// Bytes of its head, interim ones and the empty line included.
    pub head_bytes: u64,
    /// Bytes of its body without framing.
    pub body_bytes: u64,
    /// Bytes behind the last chunk of a chunked body: its trailer and the empty line.
    pub footer_bytes: u64,
    /// From the first byte of its request being sent to its own first byte.
    pub first_byte: Nanos,
    /// From its first byte to its last one.
    pub rest: Nanos,
    /// Whether its connection was closed in the middle of its body.
    pub is_cut: bool,
}

/// Why a session ended early, or could not begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionFailure {
    /// No progress within [`SessionTerms::timeout`].
    Timeout,
    /// The kernel gave up on the connection.
    KernelTimeout,
    /// Nobody listens.
    Refused,
    /// The connection was closed or reset while something was still expected of it.
    Reset,
    /// This process has no descriptor left; the connection was not begun.
    NoDescriptor,
    /// The machine has no descriptor left; the connection was not begun.
    FileTableFull,
    /// No local port is left; the connection was not begun.
    NoPort,
    /// Something else, as a sentence.
    Other(String),
}

impl SessionFailure {
    fn of(error: &io::Error) -> SessionFailure {
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

    /// Whether there was not even a connection to be begun.
    fn is_unbegun(&self) -> bool {
        use SessionFailure::{FileTableFull, NoDescriptor, NoPort};
        matches!(self, NoDescriptor | FileTableFull | NoPort)
    }
}

/// Runs sessions until all have ended, or somebody stops them. Answers how long that took.
///
/// # Errors
/// [`EngineError::System`] when the kernel gives no epoll set, [`EngineError::Tls`] for a name
/// that no server can have. What the server does is told to the client.
pub fn run_sessions(
    load: SessionPlan,
    client: &mut dyn SessionClient,
    stopper: &Stopper,
) -> Result<Nanos, EngineError> {
    let (io, tls) = prepared(&load.terms)?;
    Ok(match tls {
        None => SessionRunner::new(io, load, client).run(stopper),
        Some(tls) => SessionRunner::new(Tls::over(io, tls), load, client).run(stopper),
    })
}

/// Runs visits until all have ended, or somebody stops them. Answers how long that took.
///
/// # Errors
/// As [`run_sessions`].
pub fn run_visits(
    load: VisitPlan,
    client: &mut dyn VisitClient,
    stopper: &Stopper,
) -> Result<Nanos, EngineError> {
    let (io, tls) = prepared(&load.terms)?;
    Ok(match tls {
        None => VisitRunner::new(io, load, client).run(stopper),
        Some(tls) => VisitRunner::new(Tls::over(io, tls), load, client).run(stopper),
    })
}

/// What a load needs of this machine.
fn prepared(terms: &SessionTerms) -> Result<(EpollIo, Option<TlsClient>), EngineError> {
    let io = EpollIo::new(Wait::Asleep).map_err(|source| EngineError::System {
        what: "an epoll set",
        source,
    })?;
    let io = io.tuned(terms.tuning);
    // With the usual slack sessions only begin some microseconds later.
    let _ = abx_sys::clock::sharpen_timers();
    let tls = { terms.tls.as_ref() }.map(|tls| TlsClient::of(tls, CONNECTIONS));
    let tls = tls.transpose()?;
    Ok((io, tls))
}
