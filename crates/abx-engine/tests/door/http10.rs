//! HTTP/1.0: which side ends a connection, and after which responses it is used again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use abx_engine::{HttpVersion, LoadPlan, ProbeError, RequestPlan, probe};
use abx_evidence::Outcome;

use crate::peers::peer::Peer;
use crate::{identity, load, outcomes, requests, run};

const REQUESTS: u64 = 6;

/// The peer's action after a response.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Then {
    Closes,
    /// Responds to further requests, and leaves the close to the client.
    KeepsOpen,
}

/// Responses, the peer's action after each, and whether the connection may
/// serve again after a request for keep-alive.
const RESPONSES: &[(&str, Then, bool)] = &[
    // One side does not announce keep-alive: one request per connection.
    (
        "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        Then::Closes,
        false,
    ),
    (
        "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        Then::KeepsOpen,
        false,
    ),
    ("HTTP/1.0 200 OK\r\n\r\nhello", Then::Closes, false),
    (
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
        Then::KeepsOpen,
        false,
    ),
    // Without a length only the close ends the response, even with keep-alive.
    (
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nhello",
        Then::Closes,
        false,
    ),
    // Both sides agree.
    (
        "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 5\r\n\r\nhello",
        Then::KeepsOpen,
        true,
    ),
    (
        "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello",
        Then::KeepsOpen,
        true,
    ),
    // HTTP/1.1 keeps connections by default (RFC 9112, section 9.3).
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        Then::KeepsOpen,
        true,
    ),
];

/// A peer, and the heads of its requests.
fn peer(response: &'static str, then: Then) -> (Peer, Arc<Mutex<Vec<String>>>) {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heads);
    let peer = Peer::start(move |mut connection| {
        while let Some(head) = connection.read_head_text() {
            seen.lock().unwrap().push(head);
            connection.send(response.as_bytes());
            if then == Then::Closes {
                return;
            }
        }
    });
    (peer, heads)
}

fn plan(peer: &Peer, keep_alive: bool) -> LoadPlan {
    let mut plan = load(peer.address(), 1);
    plan.requests[0].request.version = HttpVersion::Http10;
    plan.keep_alive = keep_alive;
    plan
}

#[test]
fn a_connection_is_reused_only_if_both_sides_agree() {
    // Method: the responses of a table, with keep-alive and without, from peers that close and
    // peers that keep every connection open. All requests, whose heads are those of `ab`, get their
    // responses, on as many connections as the rules allow.
    for &(response, then, may_be_kept) in RESPONSES {
        for keep_alive in [false, true] {
            let case = format!("{response:?}, {then:?}, keep-alive {keep_alive}");
            let (peer, heads) = peer(response, then);
            let slice = run(1, &plan(&peer, keep_alive), &requests(REQUESTS));

            assert_eq!(outcomes(&slice), [(Outcome::Ok, REQUESTS)], "{case}");
            assert_eq!(slice.tally.body_bytes, 5 * REQUESTS, "{case}");
            let connections = if may_be_kept && keep_alive {
                1
            } else {
                REQUESTS
            };
            assert_eq!(peer.connections() as u64, connections, "{case}");
            for head in heads.lock().unwrap().iter() {
                assert!(head.starts_with("GET / HTTP/1.0\r\n"), "{head}");
                let asks = head.contains("Connection: Keep-Alive\r\n");
                assert_eq!(asks, keep_alive, "{head}");
                assert_eq!(head.contains("Connection:"), keep_alive, "{head}");
            }
        }
    }
}

#[test]
fn a_response_without_an_end_times_out() {
    // Method: responses without a length from a peer that never closes, with and without
    // keep-alive. The timeout ends each request, and the slice.
    for keep_alive in [false, true] {
        let (peer, _) = peer("HTTP/1.0 200 OK\r\n\r\nhello", Then::KeepsOpen);
        let mut plan = plan(&peer, keep_alive);
        plan.timeout = Duration::from_nanos(50_000_000);
        let slice = run(1, &plan, &requests(REQUESTS));

        assert!(slice.stopped_responding);
        assert_eq!(outcomes(&slice), [(Outcome::Timeout, 1)]);
        assert_eq!(slice.tally.body_bytes, 0);
    }
}

#[test]
fn a_probe_ends_with_the_length_or_the_close() {
    // Method: probes of the same responses, of which only the one without an end fails.
    let ask =
        |request: &RequestPlan, peer: &Peer, limit| probe(peer.address(), None, request, limit);
    let long = Duration::from_secs(30);
    for &(response, then, _) in RESPONSES {
        let (peer, heads) = peer(response, then);
        let request = plan(&peer, false).requests[0].request.clone();
        let response = ask(&request, &peer, long).unwrap();
        assert_eq!((response.status, response.body), (200, identity(b"hello")));
        assert!(!heads.lock().unwrap()[0].contains("Connection:"));
    }
    let (peer, _) = peer("HTTP/1.0 200 OK\r\n\r\nhello", Then::KeepsOpen);
    let request = plan(&peer, false).requests[0].request.clone();
    let endless = ask(&request, &peer, Duration::from_millis(100));
    assert!(matches!(endless, Err(ProbeError::Timeout(_))));
}

#[test]
fn a_version_has_its_usual_name() {
    // Method: a round trip of both versions.
    for (version, name) in [
        (HttpVersion::Http10, "\"http/1.0\""),
        (HttpVersion::Http11, "\"http/1.1\""),
    ] {
        assert_eq!(serde_json::to_string(&version).unwrap(), name);
        assert_eq!(serde_json::from_str::<HttpVersion>(name).unwrap(), version);
    }
}
