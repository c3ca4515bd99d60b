//! One session before a load, in which every step has to succeed.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use abx_evidence::Wait;

use crate::io::{EpollIo, Tls, TlsClient};
use crate::plan::{LoadPlan, SliceEnd};
use crate::scenario::ScenarioTally;
use crate::scenario::plan::ScenarioPlan;
use crate::scenario::runner::ScenarioRunner;
use crate::stopper::Stopper;
use crate::workers::error::EngineError;

/// Runs one session of a load, without pauses. Its number is the next one of the load.
///
/// # Errors
/// [`EngineError::Shape`] for a load without users, [`EngineError::System`] if the kernel refuses
/// an epoll set, [`EngineError::Tls`] for a name that no server can have. The server's behaviour
/// is in the tally.
pub fn try_session(load: &LoadPlan, stopper: &Stopper) -> Result<ScenarioTally, EngineError> {
    let Some(scenario) = &load.scenario else {
        return Err(EngineError::Shape {
            load: "sessions",
            needs: "their steps",
        });
    };
    let mut plan = ScenarioPlan {
        users: 1,
        end: SliceEnd::AfterRequests(1),
        ..ScenarioPlan::of_load(load, scenario)
    };
    plan.steps.iter_mut().for_each(|step| step.think = None);
    let next_session = &scenario.script.next_session;
    let number = AtomicU64::new(next_session.fetch_add(1, Ordering::Relaxed));
    let system = |source: io::Error| EngineError::System {
        what: "an epoll set",
        source,
    };
    let io = EpollIo::new(Wait::Asleep).map_err(system)?;
    let tls = plan.tls.as_ref().map(|tls| TlsClient::of(tls, 1));
    let (tally, _) = match tls.transpose()? {
        None => ScenarioRunner::new(io, &plan, &number).run(stopper),
        Some(tls) => ScenarioRunner::new(Tls::over(io, tls), &plan, &number).run(stopper),
    };
    Ok(tally)
}
