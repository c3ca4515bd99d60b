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

/// The time of a round trip.
const RESPONSE_NS: u64 = 50_000;

/// A load of this many connections, each of which sends messages of `bytes` and gets them back.
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

/// A pool of WebSockets on this server.
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
    // Method: many seeds, each with its own mix of all faults, with messages that are skipped and
    // messages that are read, pipelined and not. Every message must have one final outcome, and no
    // correct echo counts as a wrong one.
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
    // Method: echoes that are changed in one way: an extra byte, a different byte, or another kind.
    let longer = |message: &mut HubMessage| message.payload.push(b'x');
    let other = |message: &mut HubMessage| message.payload[50] ^= 1;
    let kind = |message: &mut HubMessage| {
        message.kind = abx_wire::websocket::MessageKind::Binary;
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
        let hub = Hub::new(move |mut message| {
            change(&mut message);
            vec![Act::Send(message.from, frame(&message), Nanos(0))]
        });
        let mut pool = connected(Network::faultless(1), &plan, hub);
        run_requests(&mut pool, 20);
        assert_eq!(count(pool.tally(), outcome), 20, "{outcome:?}");
    }
}

#[test]
fn large_binary_echoes_are_left_in_the_kernel_and_texts_are_read() {
    // Method: messages of 40,000 bytes, binary and text, never hashed and always hashed. After the
    // first receive, everything except the last byte is skipped.
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
    // Method: each echo comes in two fragments with a ping between them, while sends are cut short
    // anywhere. All echoes are correct and every ping has its pong; the server would panic at a
    // pong inside a message.
    let hub = Hub::new(|message| {
        let unsplit = frame(&message);
        let (first, second) = message.payload.split_at(40);
        let mut bytes = vec![0x02, 40];
        bytes.extend_from_slice(first);
        bytes.extend_from_slice(&[0x89, 2, b'h', b'i', 0x80, 60]);
        bytes.extend_from_slice(second);
        assert_eq!(unsplit.len() + 6, bytes.len());
        vec![Act::Send(message.from, bytes, Nanos(0))]
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
    let hub = Hub::new(|message| match message.number % 5 {
        4 => vec![Act::Send(message.from, vec![0x88, 2, 3, 0xE8], Nanos(0))],
        _ => vec![Act::Send(message.from, frame(&message), Nanos(0))],
    });
    let plan = echo_plan(1, false, 30, 2);
    let mut pool = connected(Network::faultless(3), &plan, hub);
    run_requests(&mut pool, 100);
    let tally = pool.tally();
    assert_eq!(tally.outcomes.ok(), 100);
    // The connection closes after every four echoes, except after the last four.
    assert_eq!(count(tally, Outcome::IdleClose), 24);
    assert_eq!(tally.connects, 24);
}

#[test]
fn a_server_that_closes_inside_an_echo_has_failed() {
    // Method: a part of the fifth echo and then a close: the echo has begun, so nothing is sent
    // again.
    let hub = Hub::new(|message| {
        let mut bytes = frame(&message);
        if message.number != 4 {
            return vec![Act::Send(message.from, bytes, Nanos(0))];
        }
        bytes.truncate(20);
        let part = Act::Send(message.from, bytes, Nanos(0));
        vec![part, Act::Close(message.from, Nanos(1))]
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
    // Method: one message, whose echo comes twice at once.
    let hub = Hub::new(|message| {
        let echoes = frame(&message).repeat(2);
        vec![Act::Send(message.from, echoes, Nanos(0))]
    });
    let mut plan = echo_plan(1, false, 30, 2);
    plan.verify_every = 1;
    let mut pool = connected(Network::faultless(3), &plan, hub);
    run_requests(&mut pool, 1);
    // The second echo is unrequested, so the first one is not correct either.
    let tally = pool.tally();
    assert_eq!((tally.outcomes.ok(), pool.standing()), (0, 0));
    assert_eq!(count(tally, Outcome::Malformed), 1);
}

#[test]
fn an_echo_that_breaks_the_rules_is_not_sent_again() {
    // Method: every fifth response is a frame with reserved bits, or an empty echo that comes
    // twice. As with an idle close, no payload came and the connection had correct responses
    // before; but a peer that sends something wrong has failed.
    let reserved = |echo: Vec<u8>| [&[echo[0] | 0x70], &echo[1..]].concat();
    let twice = |echo: Vec<u8>| echo.repeat(2);
    type Break = fn(Vec<u8>) -> Vec<u8>;
    let breaks: [(u32, Break); 3] = [(30, reserved), (0, reserved), (0, twice)];
    for (bytes, wrong) in breaks {
        let hub = Hub::new(move |message| {
            let echo = frame(&message);
            let response = match message.number % 5 {
                4 => wrong(echo),
                _ => echo,
            };
            vec![Act::Send(message.from, response, Nanos(0))]
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
    // Method: responses other than a correct 101, and silence until the timeout.
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
    // Method: 10 connections held for a second. The server sends a ping on one and closes another
    // before the slice.
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
    // Method: on one connection so many empty pings at once that their pongs of six bytes exceed
    // 64 KiB, and on another connection fewer, each of which gets its pong.
    let mut plan = echo_plan(2, true, 10, 1);
    plan.shape = Shape::Connections { hold_ns: 0 };
    let mut pool = connected(Network::faultless(1), &plan, Hub::echoing());
    pool.io.hub_sends(0, [0x89, 0].repeat(20_000));
    pool.io.hub_sends(1, [0x89, 0].repeat(1_000));
    run(&mut pool, SECOND, 0);
    assert_eq!(pool.standing(), 1);
    assert_eq!(pool.io.hub.as_ref().unwrap().pongs, 1_000);
}
