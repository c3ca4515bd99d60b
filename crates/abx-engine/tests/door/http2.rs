//! HTTP/2: many requests on one connection, each on a separate stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use abx_engine::{HttpVersion, LoadPlan, ProbeError, probe};
use abx_evidence::Outcome;
use abx_wire::http2::Fault;

use crate::peers::peer::Peer;
use crate::peers::streams::{SETTINGS, frame, go_away, head, hello, last_data, reset, streaming};
use crate::{HELLO, engine, load, outcomes, requests, run};

/// This many connections with this many streams each.
fn streams(peer: &Peer, connections: u32, streams: u32) -> LoadPlan {
    let mut plan = load(peer.address(), connections);
    plan.pipeline = streams;
    plan.requests[0].request.version = HttpVersion::Http2;
    plan
}

#[test]
fn responses_come_in_any_order_and_belong_to_their_streams() {
    // Method: requests that come together get their responses from the last to the first: all
    // heads, then the first part of all bodies, then the second. Every body is hashed, and the
    // peer counts the requests.
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let peer = streaming(SETTINGS, move |batch| {
        counter.fetch_add(batch.streams.len(), Ordering::SeqCst);
        let reversed = || batch.streams.iter().rev().copied();
        let heads = reversed().flat_map(head);
        let parts = reversed().flat_map(|stream| frame(0, 0, stream, b"hel"));
        let rest = reversed().flat_map(|stream| last_data(stream, b"lo"));
        Some(heads.chain(parts).chain(rest).collect())
    });
    let slice = run(2, &streams(&peer, 3, 8), &requests(3_000));
    assert_eq!(outcomes(&slice), [(Outcome::Ok, 3_000)]);
    assert_eq!(count.load(Ordering::SeqCst), 3_000);
    assert_eq!(peer.connections(), 3);
    assert_eq!(slice.tally.hashed, 3_000);
    assert_eq!(slice.tally.body_bytes, 15_000);
}

#[test]
fn a_stream_that_is_reset_fails_alone() {
    // Method: a server that resets every fifth stream; the connection continues.
    let peer = streaming(SETTINGS, |batch| {
        let response = |stream: u32| match stream % 10 {
            9 => reset(stream, 7),
            _ => hello(stream),
        };
        Some(batch.responses(response))
    });
    let slice = run(1, &streams(&peer, 1, 4), &requests(100));
    let expected = [(Outcome::Ok, 80), (Outcome::StreamReset, 20)];
    assert_eq!(outcomes(&slice), expected);
    assert_eq!(peer.connections(), 1);
}

#[test]
fn requests_after_a_goaway_are_sent_again_over_a_new_connection() {
    // Method: at least ten responses on each connection, and a GOAWAY before the last ones. Later
    // requests are sent again, and the announced closes are counted.
    let peer = streaming(SETTINGS, |batch| {
        if batch.before >= 10 {
            // These requests came after the GOAWAY.
            return None;
        }
        let last = *batch.streams.last()?;
        let mut bytes = Vec::new();
        if batch.before + batch.streams.len() >= 10 {
            bytes.extend(go_away(last));
        }
        bytes.extend(batch.responses(hello));
        Some(bytes)
    });
    let slice = run(1, &streams(&peer, 2, 4), &requests(200));
    assert_eq!(slice.tally.outcomes.ok(), 200);
    assert_eq!(slice.tally.outcomes.failed(), 0);
    assert!(slice.tally.closing >= 10, "{}", slice.tally.closing);
    assert!(peer.connections() >= 10);
}

#[test]
fn a_server_that_processes_no_stream_does_not_get_requests_forever() {
    // Method: a server that sends a GOAWAY in place of every response.
    let peer = streaming(SETTINGS, |_| Some(go_away(0)));
    let slice = run(1, &streams(&peer, 1, 2), &requests(50));
    assert_eq!(slice.tally.outcomes.ok(), 0);
    assert!(slice.tally.outcomes.count(Outcome::EarlyClose) > 0);
    assert!(slice.stopped_responding);
}

#[test]
fn no_more_streams_are_open_than_the_server_allows() {
    // Method: up to eight requests in flight to a server that allows two. It never sees more than
    // two at a time, and responds to all of them.
    const TWO: &[u8] = &[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2];
    let most = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&most);
    let peer = streaming(TWO, move |batch| {
        seen.fetch_max(batch.streams.len(), Ordering::SeqCst);
        Some(batch.responses(hello))
    });
    let slice = run(1, &streams(&peer, 1, 8), &requests(100));
    assert_eq!(outcomes(&slice), [(Outcome::Ok, 100)]);
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[test]
fn every_wrong_response_has_its_outcome() {
    // Method: for each kind of wrong response, a slice in which every response is of this kind.
    type Response = fn(u32) -> Vec<u8>;
    let kinds: [(Response, Outcome); 5] = [
        (
            |stream| [head(stream), last_data(stream, b"hallo")].concat(),
            Outcome::WrongBody,
        ),
        (
            |stream| [head(stream), last_data(stream, b"hell")].concat(),
            Outcome::WrongLength,
        ),
        (|stream| frame(1, 5, stream, &[0x8d]), Outcome::WrongStatus),
        // A head without a status.
        (
            |stream| frame(1, 5, stream, &[0, 1, b'a', 1, b'b']),
            Outcome::Malformed,
        ),
        // A broken block, which the connection does not survive.
        (|stream| frame(1, 5, stream, &[0x80]), Outcome::Malformed),
    ];
    for (response, outcome) in kinds {
        let peer = streaming(SETTINGS, move |batch| Some(batch.responses(response)));
        let slice = run(1, &streams(&peer, 1, 1), &requests(2));
        let counts = outcomes(&slice);
        assert!(
            matches!(counts[..], [(counted, 1 | 2)] if counted == outcome),
            "{outcome:?}: {counts:?}"
        );
    }
}

#[test]
fn begun_responses_fail_with_their_connection_and_the_rest_is_sent_again() {
    // Method: a connection serves a first batch of requests, begins the responses to two requests
    // of a later batch, and breaks. These two fail; the others are sent again and served.
    let batches = AtomicUsize::new(0);
    let peer = streaming(SETTINGS, move |batch| {
        let [first, second, ..] = batch.streams[..] else {
            return Some(batch.responses(hello));
        };
        if batch.before == 0 || batches.fetch_add(1, Ordering::SeqCst) > 0 {
            return Some(batch.responses(hello));
        }
        let long = [0, 0xff, 0, 0, 0, 0, 0, 0, 0];
        Some([&head(second)[..], &head(first), &long].concat())
    });
    let slice = run(1, &streams(&peer, 1, 4), &requests(40));
    let tally = &slice.tally.outcomes;
    assert_eq!(tally.ok() + tally.count(Outcome::Malformed), 40);
    assert_eq!(tally.count(Outcome::Malformed), 2);
    assert_eq!(peer.connections(), 2);
}

#[test]
fn bodies_of_requests_go_out_as_there_is_room() {
    // Method: bodies of 300,000 bytes, four at a time. The peer counts all requests and bytes, and
    // returns the credit for the bytes that it has read.
    let [count, bytes] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let (counter, byte_counter) = (Arc::clone(&count), Arc::clone(&bytes));
    let peer = streaming(SETTINGS, move |batch| {
        counter.fetch_add(batch.streams.len(), Ordering::SeqCst);
        byte_counter.fetch_add(batch.body_bytes, Ordering::SeqCst);
        Some(batch.responses(hello))
    });
    let mut plan = streams(&peer, 2, 4);
    plan.requests[0].request.method = "POST".to_owned();
    plan.requests[0].request.body = vec![b'x'; 300_000];
    let slice = run(1, &plan, &requests(40));
    assert_eq!(outcomes(&slice), [(Outcome::Ok, 40)]);
    assert_eq!(count.load(Ordering::SeqCst), 40);
    assert_eq!(bytes.load(Ordering::SeqCst), 40 * 300_000);
}

#[test]
fn without_keep_alive_each_request_has_its_connection() {
    // Method: ten requests over ten connections.
    let peer = streaming(SETTINGS, |batch| Some(batch.responses(hello)));
    let mut plan = streams(&peer, 2, 8);
    plan.keep_alive = false;
    let slice = run(1, &plan, &requests(10));
    assert_eq!(outcomes(&slice), [(Outcome::Ok, 10)]);
    assert_eq!(peer.connections(), 10);
}

#[test]
fn a_server_without_http2_is_detected_before_any_request() {
    // Method: the connections of a load and a probe, to a server of HTTP/1 and to one that closes.
    let http1 = Peer::start(|mut connection| {
        if connection.read().is_some() {
            connection.send(HELLO);
            connection.hold();
        }
    });
    let closing = Peer::start(|mut connection| drop(connection.read()));
    for (peer, outcome) in [
        (&http1, Outcome::OtherProtocol),
        (&closing, Outcome::EarlyClose),
    ] {
        let mut engine = engine(1);
        let (_, report) = engine.open(&streams(peer, 1, 1)).unwrap();
        assert_eq!(report.standing, 0);
        assert_eq!(report.failures.iter().collect::<Vec<_>>(), [(outcome, 1)]);
    }
    let ask = |peer: &Peer| {
        let plan = streams(peer, 1, 1);
        probe(
            peer.address(),
            None,
            &plan.requests[0].request,
            Duration::from_secs(20),
        )
    };
    assert!(matches!(ask(&http1), Err(ProbeError::Http2(Fault::Http1))));
    assert!(matches!(ask(&closing), Err(ProbeError::NoHttp2)));
}

#[test]
fn a_probe_reads_a_whole_response_and_its_server() {
    // Method: a response with a `server` field, and a stream that is reset.
    let peer = streaming(SETTINGS, |batch| {
        let stream = batch.streams[0];
        let mut block = vec![0x88, 0, 6];
        block.extend(b"server\x03s/1");
        Some([frame(1, 4, stream, &block), last_data(stream, b"hello")].concat())
    });
    let refusing = streaming(SETTINGS, |batch| Some(reset(batch.streams[0], 13)));
    let ask = |peer: &Peer| {
        let plan = streams(peer, 1, 1);
        probe(
            peer.address(),
            None,
            &plan.requests[0].request,
            Duration::from_secs(20),
        )
    };
    let response = ask(&peer).unwrap();
    assert_eq!(
        (response.status, response.body),
        (200, crate::identity(b"hello"))
    );
    assert_eq!(response.head_fields.server.as_deref(), Some("s/1"));
    let refused = ask(&refusing).unwrap_err().to_string();
    assert!(refused.ends_with("HTTP_1_1_REQUIRED"), "{refused}");
}
