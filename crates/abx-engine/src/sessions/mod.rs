//! Sessions, each over a connection of its own, reported step by step.
//!
//! A pool counts requests, verifies them and sends some again; it does not record the fate of
//! each connection. Here the connection is the unit, as in httperf: a number of them
//! is begun, one after the other or at given moments, and each sends a number of requests. A
//! [`SessionClient`] receives every step. One thread, over the same back ends; nothing is
//! verified. Start at [`run_sessions`].
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

/// This many connections opened at the same time can each find a TLS session to resume.
const CONNECTIONS: usize = 1024;

/// Runs sessions until all have ended, or the stopper stops them. Returns how long that took.
///
/// # Errors
/// [`EngineError::System`] if the kernel gives no epoll set, [`EngineError::Tls`] for a name
/// that no server can have. The client receives whatever the server does.
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

/// Runs visits until all have ended, or the stopper stops them. Returns how long that took.
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

fn prepared(terms: &SessionOptions) -> Result<(EpollIo, Option<TlsClient>), EngineError> {
    let io = EpollIo::new(Wait::Asleep).map_err(|source| EngineError::System {
        what: "an epoll set",
        source,
    })?;
    let io = io.tuned(terms.tuning);
    // With the usual slack sessions only begin some microseconds later.
    let _ = abx_sys::clock::sharpen_timers();
    let tls = terms
        .tls
        .as_ref()
        .map(|tls| TlsClient::of(tls, CONNECTIONS));
    let tls = tls.transpose()?;
    Ok((io, tls))
}
