//! Behaviour on every bus.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use abx_engine::schedule::{Arrivals, Replay, ReplayedRequest, Schedule};
use abx_engine::{
    Engine, LoadGenerator, LoadPlan, PlaceholderKind, PlaceholderPart, RequestPlaceholder,
    SliceEnd, SlicePlan,
};
use abx_evidence::{Outcome, SliceTally, Wait};
use abx_fleet::{AgentEvent, Fleet, FleetEvent, FleetTiming};
use abx_sys::Nanos;

use crate::agents::{Agent, Gathered, SHORT, gather, gather_within, plan};
use crate::by_hand::Controller;
pub(crate) use crate::crowd::waiting_agents_join_all_at_once;
pub(crate) use crate::losses::{
    a_busy_agent_reports_that_to_another_controller, a_stop_before_a_slice_begins_ends_it_at_once,
    intervals_are_reported_while_agents_generate_load,
    the_other_agents_continue_with_their_parts_if_configured, the_pace_of_each_agent_is_reported,
    without_any_agent_there_is_no_load,
};
use crate::server::Server;
use crate::{TestBus, until};

pub(crate) const SECOND: u64 = 1_000_000_000;

pub(crate) fn requests(count: u64) -> SlicePlan {
    SlicePlan {
        end: SliceEnd::AfterRequests(count),
        discard_ns: 0,
        course: None,
    }
}

pub(crate) fn span(ns: u64) -> SlicePlan {
    SlicePlan {
        end: SliceEnd::AfterNs(ns),
        discard_ns: 0,
        course: None,
    }
}

/// Runs one slice on a new pool.
pub(crate) fn slice(
    generator: &mut dyn LoadGenerator,
    load: &LoadPlan,
    plan: &SlicePlan,
) -> SliceTally {
    let (pool, report) = generator.open(load, &mut |_| {}).unwrap();
    assert_eq!(report.standing, load.connections as usize);
    generator.arm(pool, plan).unwrap();
    let tally = generator.slice(pool, plan, &mut |_| {}).unwrap();
    generator.close(pool);
    tally
}

/// The load with a number in the path of each request.
fn numbered(mut load: LoadPlan) -> LoadPlan {
    let request = &mut load.requests[0].request;
    request.path = "/{seq}".to_owned();
    request.placeholders.push(RequestPlaceholder {
        part: PlaceholderPart::Path,
        start: 1,
        end: 6,
        kind: PlaceholderKind::Sequence,
    });
    load
}

pub(crate) fn ok(tally: &SliceTally) -> u64 {
    tally.tally.outcomes.count(Outcome::Ok)
}

pub(crate) fn three_agents_generate_exactly_the_load_of_one(bus: &impl TestBus) {
    // Method: three agents whose clocks differ by minutes, with 7 connections and 1,000 requests,
    // which are not multiples of three; then an ordinary slice on the same agents, and a slice with
    // numbered requests, none of which is sent twice.
    let server = Server::start();
    let skews = [0, 3_700_000_000, -191_250_000_000_i64];
    let _agents = [("a", 0), ("b", 1), ("c", 2)].map(|(name, slot)| {
        let mut agent_plan = plan(name);
        agent_plan.skew_ns = skews[slot];
        agent_plan.slot = Some(slot);
        Agent::start(bus, agent_plan)
    });
    let Gathered { mut fleet, .. } = gather(bus, 3);
    assert_eq!(fleet.threads(), 6);
    let tally = slice(&mut fleet, &server.load(7), &requests(1_000));
    assert_eq!((ok(&tally), server.requests()), (1_000, 1_000));
    assert_eq!(tally.tally.times.response.count(), 1_000);
    assert_eq!(tally.tally.clocks, 7);
    let timed = slice(&mut fleet, &server.load(7), &span(SECOND / 5));
    assert!(ok(&timed) > 0);
    server.take_lines();
    let numbered = slice(&mut fleet, &numbered(server.load(7)), &requests(600));
    let lines: BTreeSet<_> = server.take_lines().into_iter().collect();
    assert_eq!((ok(&numbered), lines.len()), (600, 600));
    let record = fleet.fleet().unwrap();
    let names: Vec<_> = record
        .agents
        .iter()
        .map(|agent| agent.name.as_str())
        .collect();
    assert_eq!(names, ["a", "b", "c"]);
    for (agent, skew_ns) in record.agents.iter().zip(skews) {
        // The agents share a clock, so the difference is known.
        assert!(agent.clock_offset_ns.abs_diff(skew_ns) <= agent.clock_bound_ns);
        assert_eq!((agent.slices, &agent.lost), (3, &None));
    }
}

pub(crate) fn a_rate_is_divided_without_losing_or_adding_requests(bus: &impl TestBus) {
    // Method: a constant and a random rate, shared by three agents. Sent requests and unsent due
    // ones add up to those of the schedule, which is counted separately.
    let server = Server::start();
    let _agents = Agent::several(bus, ["a", "b", "c"]);
    let Gathered { mut fleet, .. } = gather(bus, 3);
    let per_s = "211".parse().unwrap();
    for arrivals in [Arrivals::Constant { per_s }, Arrivals::Poisson { per_s }] {
        let mut load = server.load(8);
        load.pacing.arrivals = arrivals.clone();
        let tally = slice(&mut fleet, &load, &span(SECOND)).tally;
        // The first slice of a pool draws from the next seed.
        let schedule = Schedule::new(&arrivals, load.seed + 1).unwrap();
        let due = schedule.count_before(Nanos(SECOND));
        let sent: u64 = tally.outcomes.iter().map(|(_, count)| count).sum();
        assert_eq!(sent + tally.unsent, due, "{arrivals:?}");
    }
}

pub(crate) fn a_single_agent_counts_the_same_as_an_engine(bus: &impl TestBus) {
    // Method: the same load by an engine of this process and by an agent; the server counts.
    let server = Server::start();
    let _agent = Agent::several(bus, ["a"]);
    let mut engine = Engine::start(&abx_engine::EnginePlan {
        threads: 2,
        cpus: Vec::new(),
        wait: Wait::Asleep,
    })
    .unwrap();
    let by_engine = slice(&mut engine, &server.load(5), &requests(503));
    let requests_of_engine = server.requests();
    let Gathered { mut fleet, .. } = gather(bus, 1);
    let by_agent = slice(&mut fleet, &server.load(5), &requests(503));
    assert_eq!((ok(&by_engine), requests_of_engine), (503, 503));
    let requests_of_agent = server.requests() - requests_of_engine;
    assert_eq!((ok(&by_agent), requests_of_agent), (503, 503));
    assert_eq!(by_engine.tally.body_bytes, by_agent.tally.body_bytes);
}

pub(crate) fn agents_wait_for_controllers_and_serve_them_in_turn(bus: &impl TestBus) {
    // Method: three agents wait, and two controllers in turn need two of them; then a controller
    // that is there before the last agent.
    let server = Server::start();
    let _agents = Agent::several(bus, ["a", "b", "c"]);
    for _ in 0..2 {
        let Gathered { mut fleet, .. } = gather(bus, 2);
        assert_eq!(ok(&slice(&mut fleet, &server.load(4), &requests(100))), 100);
    }
    thread::scope(|scope| {
        let gathering = scope.spawn(|| gather(bus, 4));
        let _late = Agent::start(bus, plan("d"));
        let mut fleet = gathering.join().unwrap().fleet;
        assert_eq!(ok(&slice(&mut fleet, &server.load(4), &requests(100))), 100);
    });
    assert_eq!(server.requests(), 300);
}

/// Starts a slice of minutes, and calls `act` once the load is running.
fn while_loaded(
    fleet: &mut Fleet,
    server: &Server,
    act: impl FnOnce() + Send,
) -> (SliceTally, abx_engine::PoolId) {
    let plan = span(300 * SECOND);
    let (pool, _) = fleet.open(&server.load(6), &mut |_| {}).unwrap();
    let tally = thread::scope(|scope| {
        scope.spawn(|| {
            until("load", || server.requests() > 50);
            act();
        });
        fleet.slice(pool, &plan, &mut |_| {}).unwrap()
    });
    (tally, pool)
}

pub(crate) fn a_disconnected_agent_is_named_and_the_others_stop(bus: &impl TestBus) {
    // Method: cut off one of three agents during a slice of five minutes. The counts of the others
    // are kept, the record names the lost agent, and no further slice begins.
    let server = Server::start();
    let agents = Agent::several(bus, ["a", "b", "c"]);
    let Gathered {
        mut fleet, events, ..
    } = gather_within(bus, 3, SHORT).unwrap();
    let began = Instant::now();
    let (tally, pool) = while_loaded(&mut fleet, &server, || agents[1].cut.cut(true));
    assert!(
        began.elapsed() < Duration::from_secs(200),
        "it was not ended"
    );
    assert!(ok(&tally) > 0);
    let record = fleet.fleet().unwrap();
    let lost: Vec<_> = record
        .agents
        .iter()
        .filter(|agent| agent.lost.is_some())
        .collect();
    assert_eq!(
        lost.iter().map(|agent| &agent.name).collect::<Vec<_>>(),
        ["b"]
    );
    let lost_slot = lost[0].slot;
    let error = fleet.refresh(pool, &mut |_| {}).unwrap_err().to_string();
    assert!(
        error.contains(&format!("agent b ({lost_slot} of 3)")),
        "{error}"
    );
    let events = events.lock().unwrap();
    let is_loss = |fleet_event: &FleetEvent| matches!(fleet_event, FleetEvent::Lost { agent, .. } if agent.contains("agent b"));
    assert!(events.iter().any(is_loss), "{events:?}");
}

pub(crate) fn a_short_disconnection_loses_nothing(bus: &impl TestBus) {
    // Method: during a slice with a number of requests, cut off one of two agents until it is
    // reported as silent, then reconnect it. All requests are counted.
    let server = Server::start();
    let agents = Agent::several(bus, ["a", "b"]);
    let timing = FleetTiming {
        suspect: Duration::from_millis(500),
        ..FleetTiming::default()
    };
    let Gathered {
        mut fleet, events, ..
    } = gather_within(bus, 2, timing).unwrap();
    let (pool, _) = fleet.open(&server.load(2), &mut |_| {}).unwrap();
    let plan = requests(20_000);
    fleet.arm(pool, &plan).unwrap();
    agents[0].cut.cut(true);
    let is_silent = |fleet_event: &FleetEvent| matches!(fleet_event, FleetEvent::Silent { .. });
    let tally = thread::scope(|scope| {
        scope.spawn(|| {
            until("silence", || events.lock().unwrap().iter().any(is_silent));
            agents[0].cut.cut(false);
        });
        fleet.slice(pool, &plan, &mut |_| {}).unwrap()
    });
    assert_eq!((ok(&tally), server.requests()), (20_000, 20_000));
    assert!(
        fleet
            .fleet()
            .unwrap()
            .agents
            .iter()
            .all(|agent| agent.lost.is_none())
    );
}

pub(crate) fn agents_without_a_controller_end_their_load(bus: &impl TestBus) {
    // Method: cut off the controller for good during a slice of five minutes.
    let server = Server::start();
    let agents = ["a", "b"].map(|name| {
        let mut agent_plan = plan(name);
        agent_plan.timing = SHORT;
        Agent::start(bus, agent_plan)
    });
    let Gathered { mut fleet, cut, .. } = gather(bus, 2);
    let (pool, _) = fleet.open(&server.load(4), &mut |_| {}).unwrap();
    fleet.arm(pool, &span(300 * SECOND)).unwrap();
    until("load", || server.requests() > 50);
    cut.cut(true);
    for agent in &agents {
        agent.await_event("the dead man", |event| *event == AgentEvent::ControllerLost);
    }
    // After this event the agent has ended its engine, and the server soon sees that.
    until("an idle server", || server.connections() == 0);
    cut.cut(false);
}

pub(crate) fn a_stop_ends_a_slice_on_every_agent_and_keeps_the_counts(bus: &impl TestBus) {
    // Method: stop a slice of five minutes from another thread, as Ctrl-C does.
    let server = Server::start();
    let _agents = Agent::several(bus, ["a", "b"]);
    let Gathered { mut fleet, .. } = gather(bus, 2);
    let stopper = fleet.stopper();
    let (tally, _) = while_loaded(&mut fleet, &server, || stopper.stop());
    assert!(ok(&tally) > 50);
    assert!(
        fleet
            .fleet()
            .unwrap()
            .agents
            .iter()
            .all(|agent| agent.lost.is_none())
    );
}

pub(crate) fn an_agent_refuses_targets_and_rates_that_its_machine_does_not_allow(
    bus: &impl TestBus,
) {
    // Method: one of two agents only allows another network, or a lower rate, which a closed loop
    // cannot guarantee. The error names the agent and its flag, and nothing is sent.
    let server = Server::start();
    let rate = |per_s: &str| {
        let mut load = server.load(4);
        let per_s = per_s.parse().unwrap();
        load.pacing.arrivals = Arrivals::Constant { per_s };
        load
    };
    let sessions = |per_s: &str, calls| {
        let mut load = rate(per_s);
        load.pacing.session_calls = Some(calls);
        load
    };
    let cases = [
        (
            "10.0.0.0/8",
            None,
            server.load(4),
            Some("--allow-target 10.0.0.0/8"),
        ),
        ("127.0.0.0/8", Some("100"), rate("300"), Some("150/s")),
        (
            "127.0.0.0/8",
            Some("100"),
            server.load(4),
            Some("--max-rate"),
        ),
        ("127.0.0.1", Some("100"), rate("200"), None),
        // The rate of sessions counts their beginnings, not their requests.
        ("127.0.0.1", Some("100"), sessions("4", 51), Some("102/s")),
        ("127.0.0.1", Some("100"), sessions("4", 50), None),
    ];
    for (target, max, load, refusal) in cases {
        let mut strict = plan("strict");
        strict.limits.targets = vec![target.parse().unwrap()];
        strict.limits.rate_max = max.map(|max| max.parse().unwrap());
        let _agents = [Agent::start(bus, strict), Agent::start(bus, plan("free"))];
        let Gathered { mut fleet, .. } = gather(bus, 2);
        let opened = fleet.open(&load, &mut |_| {});
        match (opened, refusal) {
            (Ok(_), None) => {}
            (Err(error), Some(part)) => {
                let error = error.to_string();
                assert!(
                    error.contains("agent strict") && error.contains(part),
                    "{error}"
                );
            }
            (opened, _) => panic!("{target} {max:?}: {:?}", opened.err()),
        }
    }
    assert_eq!(server.requests(), 0);
}

pub(crate) fn a_replay_is_refused_for_agents(bus: &impl TestBus) {
    // Method: a log of one request. The error names both flags, and the fleet remains usable.
    let server = Server::start();
    let _agents = Agent::several(bus, ["a"]);
    let Gathered { mut fleet, .. } = gather(bus, 1);
    let mut load = server.load(4);
    let first = ReplayedRequest {
        due: Nanos(0),
        request: 0,
    };
    load.pacing.arrivals = Arrivals::Replay(Replay::new(vec![first], Nanos(1)).unwrap());
    let error = fleet.open(&load, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("leave `--bus` or `--replay` out"), "{error}");
    assert_eq!(server.requests(), 0);
    assert_eq!(ok(&slice(&mut fleet, &server.load(4), &requests(10))), 10);
}

pub(crate) fn an_agent_of_another_build_is_rejected(bus: &impl TestBus) {
    // Method: one agent of this build and one of another, for a controller that needs two.
    let mut other = plan("other");
    other.build = "fedcba9876543210".to_owned();
    let agents = [Agent::start(bus, plan("same")), Agent::start(bus, other)];
    let timing = FleetTiming {
        join: Duration::from_secs(4),
        ..FleetTiming::default()
    };
    let error = gather_within(bus, 2, timing).err().unwrap().to_string();
    for part in [
        "1 of 2 agents",
        "agent other",
        "fedcba987654",
        "0123456789ab",
    ] {
        assert!(error.contains(part), "{error}");
    }
    agents[1].await_event("a refusal", |event| {
        matches!(event, AgentEvent::Rejected { .. })
    });
}

pub(crate) fn a_slot_is_assigned_once(bus: &impl TestBus) {
    // Method: two agents that require the first slot, and then one that requires the second.
    let in_first_slot = |name| {
        let mut agent_plan = plan(name);
        agent_plan.slot = Some(0);
        Agent::start(bus, agent_plan)
    };
    let rivals = [in_first_slot("a"), in_first_slot("b")];
    let (_third, gathered) = thread::scope(|scope| {
        let gathering = scope.spawn(|| gather(bus, 2));
        until("a refusal", || rivals.iter().any(Agent::is_rejected));
        let mut agent_plan = plan("c");
        agent_plan.slot = Some(1);
        let third = Agent::start(bus, agent_plan);
        (third, gathering.join().unwrap())
    });
    let record = gathered.fleet.fleet().unwrap();
    assert_eq!(record.agents[1].name, "c");
    assert!(["a", "b"].contains(&record.agents[0].name.as_str()));
}

pub(crate) fn a_plan_that_does_not_match_its_hash_is_refused(bus: &impl TestBus) {
    // Method: a plan with the hash of another plan, sent to an agent by hand.
    let server = Server::start();
    let _agent = Agent::several(bus, ["a"]);
    let controller = Controller::begin(bus);
    let response = controller.open(1, &server.load(2), "0000");
    assert!(
        response.contains("does not match its SHA-256"),
        "{response}"
    );
}

pub(crate) fn invalid_orders_are_refused_and_the_next_valid_one_is_executed(bus: &impl TestBus) {
    // Method: messages sent to an agent by hand: parts that do not exist, and a slice that begins
    // in years, during which the agent could not be stopped. Then an ordinary load.
    let server = Server::start();
    let _agent = Agent::several(bus, ["a"]);
    let controller = Controller::begin(bus);
    let (load, hash) = (server.load(2), crate::by_hand::hash(&server.load(2)));
    for (number, part) in [(1, [0, 0]), (2, [3, 3]), (3, [u32::MAX, 1])] {
        let response = controller.open_part(number, &load, &hash, part);
        assert!(response.contains("there is no part"), "{response}");
    }
    assert_eq!(controller.open(4, &load, &hash), "\"Accepted\"");
    let opened = controller.result(4);
    assert!(opened.contains(r#"\"standing\":2"#), "{opened}");
    let slice = |starts_ns: i64| {
        let plan = requests(10);
        serde_json::json!({"Slice": {"pool": 1, "plan": plan, "starts_ns": starts_ns}})
    };
    let response = controller.order(5, &slice(i64::MAX));
    assert!(response.contains("a slice was to begin in"), "{response}");
    assert_eq!(server.requests(), 0);
    assert_eq!(controller.order(6, &slice(0)), "\"Accepted\"");
    let result = controller.result(6);
    assert!(result.contains("Tally"), "{result}");
    assert_eq!(server.requests(), 10);
}

pub(crate) fn a_repeated_order_is_executed_once(bus: &impl TestBus) {
    // Method: the same order twice, as after a lost response; then an older order, and an order of
    // another run.
    let server = Server::start();
    let _agent = Agent::several(bus, ["a"]);
    let controller = Controller::begin(bus);
    let (load, hash) = (server.load(2), crate::by_hand::hash(&server.load(2)));
    assert_eq!(controller.open(7, &load, &hash), "\"Accepted\"");
    assert_eq!(controller.open(7, &load, &hash), "\"Accepted\"");
    let result = controller.result(7);
    assert!(
        result.contains(r#"\"standing\":2,\"opened\":2"#),
        "{result}"
    );
    let response = controller.open(6, &load, &hash);
    assert!(
        response.contains("order 6 came while order 7"),
        "{response}"
    );
    let response = controller.request_of_another_run();
    assert!(response.contains("Stranger"), "{response}");
}
