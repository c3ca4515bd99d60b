//! Many agents at once.

use std::time::Duration;

use abx_engine::{LoadGenerator, SliceEnd, SlicePlan};
use abx_evidence::Outcome;
use abx_fleet::{AgentEvent, FleetTiming};

use crate::TestBus;
use crate::agents::{Agent, gather_within, plan};
use crate::server::Server;

const AGENTS: usize = 64;

pub(crate) fn agents_that_wait_come_all_at_once(bus: &impl TestBus) {
    // Method: 64 agents wait for a controller. One controller needs three of them, and a second
    // one needs all: each agent has a separate slot, and together they generate the exact load.
    let server = Server::start();
    // Longer than any delay of an agent on a busy machine.
    let timing = FleetTiming {
        join: Duration::from_secs(300),
        lost: Duration::from_secs(60),
        dead_man: Duration::from_secs(60),
        ..FleetTiming::default()
    };
    let agents: Vec<Agent> = (0..AGENTS)
        .map(|number| {
            let mut agent_plan = plan(&format!("a{number}"));
            agent_plan.engine.threads = 1;
            agent_plan.timing = timing;
            Agent::start(bus, agent_plan)
        })
        .collect();
    for (wanted, requests) in [(3, 100), (AGENTS, 1_000)] {
        let mut gathered = gather_within(bus, wanted, timing).unwrap();
        let before = server.requests();
        let connections = u32::try_from(wanted).unwrap() + 1;
        let load = server.load(connections);
        let (pool, report) = gathered.fleet.open(&load, &mut |_| {}).unwrap();
        assert_eq!(report.standing, wanted + 1);
        let slice = SlicePlan {
            end: SliceEnd::AfterRequests(requests),
            discard_ns: 0,
            course: None,
        };
        gathered.fleet.arm(pool, &slice).unwrap();
        let tally = gathered.fleet.slice(pool, &slice, &mut |_| {}).unwrap();
        assert_eq!(tally.tally.outcomes.count(Outcome::Ok), requests);
        assert_eq!(server.requests() - before, requests);
        let fleet = gathered.fleet.fleet().unwrap();
        let mut names: Vec<&str> = fleet
            .agents
            .iter()
            .map(|agent| agent.name.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), wanted);
        assert!(
            fleet
                .agents
                .iter()
                .all(|agent| agent.slices == 1 && agent.lost.is_none())
        );
    }
    for agent in &agents {
        agent.tells("the end of a run", |event| *event == AgentEvent::RunEnded);
    }
}
