//! Controllers and agents that violate the protocol.

use std::thread;
use std::time::{Duration, Instant};

use abx_engine::LoadPlan;
use abx_evidence::{CoursePlan, Message, MessageKind, Shape, TimelinePlan};
use abx_fleet::{AgentEvent, FleetTiming};
use serde_json::{Value, json};

use crate::TestBus as _;
use crate::agents::{Agent, BUILD, SHORT, gather_within, plan};
use crate::by_hand::{Controller, hash};
use crate::local_bus::LocalTestBus;
use crate::server::Server;

const SHORT_JOIN: FleetTiming = FleetTiming {
    join: Duration::from_secs(3),
    ..SHORT
};

#[test]
fn an_agent_rejects_runs_whose_names_leave_its_folder() {
    // Method: runs whose names are paths or topics, and slots that do not exist. The agent repeats
    // its request after each, and accepts the valid slot.
    let bus = LocalTestBus::start();
    let server = Server::start();
    let joined = |run: &str, slot: usize, slots: usize| json!({"Joined": {"run": run, "slot": slot, "slots": slots}});
    let responses = [
        joined("/../../x", 0, 1),
        joined("..", 0, 1),
        joined("a.b", 0, 1),
        joined(">", 0, 1),
        joined("", 0, 1),
        joined("r", 1, 1),
        joined("r", usize::MAX, usize::MAX),
        joined("r", 0, 1),
    ];
    let agent = Agent::start(&bus, plan("a"));
    let controller = Controller::responding(&bus, &responses);
    let load = server.load(1);
    assert_eq!(controller.open(1, &load, &hash(&load)), "\"Accepted\"");
    agent.await_event("a reason", |event| {
        matches!(event, AgentEvent::Rejected { why } if why.contains("letters, digits and `-`"))
    });
}

/// Plans that are valid except for one quantity, each with its limit.
fn too_large(server: &Server) -> [(LoadPlan, &'static str); 6] {
    let message = Message {
        bytes: u32::MAX,
        kind: MessageKind::Binary,
    };
    let timeline = TimelinePlan {
        bucket_ns: 1,
        delayed_after_ns: None,
    };
    let change = |set: &dyn Fn(&mut LoadPlan)| {
        let mut load = server.load(1);
        set(&mut load);
        load
    };
    [
        (
            change(&|load| load.pipeline = u32::MAX),
            "at most 1,048,576",
        ),
        (
            change(&|load| load.connections = u32::MAX),
            "at most 1,000,000",
        ),
        (
            change(&|load| load.shape = Shape::Echo(message)),
            "at most 16,777,216",
        ),
        (
            change(&|load| load.shape = Shape::Broadcast(message)),
            "at most 16,777,216",
        ),
        (
            change(&|load| load.buffer_bytes = Some(u32::MAX)),
            "at most 1,073,741,824",
        ),
        (
            change(&|load| load.timeline = Some(timeline)),
            "at least 1,000,000 ns",
        ),
    ]
}

#[test]
fn loads_that_would_exhaust_the_memory_of_an_agent_are_refused_with_the_limit() {
    // Method: each quantity far beyond its limit, in an otherwise valid plan; then an ordinary
    // plan with slices beyond their limits.
    let bus = LocalTestBus::start();
    let server = Server::start();
    let _agent = Agent::start(&bus, plan("a"));
    let controller = Controller::begin(&bus);
    let cases = too_large(&server);
    for (number, (load, limit)) in (1..).zip(&cases) {
        let response = controller.open(number, load, &hash(load));
        assert!(response.contains("Refused"), "{response}");
        assert!(response.contains(limit), "{response}");
    }
    let load = server.load(1);
    assert_eq!(controller.open(10, &load, &hash(&load)), "\"Accepted\"");
    assert!(controller.result(10).contains("Opened"));
    let course = CoursePlan {
        interval_ns: 1,
        is_told: false,
    };
    let slices = [
        (
            json!({"AfterRequests": 1}),
            json!(course),
            "at least 1,000,000 ns",
        ),
        (
            json!({"AfterRequests": u64::MAX}),
            Value::Null,
            "1,000,000,000,000 requests",
        ),
        (
            json!({"AfterNs": u64::MAX}),
            Value::Null,
            "2,678,400 seconds",
        ),
    ];
    for (number, (end, course, limit)) in (11..).zip(slices) {
        let slice = json!({"end": end, "discard_ns": 0, "course": course});
        let order = json!({"Slice": {"pool": 1, "plan": slice, "starts_ns": 0}});
        let response = controller.order(number, &order);
        assert!(
            response.contains("Refused") && response.contains(limit),
            "{response}"
        );
    }
    let response = controller.open(20, &load, &hash(&load));
    assert!(response.contains("pool 1 is already open"), "{response}");
}

#[test]
fn opened_connections_count_as_requests() {
    // Method: one request per quarter of an hour is allowed. The first connection opens at once,
    // and the second one, after a close, waits.
    let bus = LocalTestBus::start();
    let server = Server::start();
    let mut slow = plan("slow");
    slow.limits.rate_max = Some("0.001".parse().unwrap());
    let _agent = Agent::start(&bus, slow);
    let controller = Controller::begin(&bus);
    let mut load = server.load(1);
    load.shape = Shape::Connections { hold_ns: 1_000_000 };
    load.requests[0].expect.status = 101_u16.into();
    load.timeout = Duration::from_nanos(1_000_000);
    let hash = hash(&load);
    assert_eq!(controller.open(1, &load, &hash), "\"Accepted\"");
    assert!(controller.result(1).contains("Opened"));
    assert_eq!(
        controller.order(2, &json!({"Close": {"pool": 1}})),
        "\"Accepted\""
    );
    assert!(controller.result(2).contains("Done"));
    assert_eq!(controller.open(3, &load, &hash), "\"Accepted\"");
    for _ in 0..3 {
        let state = controller.state(3);
        assert!(state.contains("Working"), "{state}");
    }
    assert_eq!(server.requests(), 1);
}

#[test]
fn escape_codes_in_the_name_and_build_of_an_agent_are_printed_escaped() {
    // Method: an agent whose name and build clear the screen and print a line.
    let bus = LocalTestBus::start();
    let mut hostile = plan("\u{1b}[2J\r\nabx: fake");
    hostile.build = "\u{1b}]0;x\u{7}".to_owned();
    let _agent = Agent::start(&bus, hostile);
    let error = gather_within(&bus, 1, SHORT_JOIN)
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains(r"\u{1b}[2J\u{d}\u{a}abx: fake"), "{error}");
    assert!(!error.contains(char::is_control), "{error:?}");
}

#[test]
fn an_agent_of_another_protocol_learns_the_version_of_the_controller() {
    // Method: an introduction sent by hand, of the same build, until the controller responds.
    let bus = LocalTestBus::start();
    let (connection, _cut) = bus.connect();
    let introduction = json!({
        "protocol": 7, "id": "user.x", "name": "x", "slot": null, "build": BUILD, "threads": 1,
        "kernel": null, "cpu_model": null, "loopback": null,
    });
    let introduction = serde_json::to_vec(&introduction).unwrap();
    thread::scope(|scope| {
        let gathering = scope.spawn(|| gather_within(&bus, 1, SHORT_JOIN).err().unwrap());
        let deadline = Instant::now() + Duration::from_secs(60);
        let response = loop {
            let result = connection.request(
                "abx.v1.join.user.x",
                introduction.clone(),
                Duration::from_secs(1),
            );
            match result {
                Ok(response) => break String::from_utf8(response).unwrap(),
                Err(_) => assert!(Instant::now() < deadline),
            }
        };
        let error = gathering.join().unwrap().to_string();
        for text in [response, error] {
            assert!(text.contains("it uses protocol 7"), "{text}");
            assert!(!text.contains("another build"), "{text}");
        }
    });
}
