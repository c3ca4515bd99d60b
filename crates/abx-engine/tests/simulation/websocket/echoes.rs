//! WebSocket echoes and held connections over the simulated back end.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use abx_engine::LoadPlan;
use abx_engine::schedule::Arrivals;
use abx_engine::testing::{Pool, Prepared, WebSocket};
use abx_evidence::{Message, Outcome, Shape};
use abx_sys::Nanos;
use abx_twin::{Act, Hub, HubMessage, Network, NetworkFaults, Service, Sim, frame};

use crate::loads::{MS, SECOND, count, plan, run, run_requests};

/// There and back.
const RESPONSE_NS: u64 = 50_000;

/// A load of this many connections that send `bytes` and get them back.
pub(crate) fn echo_plan(connections: u32, is_text: bool, bytes: u32, seed: u64) -> LoadPlan {
    let mut plan = plan(connections, b"", seed);
    plan.requests[0].expect.status = 101_u16.into();
    plan.shape = Shape::Echo(if is_text {
        Message::text(bytes)
    } else {
        Message::binary(bytes)
    });
    plan
}

/// A pool of WebSockets on a server that follows its rule.
pub(crate) fn talking(network: Network, plan: &LoadPlan, hub: Hub) -> Pool<Sim, WebSocket> {
    let mut sim = Sim::new(network, Box::new(|_| Vec::new()));
    sim.hub = Some(hub);
    let Prepared {
        plan,
        encoded,
        opening,
        ..
    } = Prepared::of(plan).unwrap();
    let opening = opening.expect("a WebSocket is opened");
    let websocket = WebSocket::new(opening, &plan, 0);
    let connections = plan.connections as usize;
    Pool::new(sim, websocket, plan, encoded, 0, connections)
}

pub(crate) fn connected(network: Network, plan: &LoadPlan, hub: Hub) -> Pool<Sim, WebSocket> {
    let mut pool = talking(network, plan, hub);
    let total = plan.connections as usize;
    assert_eq!(pool.connect_all(&AtomicBool::new(false)), (total, total));
    pool
}

#[test]
fn nothing_is_lost_or_counted_twice_with_all_faults() {
    // Method: many seeds, each with its own mix of all faults, messages that are
    // skipped and others, pipelined and not. As many are sent as there must be final
    // outcomes, and no right echo is taken for a wrong one.
    let mut seen = abx_evidence::Outcomes::default();
    for seed in 0..60 {
        let mut network = Network::faultless(seed + 1);
        network.service = Service::Exponential(Nanos(200_000));
        network.faults = NetworkFaults {
            refused: seed % 7 * 10,
            short_send: 100,
            split: 400,
            reset: seed % 5 * 8,
            idle_close: seed % 3 * 40,
            slow: 50,
            silence: 0,
            reorder: 500,
        };
        let bytes = [87, 40_000][usize::try_from(seed % 2).unwrap()];
        let mut plan = echo_plan(8, seed % 4 == 0, bytes, seed);
        plan.timeout = Duration::from_nanos(50 * MS);
        plan.pipeline = [1, 5][usize::try_from(seed % 3 / 2).unwrap()];
        let mut pool = talking(network, &plan, Hub::echoing());
        pool.connect_all(&AtomicBool::new(false));
        let ran = run_requests(&mut pool, 400);
        let tally = pool.tally();
        let total = tally.outcomes.sent() - count(tally, Outcome::IdleClose);
        assert!(
            total == 400 || (ran.stopped_responding && total < 400),
            "seed {seed}: {total}"
        );
        assert_eq!(pool.in_flight(), 0, "seed {seed}");
        assert_eq!(
            tally.body_bytes,
            tally.outcomes.ok() * u64::from(bytes),
            "seed {seed}"
        );
        for wrong in [
            Outcome::Malformed,
            Outcome::WrongBody,
            Outcome::WrongLength,
            Outcome::WrongStatus,
        ] {
            assert_eq!(count(tally, wrong), 0, "seed {seed}: {wrong:?}");
        }
        seen.merge(&tally.outcomes);
    }
    for outcome in [
        Outcome::Ok,
        Outcome::Refused,
        Outcome::Reset,
        Outcome::IdleClose,
    ] {
        assert!(seen.count(outcome) > 20, "{outcome:?}: {seen:?}");
    }
}

#[test]
fn each_kind_of_wrong_echo_has_its_outcome() {
    // Method: each echo changed in one way: another kind, a byte more, another byte.
    let longer = |hub_message: &mut HubMessage| hub_message.payload.push(b'x');
    let other = |hub_message: &mut HubMessage| hub_message.payload[50] ^= 1;
    let kind = |hub_message: &mut HubMessage| {
        hub_message.kind = abx_wire::websocket::MessageKind::Binary;
    };
    type Change = fn(&mut HubMessage);
    let cases: [(Change, Outcome); 3] = [
        (longer, Outcome::WrongLength),
        (other, Outcome::WrongBody),
        (kind, Outcome::WrongBody),
    ];
    for (change, outcome) in cases {
        let mut plan = echo_plan(2, true, 100, 5);
        plan.verify_every = 1;
        let hub = Hub::new(move |mut hub_message| {
            change(&mut hub_message);
            vec![Act::Send(hub_message.from, frame(&hub_message), Nanos(0))]
        });
        let mut pool = connected(Network::faultless(1), &plan, hub);
        run_requests(&mut pool, 20);
        assert_eq!(count(pool.tally(), outcome), 20, "{outcome:?}");
    }
}

#[test]
fn large_binary_echoes_are_left_in_the_kernel_and_texts_are_read() {
    // Method: 40,000 bytes, never hashed and always, binary and text. After the
    // first receive all is skipped but the last byte.
    for (is_text, every, is_skipped) in [(false, 0, true), (false, 1, false), (true, 0, false)] {
        let mut plan = echo_plan(2, is_text, 40_000, 4);
        plan.verify_every = every;
        let mut pool = connected(Network::faultless(7), &plan, Hub::echoing());
        run_requests(&mut pool, 50);
        assert_eq!(pool.tally().outcomes.ok(), 50);
        let head = 4;
        let skipped = 50 * (40_000 - (2048 - head) - 1);
        assert_eq!(pool.io.skipped, if is_skipped { skipped } else { 0 });
        assert_eq!(pool.tally().bytes, 50 * (40_000 + head));
    }
}

#[test]
fn pings_between_frames_are_acknowledged_and_change_nothing() {
    // Method: each echo comes in two fragments with a ping between them, while sends
    // are cut short anywhere. All echoes are correct and every ping has its pong; the
    // server would panic at a pong inside a message.
    let hub = Hub::new(|hub_message| {
        let whole = frame(&hub_message);
        let (first, second) = hub_message.payload.split_at(40);
        let mut bytes = vec![0x02, 40];
        bytes.extend_from_slice(first);
        bytes.extend_from_slice(&[0x89, 2, b'h', b'i', 0x80, 60]);
        bytes.extend_from_slice(second);
        assert_eq!(whole.len() + 6, bytes.len());
        vec![Act::Send(hub_message.from, bytes, Nanos(0))]
    });
    let mut network = Network::faultless(3);
    network.faults.short_send = 500;
    network.faults.split = 500;
    let mut plan = echo_plan(3, false, 100, 2);
    plan.verify_every = 1;
    plan.pipeline = 4;
    let mut pool = connected(network, &plan, hub);
    run_requests(&mut pool, 300);
    assert_eq!(
        pool.tally().outcomes.ok(),
        300,
        "{:?}",
        pool.tally().outcomes
    );
    // The last bytes sent may still be in transit.
    let later = pool.now().plus(Nanos(SECOND));
    pool.listen(later, &AtomicBool::new(false));
    assert_eq!(pool.io.hub.as_ref().unwrap().pongs, 300);
}

#[test]
fn a_schedule_of_messages_keeps_its_times() {
    // Method: 1,000 a second for a second; each takes the way there and back.
    let mut plan = echo_plan(5, false, 100, 2);
    plan.pacing.arrivals = Arrivals::Constant {
        per_s: "1000".parse().unwrap(),
    };
    let mut pool = connected(Network::faultless(3), &plan, Hub::echoing());
    run(&mut pool, SECOND, 0);
    let tally = pool.tally();
    assert_eq!(
        (tally.outcomes.ok(), tally.unsent, tally.queued),
        (1000, 0, 0)
    );
    assert_eq!(tally.response_ns_sum, 1000 * RESPONSE_NS);
}

#[test]
fn a_server_that_closes_has_the_message_sent_again() {
    // Method: every fifth message gets a close frame as its response. The connection had
    // given whole responses, or it was new: one close is idle, the other early.
    let hub = Hub::new(|hub_message| match hub_message.number % 5 {
        4 => vec![Act::Send(
            hub_message.from,
            vec![0x88, 2, 3, 0xE8],
            Nanos(0),
        )],
        _ => vec![Act::Send(hub_message.from, frame(&hub_message), Nanos(0))],
    });
    let plan = echo_plan(1, false, 30, 2);
    let mut pool = connected(Network::faultless(3), &plan, hub);
    run_requests(&mut pool, 100);
    let tally = pool.tally();
    assert_eq!(tally.outcomes.ok(), 100);
    // Of 4 ok in a row one fifth message is not the last.
    assert_eq!(count(tally, Outcome::IdleClose), 24);
    assert_eq!(tally.connects, 24);
}

#[test]
fn a_server_that_closes_inside_an_echo_has_failed() {
    // Method: half of the fifth echo, then an end: the echo had begun, so nothing is
    // sent again.
    let hub = Hub::new(|hub_message| {
        let mut bytes = frame(&hub_message);
        if hub_message.number != 4 {
            return vec![Act::Send(hub_message.from, bytes, Nanos(0))];
        }
        bytes.truncate(20);
        let half = Act::Send(hub_message.from, bytes, Nanos(0));
        vec![half, Act::Close(hub_message.from, Nanos(1))]
    });
    let plan = echo_plan(1, false, 30, 2);
    let mut pool = connected(Network::faultless(3), &plan, hub);
    run_requests(&mut pool, 10);
    let tally = pool.tally();
    assert_eq!((tally.outcomes.ok(), tally.outcomes.sent()), (9, 10));
    assert_eq!(count(tally, Outcome::EarlyClose), 1);
}

#[test]
fn an_unrequested_echo_costs_the_connection() {
    // Method: each echo comes twice at once, and one message is sent.
    let hub = Hub::new(|hub_message| {
        vec![Act::Send(
            hub_message.from,
            frame(&hub_message).repeat(2),
            Nanos(0),
        )]
    });
    let mut plan = echo_plan(1, false, 30, 2);
    plan.verify_every = 1;
    let mut pool = connected(Network::faultless(3), &plan, hub);
    run_requests(&mut pool, 1);
    // The second one was unrequested, so the first is no correct response either.
    let tally = pool.tally();
    assert_eq!((tally.outcomes.ok(), pool.standing()), (0, 0));
    assert_eq!(count(tally, Outcome::Malformed), 1);
}

#[test]
fn an_echo_that_breaks_the_rules_is_not_sent_again() {
    // Method: every fifth response is a frame with reserved bits, or an empty echo that
    // comes twice. No byte of a payload came, and the connection had given whole
    // responses: a peer that sent something wrong has failed, and not closed.
    let reserved = |echo: Vec<u8>| [&[echo[0] | 0x70], &echo[1..]].concat();
    let twice = |echo: Vec<u8>| echo.repeat(2);
    type Break = fn(Vec<u8>) -> Vec<u8>;
    let breaks: [(u32, Break); 3] = [(30, reserved), (0, reserved), (0, twice)];
    for (bytes, wrong) in breaks {
        let hub = Hub::new(move |hub_message| {
            let echo = frame(&hub_message);
            let response = match hub_message.number % 5 {
                4 => wrong(echo),
                _ => echo,
            };
            vec![Act::Send(hub_message.from, response, Nanos(0))]
        });
        let mut pool = connected(Network::faultless(3), &echo_plan(1, false, bytes, 2), hub);
        run_requests(&mut pool, 100);
        let tally = pool.tally();
        assert_eq!(count(tally, Outcome::Malformed), 20, "{bytes} bytes");
        assert_eq!((tally.outcomes.ok(), tally.outcomes.sent()), (80, 100));
    }
}

#[test]
fn a_handshake_that_fails_is_an_outcome() {
    // Method: each response that is no right 101, and silence until the time is out.
    for (response, outcome) in [
        (
            &b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"[..],
            Outcome::WrongStatus,
        ),
        (b"HTTP/1.1 101 Yes\r\n\r\n", Outcome::Malformed),
        (b"SSH-2.0\r\n\r\n", Outcome::Malformed),
        (b"", Outcome::Timeout),
    ] {
        let mut plan = echo_plan(3, true, 10, 1);
        plan.timeout = Duration::from_nanos(100 * MS);
        let mut pool = talking(Network::faultless(1), &plan, Hub::refusing(response));
        assert_eq!(pool.connect_all(&AtomicBool::new(false)), (0, 0));
        assert_eq!(pool.connect_failures.count(outcome), 3, "{outcome:?}");
        run_requests(&mut pool, 100);
        let tally = pool.tally();
        assert!(count(tally, outcome) >= 3, "{:?}", tally.outcomes);
        assert_eq!(count(tally, outcome), tally.outcomes.sent());
    }
}

#[test]
fn held_connections_send_nothing_except_pongs() {
    // Method: 10 connections held for a second; the server receives nothing, so it
    // has no occasion to ping: the pings are in the first slice's way.
    let mut plan = echo_plan(10, true, 10, 1);
    plan.shape = Shape::Connections { hold_ns: 0 };
    let mut pool = connected(Network::faultless(1), &plan, Hub::echoing());
    let start = pool.now();
    pool.io.hub_sends(3, vec![0x89, 0]);
    pool.io.hub_closes(5);
    let ran = run(&mut pool, SECOND, 0);
    assert_eq!(ran.end, start.plus(Nanos(SECOND)));
    assert_eq!((pool.standing(), pool.tally().outcomes.sent()), (9, 0));
    assert_eq!(pool.io.hub.as_ref().unwrap().pongs, 1);
    assert_eq!(pool.connect_all(&AtomicBool::new(false)), (10, 1));
}

#[test]
fn a_flood_of_pings_costs_the_connection_and_no_more_memory() {
    // Method: empty pings at once whose pongs of six bytes are more than 64 KiB
    // together, and on another connection fewer of them, each of which gets its pong.
    let mut plan = echo_plan(2, true, 10, 1);
    plan.shape = Shape::Connections { hold_ns: 0 };
    let mut pool = connected(Network::faultless(1), &plan, Hub::echoing());
    pool.io.hub_sends(0, [0x89, 0].repeat(20_000));
    pool.io.hub_sends(1, [0x89, 0].repeat(1_000));
    run(&mut pool, SECOND, 0);
    assert_eq!(pool.standing(), 1);
    assert_eq!(pool.io.hub.as_ref().unwrap().pongs, 1_000);
}
