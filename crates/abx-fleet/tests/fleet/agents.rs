//! Agents on threads of this process, and their controllers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use abx_engine::EnginePlan;
use abx_evidence::Wait;
use abx_evidence::record::OnLoss;
use abx_fleet::{
    AgentEvent, AgentLimits, AgentPlan, Fleet, FleetError, FleetEvent, FleetListener, FleetPlan,
    FleetTiming, random_id, run_agent,
};

use crate::{Cut, TestBus, until};

/// The build that agents and controllers of the tests report.
pub(crate) const BUILD: &str = "0123456789abcdef";

pub(crate) struct Agent {
    pub(crate) cut: Arc<dyn Cut>,
    events: Arc<Mutex<Vec<AgentEvent>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

pub(crate) fn plan(name: &str) -> AgentPlan {
    AgentPlan {
        id: random_id().unwrap(),
        name: name.to_owned(),
        slot: None,
        build: BUILD.to_owned(),
        engine: EnginePlan {
            threads: 2,
            cpus: Vec::new(),
            wait: Wait::Asleep,
        },
        limits: AgentLimits {
            targets: vec!["127.0.0.0/8".parse().unwrap()],
            rate_max: None,
            descriptors: 1_000,
        },
        timing: FleetTiming::default(),
        once: false,
        finals: None,
        skew_ns: 0,
    }
}

impl Agent {
    pub(crate) fn start(bus: &impl TestBus, plan: AgentPlan) -> Agent {
        let (connection, cut) = bus.connect();
        let events: Arc<Mutex<Vec<AgentEvent>>> = Arc::default();
        let stop: Arc<AtomicBool> = Arc::default();
        let (agent_events, stopped) = (Arc::clone(&events), Arc::clone(&stop));
        let thread = thread::spawn(move || {
            let mut notify = |event| agent_events.lock().unwrap().push(event);
            run_agent(&*connection, &plan, &stopped, &mut notify).unwrap();
        });
        Agent {
            cut,
            events,
            stop,
            thread: Some(thread),
        }
    }

    /// Agents with these names and default plans.
    pub(crate) fn several<const N: usize>(bus: &impl TestBus, names: [&str; N]) -> [Agent; N] {
        names.map(|name| Agent::start(bus, plan(name)))
    }

    /// Whether the agent has reported that a controller rejected it.
    pub(crate) fn is_rejected(&self) -> bool {
        let events = self.events.lock().unwrap();
        events
            .iter()
            .any(|event| matches!(event, AgentEvent::Rejected { .. }))
    }

    /// Waits until the agent has reported an event.
    pub(crate) fn await_event(&self, what: &str, matches: impl Fn(&AgentEvent) -> bool) {
        until(what, || self.events.lock().unwrap().iter().any(&matches));
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.cut.cut(false);
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !thread::panicking()
        {
            panic!("an agent panicked");
        }
    }
}

/// A controller's agents, and the events about them.
pub(crate) struct Gathered {
    pub(crate) fleet: Fleet,
    pub(crate) cut: Arc<dyn Cut>,
    pub(crate) events: Arc<Mutex<Vec<FleetEvent>>>,
}

pub(crate) fn gather(bus: &impl TestBus, agents: usize) -> Gathered {
    gather_within(bus, agents, FleetTiming::default()).unwrap()
}

pub(crate) fn gather_within(
    bus: &impl TestBus,
    agents: usize,
    timing: FleetTiming,
) -> Result<Gathered, FleetError> {
    gather_with(bus, agents, timing, OnLoss::Abort)
}

pub(crate) fn gather_with(
    bus: &impl TestBus,
    agents: usize,
    timing: FleetTiming,
    on_loss: OnLoss,
) -> Result<Gathered, FleetError> {
    let (connection, cut) = bus.connect();
    let events: Arc<Mutex<Vec<FleetEvent>>> = Arc::default();
    let fleet_events = Arc::clone(&events);
    let plan = FleetPlan {
        agents,
        build: BUILD.to_owned(),
        timing,
        on_loss,
    };
    let notify: FleetListener = Arc::new(move |event| fleet_events.lock().unwrap().push(event));
    let run = random_id().unwrap();
    let fleet = Fleet::assemble(connection, &run, &plan, &|| false, &notify)?;
    Ok(Gathered { fleet, cut, events })
}

/// Timeouts short enough for tests that lose an agent, and long enough for all other tests.
pub(crate) const SHORT: FleetTiming = FleetTiming {
    beat: Duration::from_millis(200),
    suspect: Duration::from_secs(1),
    lost: Duration::from_secs(4),
    dead_man: Duration::from_secs(4),
    join: Duration::from_secs(30),
};
