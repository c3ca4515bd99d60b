//! Peers that send small pieces without end, faster than they are received: other connections get
//! their turns, timeouts fire, and a stop is noticed.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use abx_engine::LoadPlan;
use abx_engine::schedule::ScheduleShare;
use abx_engine::testing::{
    Broadcast, Http, MessageSource, Pool, Protocol, SliceOutcome, WorkerSlice,
};
use abx_evidence::{Message, Outcome, Shape, Tally};
use abx_sys::Nanos;
use abx_twin::{Act, Hub, Network, PeerStep, Service, Sim, frame as echo, to_all};

use crate::loads::{MS, SECOND, count, plan, pool_of_steps, run};
use crate::streams::{RequestLengths, frame, pool_of_script, streams_plan};
use crate::websocket::broadcasts::broadcast_plan;
use crate::websocket::echoes::{connected, echo_plan, talking};

const CONNECTIONS: u32 = 4;
const SLICE: u64 = 100 * MS;
const TIMEOUT: u64 = 100 * MS;
/// How late an engine notices a due event while one connection takes turns of 5 ms.
const LATE: u64 = 20 * MS;
/// The least number of requests that three connections finish in a slice: each takes a few such
/// turns, since simulated peers only act between turns.
const SERVED: u64 = 15;
const SERVES: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright";
const PLAIN: &str = "HTTP/1.1 200 OK\r\n";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// How endless responses begin, how they continue, and the outcomes of their requests.
const PIECES: &[(&str, &str, Outcome)] = &[
    (CHUNKED, "1\r\nx\r\n", Outcome::Timeout),
    (CHUNKED, "11\r\ndata: 123456789\n\n\r\n", Outcome::Timeout),
    ("HTTP/1.1 200 OK\r\n\r\n", "x", Outcome::Timeout),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 9000000000000000\r\n\r\n",
        "x",
        Outcome::Timeout,
    ),
    ("", "\r\n", Outcome::HeadTooLarge),
    (PLAIN, "A: b\r\n", Outcome::HeadTooLarge),
    (PLAIN, "A", Outcome::HeadTooLarge),
    (
        "",
        "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n",
        Outcome::Malformed,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;",
        "x",
        Outcome::Malformed,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
        "A: b\r\n",
        Outcome::Malformed,
    ),
];

/// A pool whose first connection gets an endless response; the other connections are served.
fn pool(head: &str, piece: &str) -> Pool<Sim, Http> {
    let mut plan = plan(CONNECTIONS, b"right", 1);
    plan.timeout = Duration::from_nanos(TIMEOUT);
    let bytes = plan.requests[0].request.encode(true).unwrap().len();
    let (head, piece): (Arc<[u8]>, Arc<[u8]>) = (head.as_bytes().into(), piece.as_bytes().into());
    let script = move |number: usize| {
        let receive = [PeerStep::Await(bytes), PeerStep::Work];
        let response = match number {
            0 => [
                PeerStep::Send(Arc::clone(&head)),
                PeerStep::Flood(Arc::clone(&piece)),
            ],
            _ => [PeerStep::Send(SERVES.into()), PeerStep::Again],
        };
        receive.into_iter().chain(response).collect()
    };
    let mut pool = pool_of_steps(network(), plan, Box::new(script));
    pool.connect_all(&AtomicBool::new(false));
    pool
}

/// Each request takes a millisecond of work.
fn network() -> Network {
    Network {
        service: Service::Constant(Nanos(MS)),
        ..Network::faultless(1)
    }
}

/// Asserts that a slice from `start` ended in time, that requests failed with this outcome only,
/// and that the other connections were served meanwhile.
fn assert_shared(ran: &SliceOutcome, start: Nanos, tally: &Tally, outcome: Outcome, case: &str) {
    let mut outcomes = tally.outcomes.clone();
    outcomes.merge(&tally.discarded);
    let failed = outcomes.count(outcome);
    assert!(
        ran.end.since(start).0 <= SLICE + TIMEOUT + LATE,
        "{case}: {ran:?}"
    );
    assert!(
        failed > 0 && outcomes.failed() == failed,
        "{case}: {outcomes:?}"
    );
    assert!(outcomes.ok() >= SERVED, "{case}: {outcomes:?}");
}

/// Stops a slice of a second after a quarter of [`SLICE`], and asserts that this was noticed.
fn assert_stops<C: Protocol>(pool: &mut Pool<Sim, C>, case: &str) {
    let (start, stop) = (pool.now(), Arc::new(AtomicBool::new(false)));
    pool.io.stops_at(start.plus(Nanos(SLICE / 4)), &stop);
    let slice = WorkerSlice {
        start,
        end: start.plus(Nanos(SECOND)),
        counted_from: start,
        requests_max: u64::MAX,
        share: ScheduleShare::WHOLE,
        course: None,
    };
    pool.run(slice, &stop);
    let took = pool.now().since(start).0;
    assert!(took <= SLICE / 4 + LATE, "{case}: {took} ns");
}

#[test]
fn an_endless_response_leaves_other_connections_their_turns_and_times_out() {
    // Method: one of four connections gets each kind of endless response; virtual time passes while
    // bytes are received. The other connections are served, and the slice ends in time.
    for (head, piece, outcome) in PIECES {
        let mut pool = pool(head, piece);
        let start = pool.now();
        let ran = run(&mut pool, SLICE, 0);
        assert_shared(&ran, start, pool.tally(), *outcome, piece);
    }
}

#[test]
fn a_stop_is_noticed_while_a_response_does_not_end() {
    // Method: the kinds of endless responses that only a timeout ends.
    let endless = PIECES
        .iter()
        .filter(|(_, _, outcome)| *outcome == Outcome::Timeout);
    for (head, piece, _) in endless {
        assert_stops(&mut pool(head, piece), piece);
    }
}

#[test]
fn endless_frames_of_http2_end_in_time() {
    // Method: one of four connections gets an endless body in frames of one byte, or frames that
    // are part of no response, of which 10,000 are too many.
    for (piece, outcome) in [
        (frame(0, 0, 1, b"x"), Outcome::Timeout),
        (frame(0, 8, 1, b"\x01x\0"), Outcome::Timeout),
        (frame(0, 0, 1, b""), Outcome::Malformed),
        (frame(6, 0, 0, &[0; 8]), Outcome::Malformed),
        (frame(4, 0, 0, b""), Outcome::Malformed),
        (frame(8, 0, 0, &[0, 0, 0, 1]), Outcome::Malformed),
        (frame(9, 0, 1, b""), Outcome::Malformed),
        (frame(0xfa, 0, 0, b""), Outcome::Malformed),
    ] {
        let pool = || {
            let mut plan = streams_plan(CONNECTIONS, b"right", 1, 1);
            plan.timeout = Duration::from_nanos(TIMEOUT);
            let lengths = RequestLengths::of(&plan);
            let serves = lengths.steps(1_000, |place| {
                let stream = 2 * place + 1;
                let response = [frame(1, 4, stream, &[0x88]), frame(0, 1, stream, b"right")];
                vec![PeerStep::Work, PeerStep::Send(response.concat().into())]
            });
            let floods = lengths.steps(1, |_| {
                let head = frame(1, 4, 1, &[0x88]);
                let flood = PeerStep::Flood(piece.as_slice().into());
                vec![PeerStep::Work, PeerStep::Send(head.into()), flood]
            });
            let script = move |number: usize| match number {
                0 => floods.clone(),
                _ => serves.clone(),
            };
            pool_of_script(network(), plan, Box::new(script))
        };
        let mut loaded = pool();
        let start = loaded.now();
        let ran = run(&mut loaded, SLICE, 0);
        assert_shared(&ran, start, loaded.tally(), outcome, &format!("{piece:?}"));
        if outcome == Outcome::Timeout {
            assert_stops(&mut pool(), &format!("{piece:?}"));
        }
    }
}

/// Empty WebSocket frames that are sent without end, after the bytes before them.
const FRAMES: [(&[u8], &[u8]); 3] = [
    // Pongs.
    (&[], &[0x8a, 0]),
    // The parts of a message, binary and text.
    (&[0x02, 0], &[0, 0]),
    (&[0x01, 0], &[0, 0]),
];

#[test]
fn endless_frames_of_websocket_end_in_time() {
    // Method: one of four connections gets endless pongs or empty parts of a message instead of
    // the echo of its first message.
    for (begins, piece) in FRAMES {
        let pool = || {
            let mut plan = echo_plan(CONNECTIONS, false, 20, 1);
            plan.timeout = Duration::from_nanos(TIMEOUT);
            let hub = Hub::new(move |message| match message.number {
                0 => vec![
                    Act::Send(message.from, begins.to_vec(), Nanos(0)),
                    Act::Flood(message.from, piece),
                ],
                _ => vec![Act::Send(message.from, echo(&message), Nanos(MS))],
            });
            connected(network(), &plan, hub)
        };
        let mut loaded = pool();
        let start = loaded.now();
        let ran = run(&mut loaded, SLICE, 0);
        assert_shared(
            &ran,
            start,
            loaded.tally(),
            Outcome::Timeout,
            &format!("{piece:?}"),
        );
        assert_stops(&mut pool(), &format!("{piece:?}"));
    }
}

#[test]
fn held_connections_may_receive_endless_bytes() {
    // Method: a slice in which nothing is sent, and the opening after it, while one connection
    // gets pongs, parts of a message or complete messages without end.
    let messages: (&[u8], &[u8]) = (&[], &[0x82, 0]);
    for (begins, piece) in FRAMES.into_iter().chain([messages]) {
        let mut plan = echo_plan(CONNECTIONS, true, 10, 1);
        plan.shape = Shape::Connections { hold_ns: 0 };
        let mut pool = connected(network(), &plan, Hub::echoing());
        pool.io.hub_sends(1, begins.to_vec());
        pool.io.hub_floods(1, piece);
        let start = pool.now();
        let ran = run(&mut pool, SLICE, 0);
        assert!(ran.end.since(start).0 <= SLICE + LATE, "{piece:?}: {ran:?}");
        pool.connect_all(&AtomicBool::new(false));
        let took = pool.now().since(ran.end).0;
        assert!(took <= SLICE, "{piece:?}: {took} ns");
    }
}

/// The tally of a broadcast to three listeners, one of which also gets `piece` without end.
fn flooded_broadcast(piece: &'static [u8]) -> Tally {
    let mut plan: LoadPlan = broadcast_plan(3);
    let message = Message::text(60);
    plan.shape = Shape::Broadcast(message);
    let hub = Hub::new(move |received| {
        let mut acts = to_all(&received);
        if received.number == 0 {
            acts.push(Act::Flood(1, piece));
        }
        acts
    });
    let pool = talking(network(), &plan, hub);
    let mut broadcast = Broadcast::new(pool, MessageSource::new(message, plan.seed));
    broadcast.pool_mut().connect_all(&AtomicBool::new(false));
    let start = broadcast.pool_mut().now();
    let slice = WorkerSlice {
        start,
        end: start.plus(Nanos(SLICE)),
        counted_from: start,
        requests_max: u64::MAX,
        share: ScheduleShare::WHOLE,
        course: None,
    };
    let ran = broadcast.run(slice, &AtomicBool::new(false));
    let most = SLICE + plan.timeout_ns() + LATE;
    assert!(ran.end.since(start).0 <= most, "{piece:?}: {ran:?}");
    broadcast.pool().tally().clone()
}

#[test]
fn a_broadcast_ends_although_a_listener_gets_messages_without_end() {
    // Method: endless pongs, and endless messages that no speaker has sent, after the first
    // broadcast. The connection's later bytes never come, so later broadcasts time out.
    let pongs = flooded_broadcast(&[0x8a, 0]);
    assert_eq!((pongs.outcomes.ok(), pongs.out_of_order), (1, 0));
    let messages = flooded_broadcast(&[0x81, 0]);
    assert_eq!(messages.outcomes.ok(), 1);
    assert!(messages.out_of_order > 1_000, "{}", messages.out_of_order);
    for tally in [pongs, messages] {
        assert!(count(&tally, Outcome::Timeout) > 0, "{:?}", tally.outcomes);
    }
}
