//! Behaviour on every bus when an agent is lost, or the controller cannot continue.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use abx_engine::schedule::Arrivals;
use abx_engine::{LoadGenerator, SliceEvent};
use abx_evidence::CoursePlan;
use abx_evidence::record::OnLoss;
use abx_fleet::{AgentEvent, FleetEvent, FleetTiming};

use crate::TestBus;
use crate::agents::{Agent, SHORT, gather, gather_with, gather_within, plan};
use crate::cases::{SECOND, ok, requests, slice, span};
use crate::server::Server;
use crate::until;

pub(crate) fn the_other_agents_continue_with_their_parts_if_configured(bus: &impl TestBus) {
    // Method: cut off one of three agents during a slice of 30,000 requests. The others send
    // exactly their two thirds, in this slice and in the next. The lost agent is dismissed as soon
    // as it sends a message.
    let server = Server::start();
    let agents = [("a", 0), ("b", 1), ("c", 2)].map(|(name, slot)| {
        let mut agent_plan = plan(name);
        agent_plan.slot = Some(slot);
        // The lost agent must not end before it is dismissed.
        agent_plan.timing.dead_man = Duration::from_secs(60);
        Agent::start(bus, agent_plan)
    });
    let mut gathered = gather_with(bus, 3, SHORT, OnLoss::Continue).unwrap();
    let fleet = &mut gathered.fleet;
    let mut load = server.load(6);
    load.pacing.think_ns = 1_000_000;
    let (pool, _) = fleet.open(&load, &mut |_| {}).unwrap();
    let plan = requests(30_000);
    fleet.arm(pool, &plan).unwrap();
    assert!(fleet.missing().is_empty());
    let tally = thread::scope(|scope| {
        scope.spawn(|| {
            until("load", || server.requests() > 50);
            agents[1].cut.cut(true);
        });
        fleet.slice(pool, &plan, &mut |_| {}).unwrap()
    });
    assert_eq!((ok(&tally), tally.tally.clocks), (20_000, 4));
    assert_eq!(fleet.missing(), [2]);
    let record = fleet.fleet().unwrap();
    assert!(record.partial && record.on_loss == OnLoss::Continue);
    let lost: Vec<bool> = record
        .agents
        .iter()
        .map(|agent| agent.lost.is_some())
        .collect();
    assert_eq!(lost, [false, true, false]);
    assert!(record.agents[1].lost_unix_ms.is_some());
    fleet.close(pool);
    agents[1].cut.cut(false);
    agents[1].await_event("the end", |event| *event == AgentEvent::GivenUp);
    let before = server.requests();
    let (pool, report) = fleet.open(&server.load(6), &mut |_| {}).unwrap();
    assert_eq!(report.standing, 4);
    let plan = requests(300);
    fleet.arm(pool, &plan).unwrap();
    let tally = fleet.slice(pool, &plan, &mut |_| {}).unwrap();
    assert_eq!((ok(&tally), server.requests() - before), (200, 200));
}

pub(crate) fn without_any_agent_there_is_no_load(bus: &impl TestBus) {
    // Method: cut off both agents of a fleet whose other agents should continue.
    let server = Server::start();
    let agents = Agent::several(bus, ["a", "b"]);
    let mut gathered = gather_with(bus, 2, SHORT, OnLoss::Continue).unwrap();
    let fleet = &mut gathered.fleet;
    let (pool, _) = fleet.open(&server.load(2), &mut |_| {}).unwrap();
    for agent in &agents {
        agent.cut.cut(true);
    }
    let error = fleet.refresh(pool, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("was lost"), "{error}");
    assert!(fleet.arm(pool, &span(SECOND)).is_err());
}

pub(crate) fn a_stop_before_a_slice_begins_ends_it_at_once(bus: &impl TestBus) {
    // Method: stop the load while agents are ready for a slice of five minutes. They are available
    // to the next controller.
    let server = Server::start();
    let _agents = Agent::several(bus, ["a", "b"]);
    let mut gathered = gather(bus, 2);
    let fleet = &mut gathered.fleet;
    let (pool, _) = fleet.open(&server.load(2), &mut |_| {}).unwrap();
    let plan = span(300 * SECOND);
    fleet.arm(pool, &plan).unwrap();
    fleet.stopper().stop();
    let began = Instant::now();
    let tally = fleet.slice(pool, &plan, &mut |_| {}).unwrap();
    assert!(began.elapsed() < Duration::from_secs(200), "not ended");
    let sent: u64 = tally.tally.outcomes.iter().map(|(_, count)| count).sum();
    assert!(sent <= server.requests() + 2);
    assert!(!fleet.fleet().unwrap().partial);
    drop(gathered);
    let mut next = gather(bus, 2).fleet;
    assert_eq!(ok(&slice(&mut next, &server.load(2), &requests(100))), 100);
}

pub(crate) fn a_busy_agent_reports_that_to_another_controller(bus: &impl TestBus) {
    // Method: one of two agents is busy. A second controller needs two, learns which agent is busy,
    // and gets it when the first controller releases it.
    let server = Server::start();
    let _busy = Agent::several(bus, ["busy"]);
    let first = gather(bus, 1);
    let timing = FleetTiming {
        join: Duration::from_secs(2),
        ..FleetTiming::default()
    };
    let error = gather_within(bus, 1, timing).err().unwrap().to_string();
    let reason = "agent busy generates load for another controller";
    assert!(error.contains(reason), "{error}");
    let mut second = thread::scope(|scope| {
        let second = scope.spawn(|| gather(bus, 1));
        drop(first);
        second.join().unwrap()
    });
    let is_joined = |fleet_event: &FleetEvent| matches!(fleet_event, FleetEvent::Joined { .. });
    assert!(second.events.lock().unwrap().iter().any(is_joined));
    assert_eq!(
        ok(&slice(&mut second.fleet, &server.load(2), &requests(100))),
        100
    );
}

pub(crate) fn the_pace_of_each_agent_is_reported(bus: &impl TestBus) {
    // Method: a closed loop, and then a rate; only with a rate can requests be late.
    let server = Server::start();
    let _agents = Agent::several(bus, ["a", "b"]);
    let mut fleet = gather(bus, 2).fleet;
    slice(&mut fleet, &server.load(2), &requests(500));
    for agent in fleet.fleet().unwrap().agents {
        assert!(
            agent.pace.wall_ns > 0 && agent.pace.busiest_worker_ns > 0,
            "{agent:?}"
        );
        assert_eq!(agent.pace.lateness_us_p99, None);
        assert!(agent.pace.loop_lag_us_p99.is_some());
    }
    let mut load = server.load(2);
    load.pacing.arrivals = Arrivals::Constant {
        per_s: "500".parse().unwrap(),
    };
    slice(&mut fleet, &load, &span(SECOND / 5));
    let agents = fleet.fleet().unwrap().agents;
    assert!(
        agents
            .iter()
            .all(|agent| agent.pace.lateness_us_p99.is_some())
    );
}

pub(crate) fn intervals_are_reported_while_agents_generate_load(bus: &impl TestBus) {
    // Method: a slice with reported intervals, by two agents, one of which is cut off for a while.
    // No interval is missing, and no more is reported than was counted.
    let server = Server::start();
    let agents = Agent::several(bus, ["a", "b"]);
    let mut fleet = gather(bus, 2).fleet;
    let (pool, _) = fleet.open(&server.load(2), &mut |_| {}).unwrap();
    let mut plan = span(2 * SECOND);
    plan.course = Some(CoursePlan {
        interval_ns: SECOND / 20,
        is_told: true,
    });
    let (mut numbers, mut reported) = (BTreeSet::new(), 0);
    fleet.arm(pool, &plan).unwrap();
    agents[0].cut.cut(true);
    let tally = fleet.slice(pool, &plan, &mut |event| {
        if let SliceEvent::Intervals(intervals) = event {
            // The other agent has reported: reconnect this one.
            agents[0].cut.cut(false);
            numbers.extend(intervals.iter().map(|interval| interval.number));
            reported += intervals
                .iter()
                .map(|interval| interval.interval.outcomes.ok())
                .sum::<u64>();
        }
    });
    let counted = ok(&tally.unwrap());
    let last = numbers.last().copied().unwrap();
    assert_eq!(numbers.len(), last + 1, "{numbers:?}");
    assert!(last > 0 && last < 40, "{last}");
    assert!(reported > 0 && reported <= counted, "{reported} {counted}");
}
