//! WebSocket: echoes, broadcasts and held connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use abx_engine::{EngineError, LoadPlan, ProbeError, WebSocketResponse, payload, probe_websocket};
use abx_evidence::{Connections, Message, Outcome, Shape};
use abx_wire::websocket::{Close, FragmentPlace, Server};

use crate::peers::peer::Peer;
use crate::peers::talker::{ReceivedMessage, accept, echo, room, talking};
use crate::{engine, identity, load, outcomes, requests, run, span_ms};

const TEXT: Message = Message::text(300);

/// A load of this shape over two connections.
fn websockets(address: SocketAddr, shape: Shape) -> LoadPlan {
    let mut plan = load(address, 2);
    plan.shape = shape;
    plan.requests[0].expect.status = 101_u16.into();
    plan
}

fn probe(peer: &Peer, message: Option<Message>) -> Result<WebSocketResponse, ProbeError> {
    let request = load(peer.address(), 1).requests[0].request.clone();
    let limit = Duration::from_secs(30);
    probe_websocket(peer.address(), None, &request, message, 9, limit)
}

#[test]
fn every_echo_is_counted_to_the_byte() {
    // Method: text and binary messages with every length of a frame's head, with and without
    // pipelining. The bytes are those of the received frames. The longest message is skipped if it
    // is not hashed.
    for (is_text, bytes, pipeline, head, every) in [
        (true, 0, 1, 2, 1),
        (true, 125, 1, 2, 1),
        (false, 300, 8, 4, 1),
        (false, 70_000, 1, 10, 1),
        (false, 70_000, 2, 10, 0),
    ] {
        let peer = talking(echo);
        let message = if is_text {
            Message::text(bytes)
        } else {
            Message::binary(bytes)
        };
        let mut plan = websockets(peer.address(), Shape::Echo(message));
        plan.pipeline = pipeline;
        plan.verify_every = every;
        let slice = run(1, &plan, &requests(40));
        assert_eq!(outcomes(&slice), [(Outcome::Ok, 40)], "{bytes} bytes");
        assert_eq!(slice.tally.bytes, 40 * u64::from(bytes + head));
        assert_eq!(slice.tally.body_bytes, 40 * u64::from(bytes));
        assert_eq!(slice.tally.hashed, u64::from(every) * 40);
        assert_eq!(slice.tally.connects, 0);
    }
}

#[test]
fn fragments_and_pings_between_them_make_one_echo() {
    // Method: a peer that sends each echo in two fragments with a ping between them.
    let peer = talking(
        |server: &mut Server, message: ReceivedMessage, out: &mut Vec<u8>| {
            let (first, second) = message.payload.split_at(message.number % 300);
            let result = server.send_fragment(message.kind, first, FragmentPlace::Inner, out);
            result
                .and_then(|()| server.ping(b"there?", out))
                .and_then(|()| server.send_fragment(message.kind, second, FragmentPlace::Last, out))
                .is_ok()
        },
    );
    let mut plan = websockets(peer.address(), Shape::Echo(TEXT));
    plan.pipeline = 3;
    let slice = run(2, &plan, &requests(400));
    assert_eq!(outcomes(&slice), [(Outcome::Ok, 400)]);
}

#[test]
fn a_wrong_echo_is_not_correct() {
    // Method: echoes with one byte changed, and echoes without their last byte.
    let other = |server: &mut Server, mut message: ReceivedMessage, out: &mut Vec<u8>| {
        message.payload[7] ^= 1;
        echo(server, message, out)
    };
    let shorter = |server: &mut Server, mut message: ReceivedMessage, out: &mut Vec<u8>| {
        message.payload.pop();
        echo(server, message, out)
    };
    for (peer, outcome) in [
        (talking(other), Outcome::WrongBody),
        (talking(shorter), Outcome::WrongLength),
    ] {
        let plan = websockets(peer.address(), Shape::Echo(TEXT));
        let slice = run(1, &plan, &requests(20));
        assert_eq!(outcomes(&slice), [(outcome, 20)]);
    }
}

#[test]
fn a_refused_handshake_is_an_outcome_of_a_load_and_a_response_to_a_probe() {
    // Method: a peer that responds to every handshake with 503.
    let peer = Peer::responding(b"HTTP/1.1 503 Busy\r\nServer: full\r\nContent-Length: 0\r\n\r\n");
    let plan = websockets(peer.address(), Shape::Echo(TEXT));
    let mut engine = engine(1);
    let (pool, report) = engine.open(&plan).unwrap();
    assert_eq!((report.standing, report.opened), (0, 0));
    assert_eq!(report.failures.count(Outcome::WrongStatus), 2);
    let slice = engine.slice(pool, &requests(100)).unwrap();
    assert!(slice.stopped_responding);
    let failed = slice.tally.outcomes.count(Outcome::WrongStatus);
    assert_eq!((failed > 0, failed), (true, slice.tally.outcomes.sent()));

    let response = probe(&peer, Some(TEXT)).unwrap();
    assert_eq!((response.status, response.echo), (503, None));
    assert_eq!(response.head_fields.server.as_deref(), Some("full"));
}

#[test]
fn an_echo_is_known_by_its_payload() {
    // Method: a correct echo has the identity of the payload that follows from plan and seed;
    // without a message the probe ends after the handshake.
    let peer = talking(echo);
    let response = probe(&peer, Some(TEXT)).unwrap();
    let echo = response.echo.unwrap();
    assert_eq!((response.status, echo.is_text), (101, true));
    assert_eq!(echo.body, identity(&payload(TEXT, 9)));
    let opened = probe(&peer, None).unwrap();
    assert_eq!((opened.status, opened.echo), (101, None));
}

#[test]
fn a_websocket_that_breaks_off_is_a_fault() {
    // Method: a close frame instead of the echo, an end without a close frame, and no HTTP.
    let closing = talking(
        |server: &mut Server, _: ReceivedMessage, out: &mut Vec<u8>| {
            let close = Close {
                code: None,
                reason: "",
            };
            server.close(close, out).is_err()
        },
    );
    let ending = talking(|_: &mut Server, _: ReceivedMessage, _: &mut Vec<u8>| false);
    let other = Peer::responding(b"SSH-2.0\r\n\r\n");
    for peer in [closing, ending, other] {
        let response = probe(&peer, Some(TEXT));
        assert!(
            matches!(response, Err(ProbeError::WebSocket(_))),
            "{response:?}"
        );
    }
}

#[test]
fn all_connections_receive_each_broadcast() {
    // Method: ten listeners of a room, and an engine of three threads. Each message is received ten
    // times, in a frame with a head of four bytes.
    for pipeline in [1, 4] {
        let peer = room();
        let mut plan = websockets(peer.address(), Shape::Broadcast(TEXT));
        plan.connections = 10;
        plan.pipeline = pipeline;
        let slice = run(3, &plan, &requests(50));
        assert_eq!(outcomes(&slice), [(Outcome::Ok, 50)]);
        assert_eq!((slice.tally.lost, slice.tally.out_of_order), (0, 0));
        assert_eq!(slice.tally.body_bytes, 50 * 10 * 300);
        assert_eq!(slice.tally.bytes, 50 * 10 * 304);
        assert_eq!(slice.tally.times.median_listener.count(), 50);
        let held = Connections {
            standing: 10,
            lost: 0,
        };
        assert_eq!(slice.connections, Some(held));
    }
}

#[test]
fn lost_held_connections_are_reported() {
    // Method: a server that closes every second connection after all are open.
    let are_open = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&are_open);
    let peer = Peer::start(move |mut connection| {
        let is_lost = connection.number() < 8 && connection.number() % 2 == 0;
        if accept(&mut connection).is_none() || !is_lost {
            return connection.hold();
        }
        crate::until("all connections are open", || flag.load(Ordering::SeqCst));
    });
    let mut plan = websockets(peer.address(), Shape::Connections { hold_ns: 0 });
    plan.connections = 8;
    let mut engine = engine(2);
    let (pool, report) = engine.open(&plan).unwrap();
    assert_eq!(report.opened, 8);
    are_open.store(true, Ordering::SeqCst);
    crate::until("half of them are closed", || peer.finished() == 4);
    let slice = engine.slice(pool, &span_ms(30, 0)).unwrap();
    let held = Connections {
        standing: 4,
        lost: 4,
    };
    assert_eq!(slice.connections, Some(held));
    assert_eq!(slice.tally.outcomes.sent(), 0);
    // The lost connections are opened again before the next slice.
    let report = engine.refresh(pool).unwrap();
    assert_eq!((report.standing, report.opened), (8, 4));
}

#[test]
fn a_load_of_messages_that_contradicts_itself_is_refused() {
    // Method: two requests, no keep-alive, messages without room for a number, and a think time.
    let mut engine = engine(1);
    let address = crate::NOBODY;
    let mut refused = |change: fn(&mut LoadPlan)| {
        let mut plan = websockets(address, Shape::Broadcast(TEXT));
        change(&mut plan);
        let refusal = engine.open(&plan).unwrap_err();
        assert!(matches!(refusal, EngineError::Shape { .. }), "{refusal}");
    };
    refused(|plan| plan.requests.push(plan.requests[0].clone()));
    refused(|plan| plan.keep_alive = false);
    refused(|plan| plan.shape = Shape::Broadcast(Message { bytes: 15, ..TEXT }));
    refused(|plan| plan.pacing.think_ns = 1);
}
