//! WebSocket messages that come back, over a peer that does as it is told.

use std::time::Duration;

use abx_engine::{MessagePlan, Shape, payload, probe_websocket};
use abx_evidence::Outcome;

use crate::talker::{echo, talking};
use crate::{identity, load, outcomes, requests, run};

const TEXT: MessagePlan = MessagePlan {
    is_text: true,
    bytes: 300,
};

/// A load of messages that come back, every one compared.
fn messages(address: std::net::SocketAddr, message: MessagePlan) -> abx_engine::LoadPlan {
    let mut plan = load(address, 2);
    plan.shape = Shape::Echo(message);
    plan.requests[0].expect.status = 101;
    plan
}

#[test]
fn every_message_that_comes_back_is_counted_to_the_byte() {
    // Method: texts and binary messages of each length of a frame's head, small ones
    // pipelined; bytes are those of the frames that came.
    for (is_text, bytes, pipeline, head) in [
        (true, 0, 1, 2),
        (true, 125, 1, 2),
        (false, 300, 8, 4),
        (false, 70_000, 1, 10),
    ] {
        let peer = talking(echo);
        let mut plan = messages(peer.address(), MessagePlan { is_text, bytes });
        plan.pipeline = pipeline;
        let slice = run(1, &plan, &requests(40));
        assert_eq!(outcomes(&slice), [(Outcome::Ok, 40)], "{bytes} bytes");
        assert_eq!(slice.tally.bytes, 40 * u64::from(bytes + head));
        assert_eq!(slice.tally.body_bytes, 40 * u64::from(bytes));
        assert_eq!((slice.tally.hashed, slice.tally.connects), (40, 0));
    }
}

#[test]
fn an_echo_is_known_by_its_payload() {
    // Method: a right echo has the identity of the payload that plan and seed give.
    let peer = talking(echo);
    let request = load(peer.address(), 1).requests[0].request.clone();
    let limit = Duration::from_secs(30);
    let answer = probe_websocket(peer.address(), &request, Some(TEXT), 9, limit).unwrap();
    let came = answer.echo.unwrap();
    assert_eq!((answer.status, came.is_text), (101, true));
    assert_eq!(came.body, identity(&payload(TEXT, 9)));
    let opened = probe_websocket(peer.address(), &request, None, 9, limit).unwrap();
    assert_eq!((opened.status, opened.echo), (101, None));
}
