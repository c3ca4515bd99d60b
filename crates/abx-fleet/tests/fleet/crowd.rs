//! Many agents at once.

use std::time::Duration;

use abx_engine::LoadGenerator;
use abx_fleet::{AgentEvent, FleetTiming};

use crate::TestBus;
use crate::agents::{Agent, gather_within, plan};
use crate::cases::{ok, requests, slice};
use crate::server::Server;

const AGENTS: usize = 64;

pub(crate) fn waiting_agents_join_all_at_once(bus: &impl TestBus) {
    // Method: 64 agents wait for a controller. One controller needs three of them, and a second
    // needs all. Each agent has a separate slot, and together they generate the exact load.
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
    for (needed, count) in [(3, 100), (AGENTS, 1_000)] {
        let mut fleet = gather_within(bus, needed, timing).unwrap().fleet;
        let before = server.requests();
        let load = server.load(u32::try_from(needed).unwrap() + 1);
        let tally = slice(&mut fleet, &load, &requests(count));
        assert_eq!((ok(&tally), server.requests() - before), (count, count));
        let record = fleet.fleet().unwrap();
        let mut names: Vec<&str> = record
            .agents
            .iter()
            .map(|agent| agent.name.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), needed);
        assert!(
            record
                .agents
                .iter()
                .all(|agent| agent.slices == 1 && agent.lost.is_none())
        );
    }
    for agent in &agents {
        agent.await_event("the end of a run", |event| *event == AgentEvent::RunEnded);
    }
}
