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
    // Method: requests that come together get responses from the last to the first, heads before
    // bodies, and bodies in two parts, taking turns; every body is hashed. The peer counts.
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let peer = streaming(SETTINGS, move |asked| {
        counter.fetch_add(asked.streams.len(), Ordering::SeqCst);
        let each = || asked.streams.iter().rev().copied();
        let heads = each().flat_map(head);
        let parts = each().flat_map(|stream| frame(0, 0, stream, b"hel"));
        let rest = each().flat_map(|stream| last_data(stream, b"lo"));
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
    // Method: every fifth stream is reset by the server; the connection continues.
    let peer = streaming(SETTINGS, |asked| {
        let each = asked.streams.iter().map(|stream| match stream % 10 {
            9 => reset(*stream, 7),
            _ => hello(*stream),
        });
        Some(each.flatten().collect())
    });
    let slice = run(1, &streams(&peer, 1, 4), &requests(100));
    let expected = [(Outcome::Ok, 80), (Outcome::StreamReset, 20)];
    assert_eq!(outcomes(&slice), expected);
    assert_eq!(peer.connections(), 1);
}

#[test]
fn requests_after_a_goaway_are_sent_again_over_a_new_connection() {
    // Method: ten responses or more on each connection, with the last one a GOAWAY; requests
    // sent after it are sent again, and counted as that.
    let peer = streaming(SETTINGS, |asked| {
        if asked.before >= 10 {
            // These came after its GOAWAY.
            return None;
        }
        let last = *asked.streams.last()?;
        let mut bytes = Vec::new();
        if asked.before + asked.streams.len() >= 10 {
            bytes.extend(go_away(last));
        }
        bytes.extend(asked.streams.iter().flat_map(|stream| hello(*stream)));
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
    // Method: a GOAWAY for each first request, which was not processed.
    let peer = streaming(SETTINGS, |_| Some(go_away(0)));
    let slice = run(1, &streams(&peer, 1, 2), &requests(50));
    assert_eq!(slice.tally.outcomes.ok(), 0);
    assert!(slice.tally.outcomes.count(Outcome::EarlyClose) > 0);
    assert!(slice.stopped_responding);
}

#[test]
fn no_more_streams_are_open_than_the_server_allows() {
    // Method: a server that allows two, with eight requests: it never sees more than two at a
    // time, and responds to all of them.
    const TWO: &[u8] = &[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2];
    let most = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&most);
    let peer = streaming(TWO, move |asked| {
        seen.fetch_max(asked.streams.len(), Ordering::SeqCst);
        Some(
            asked
                .streams
                .iter()
                .flat_map(|stream| hello(*stream))
                .collect(),
        )
    });
    let slice = run(1, &streams(&peer, 1, 8), &requests(100));
    assert_eq!(outcomes(&slice), [(Outcome::Ok, 100)]);
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[test]
fn every_wrong_response_has_its_outcome() {
    // Method: each kind for all requests of a slice.
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
        let peer = streaming(SETTINGS, move |asked| {
            Some(
                asked
                    .streams
                    .iter()
                    .flat_map(|stream| response(*stream))
                    .collect(),
            )
        });
        let slice = run(1, &streams(&peer, 1, 1), &requests(2));
        let came = outcomes(&slice);
        assert!(
            matches!(came[..], [(outcome, 1 | 2)] if outcome == outcome),
            "{outcome:?}: {came:?}"
        );
    }
}

#[test]
fn begun_responses_fail_with_their_connection_and_the_rest_is_sent_again() {
    // Method: each first connection serves one request; of the next four together it begins
    // two, and breaks. These fail, the others are sent again and get their responses.
    let is_broken = Arc::new(AtomicUsize::new(0));
    let broken = Arc::clone(&is_broken);
    let peer = streaming(SETTINGS, move |asked| {
        let [first, second, ..] = asked.streams[..] else {
            return Some(
                asked
                    .streams
                    .iter()
                    .flat_map(|stream| hello(*stream))
                    .collect(),
            );
        };
        if asked.before == 0 || broken.fetch_add(1, Ordering::SeqCst) > 0 {
            return Some(
                asked
                    .streams
                    .iter()
                    .flat_map(|stream| hello(*stream))
                    .collect(),
            );
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
    // Method: bodies of 300,000 bytes, four at a time; the peer counts all of them and returns
    // the credit for the bytes that it took.
    let [count, bytes] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let (counter, taken) = (Arc::clone(&count), Arc::clone(&bytes));
    let peer = streaming(SETTINGS, move |asked| {
        counter.fetch_add(asked.streams.len(), Ordering::SeqCst);
        taken.fetch_add(asked.body_bytes, Ordering::SeqCst);
        Some(
            asked
                .streams
                .iter()
                .flat_map(|stream| hello(*stream))
                .collect(),
        )
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
    let peer = streaming(SETTINGS, |asked| {
        Some(
            asked
                .streams
                .iter()
                .flat_map(|stream| hello(*stream))
                .collect(),
        )
    });
    let mut plan = streams(&peer, 2, 8);
    plan.keep_alive = false;
    let slice = run(1, &plan, &requests(10));
    assert_eq!(outcomes(&slice), [(Outcome::Ok, 10)]);
    assert_eq!(peer.connections(), 10);
}

#[test]
fn a_server_without_http2_is_detected_before_any_request() {
    // Method: a server of HTTP/1, one that closes, and one that sends nothing correct: how
    // connections fail, and the error of a probe.
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
    // Method: a response with a field, and a stream that is reset.
    let peer = streaming(SETTINGS, |asked| {
        let stream = asked.streams[0];
        let mut block = vec![0x88, 0, 6];
        block.extend(b"server\x03s/1");
        Some([frame(1, 4, stream, &block), last_data(stream, b"hello")].concat())
    });
    let refusing = streaming(SETTINGS, |asked| Some(reset(asked.streams[0], 13)));
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
