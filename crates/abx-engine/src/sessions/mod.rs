//! Sessions, each over a separate connection, reported step by step.
//!
//! A pool counts requests, verifies responses and sends some requests again; it does not record
//! the fate of each connection. Here the connection is the unit, as in httperf: a number of
//! connections is begun, one after the other or at given moments, and each sends a number of
//! requests. A [`SessionClient`] receives every step. Sessions run on one thread over the same
//! back ends, and their responses are not verified. Start at [`run_sessions`].
//!
//! A *visit* is the behaviour of one user: bursts of calls with think time between them, over
//! connections that are each a session. [`run_visits`] runs a number of visits.

mod begins;
mod connections;
mod plan;
mod runner;
mod session;
mod step;
mod visit;
mod visits;

use abx_evidence::Wait;
use abx_sys::Nanos;

use crate::io::{EpollIo, Tls, TlsClient};
use crate::stopper::Stopper;
use crate::workers::error::EngineError;

pub use plan::{SessionOptions, SessionPlan};
pub use runner::SessionRunner;
pub use step::{SessionClient, SessionFailure, SessionListener, SessionResponse, SessionStep};
pub use visit::{VisitBurst, VisitCall, VisitClient, VisitEnd, VisitPlan};
pub use visits::VisitRunner;

/// How many connections that open at the same time can each find a TLS session to resume.
const CONNECTIONS: usize = 1024;

/// Runs sessions until all have ended, or the stopper stops them. Returns how long that took.
///
/// # Errors
/// [`EngineError::System`] if the kernel refuses an epoll set, [`EngineError::Tls`] for a name
/// that no server can have. The server's behaviour is reported to the client.
pub fn run_sessions(
    load: SessionPlan,
    client: &mut dyn SessionClient,
    stopper: &Stopper,
) -> Result<Nanos, EngineError> {
    let (io, tls) = prepare(&load.terms)?;
    Ok(match tls {
        None => SessionRunner::new(io, load, client).run(stopper),
        Some(tls) => SessionRunner::new(Tls::over(io, tls), load, client).run(stopper),
    })
}

/// Runs visits until all have ended, or the stopper stops them. Returns how long that took.
///
/// # Errors
/// As [`run_sessions`].
pub fn run_visits(
    load: VisitPlan,
    client: &mut dyn VisitClient,
    stopper: &Stopper,
) -> Result<Nanos, EngineError> {
    let (io, tls) = prepare(&load.terms)?;
    Ok(match tls {
        None => VisitRunner::new(io, load, client).run(stopper),
        Some(tls) => VisitRunner::new(Tls::over(io, tls), load, client).run(stopper),
    })
}

fn prepare(terms: &SessionOptions) -> Result<(EpollIo, Option<TlsClient>), EngineError> {
    let io = EpollIo::new(Wait::Asleep).map_err(|source| EngineError::System {
        what: "an epoll set",
        source,
    })?;
    let io = io.tuned(terms.tuning);
    // If this fails, sessions only begin some microseconds later, by the usual slack.
    let _ = abx_sys::clock::sharpen_timers();
    let tls = terms.tls.as_ref();
    let tls = tls.map(|tls| TlsClient::of(tls, CONNECTIONS));
    Ok((io, tls.transpose()?))
}
