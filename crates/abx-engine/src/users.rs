//! Runs scenarios: on threads of their own until the end, or one session before a load.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use abx_evidence::Wait;
use abx_evidence::scenario::{ScenarioCost, ScenarioEnd, ScenarioTally};
use abx_sys::Nanos;

use crate::io::{EpollIo, Tls, TlsClient};
use crate::plan::{LoadPlan, share_before};
use crate::scenario::{ScenarioPlan, ScenarioRunner};
use crate::stopper::Stopper;
use crate::workers::error::EngineError;

/// What came of a scenario.
#[derive(Debug)]
pub struct RanScenario {
    pub tally: ScenarioTally,
    /// From the beginning to the last response.
    pub elapsed: Nanos,
    pub cost: ScenarioCost,
}

struct RanPart {
    tally: ScenarioTally,
    elapsed: Nanos,
    cpu: Nanos,
}

/// The first session of the load; the one before it is the trial.
const FIRST_SESSION: u64 = 1;

/// Runs one session, without pauses and before any load, which has the number 0. Answers
/// what its steps came to.
///
/// # Errors
/// As [`run_scenario`].
pub fn try_scenario(plan: &ScenarioPlan, stopper: &Stopper) -> Result<ScenarioTally, EngineError> {
    try_numbered(plan, 0, stopper)
}

fn try_numbered(
    plan: &ScenarioPlan,
    number: u64,
    stopper: &Stopper,
) -> Result<ScenarioTally, EngineError> {
    let mut alone = ScenarioPlan {
        users: 1,
        end: ScenarioEnd::AfterSessions(1),
        threads: 1,
        wait: Wait::Asleep,
        ..plan.clone()
    };
    alone.steps.iter_mut().for_each(|step| step.think = None);
    let next = AtomicU64::new(number);
    let part = run_part(&alone, 0, (&next, number), stopper)?;
    Ok(part.tally)
}

/// The same for the users of a load, whose next session it is.
///
/// # Errors
/// As [`run_scenario`]; [`EngineError::Shape`] for a load without users.
pub fn try_session(load: &LoadPlan, stopper: &Stopper) -> Result<ScenarioTally, EngineError> {
    let Some(scenario) = &load.scenario else {
        return Err(EngineError::Shape("the steps of its sessions"));
    };
    let number = scenario.script.next_session.fetch_add(1, Ordering::Relaxed);
    try_numbered(&ScenarioPlan::of_load(load, scenario), number, stopper)
}

/// Has the users make their sessions until the end, or until somebody stops them.
///
/// # Errors
/// [`EngineError::Zero`] without a user, a step or a thread, [`EngineError::System`] when the
/// kernel gives no epoll set, [`EngineError::Tls`] for a name that no server can have. What the
/// server does is counted.
pub fn run_scenario(plan: &ScenarioPlan, stopper: &Stopper) -> Result<RanScenario, EngineError> {
    for (count, what) in [
        (plan.users as usize, "users"),
        (plan.steps.len(), "steps"),
        (plan.threads, "threads"),
    ] {
        if count == 0 {
            return Err(EngineError::Zero { what });
        }
    }
    let next = AtomicU64::new(FIRST_SESSION);
    let numbered = (&next, FIRST_SESSION);
    let parts: Vec<Result<RanPart, EngineError>> = thread::scope(|scope| {
        let part = |number| {
            let run = move || run_part(plan, number, numbered, stopper);
            let thread = thread::Builder::new().spawn_scoped(scope, run);
            thread.map_err(|source| {
                // The others would make their part of a load that has no result.
                stopper.stop();
                EngineError::no_thread(source)
            })
        };
        let threads: Vec<_> = (0..plan.threads).map(part).collect();
        let joined = threads.into_iter().map(|thread| match thread?.join() {
            Ok(part) => part,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.collect()
    });
    let mut ran = RanScenario {
        tally: ScenarioTally::of(plan.steps.len()),
        elapsed: Nanos(0),
        cost: ScenarioCost {
            threads: plan.threads,
            cpu_s: 0.0,
            busy: 0.0,
        },
    };
    for part in parts {
        let part = part?;
        let wall = part.elapsed.as_secs_f64();
        let busy = part.cpu.as_secs_f64() / wall.max(f64::MIN_POSITIVE);
        ran.cost.cpu_s += part.cpu.as_secs_f64();
        ran.cost.busy = ran.cost.busy.max(busy.min(1.0));
        ran.elapsed = ran.elapsed.max(part.elapsed);
        ran.tally.merge(part.tally);
    }
    Ok(ran)
}

fn run_part(
    plan: &ScenarioPlan,
    number: usize,
    numbered: (&AtomicU64, u64),
    stopper: &Stopper,
) -> Result<RanPart, EngineError> {
    if !plan.cpus.is_empty() {
        // A processor that went away since it was listed leaves the thread where it is.
        let _ = abx_sys::cpus::pin_thread(&[plan.cpus[number % plan.cpus.len()]]);
    }
    // With the usual slack pauses only end some microseconds later.
    let _ = abx_sys::clock::sharpen_timers();
    let of = plan.threads as u64;
    let before = |number| share_before(u64::from(plan.users), number, of);
    let first = before(number as u64);
    let users = (first, before(number as u64 + 1) - first);
    let system = |source: io::Error| EngineError::System {
        what: "an epoll set",
        source,
    };
    let io = EpollIo::new(plan.wait).map_err(system)?;
    let tls = plan
        .tls
        .as_ref()
        .map(|tls| TlsClient::of(tls, plan.users as usize));
    let tls = tls.transpose()?;
    let cpu = abx_sys::thread_cpu();
    let ((tally, elapsed), awake) = match tls {
        None => ScenarioRunner::new(io, plan, users, numbered).run(stopper),
        Some(tls) => ScenarioRunner::new(Tls::over(io, tls), plan, users, numbered).run(stopper),
    };
    let cpu = abx_sys::thread_cpu().since(cpu).since(awake);
    Ok(RanPart {
        tally,
        elapsed,
        cpu,
    })
}
