//! Servers that respond to a request before they have read all of it.

use std::sync::Mutex;
use std::time::Duration;

use abx_engine::{LoadPlan, probe};
use abx_evidence::Outcome;

use crate::peers::peer::{Connection, Peer};
use crate::{load, outcomes, requests, run};

const TOO_LARGE: &[u8] =
    b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// POSTs of a body that no socket buffer holds.
fn uploads(peer: &Peer, bytes: usize) -> LoadPlan {
    let mut plan = load(peer.address(), 2);
    let request = &mut plan.requests[0];
    request.request.method = "POST".to_owned();
    request.request.body = vec![b'x'; bytes];
    request.expect.status = 413_u16.into();
    request.expect.body = None;
    plan
}

/// The server's action after its response.
#[derive(Clone, Copy, Debug)]
enum After {
    /// It closes with the body unread, which resets the connection.
    Closes,
    /// It continues to read for a while, as servers do so that their response is seen.
    Reads,
    /// It keeps the connection, and reads no more.
    Keeps,
}

fn peer(after: After) -> Peer {
    let connections = Mutex::new(Vec::new());
    Peer::start(move |mut connection: Connection| {
        if connection.read_head().is_none() {
            return;
        }
        connection.send(TOO_LARGE);
        match after {
            After::Closes => {}
            After::Reads => connection.hold(),
            After::Keeps => connections.lock().unwrap().push(connection),
        }
    })
}

#[test]
fn a_response_that_comes_before_the_end_of_an_upload_counts() {
    // Method: servers that respond to the head of an upload, and then close, read on or keep the
    // connection. Each request of a load gets that response, and so does a probe.
    for after in [After::Closes, After::Reads, After::Keeps] {
        for bytes in [100_000, 3_000_000] {
            let peer = peer(after);
            let plan = uploads(&peer, bytes);
            let slice = run(1, &plan, &requests(20));
            assert_eq!(outcomes(&slice), [(Outcome::Ok, 20)], "{after:?} {bytes}");
            let request = &plan.requests[0].request;
            let response = probe(peer.address(), None, request, Duration::from_secs(30));
            assert_eq!(response.unwrap().status, 413, "{after:?} {bytes}");
        }
    }
}

#[test]
fn an_upload_that_is_reset_without_a_response_fails() {
    // Method: a server that closes with the body unread and sends nothing.
    let peer = Peer::start(|mut connection: Connection| {
        connection.read_head();
    });
    let plan = uploads(&peer, 3_000_000);
    let slice = run(1, &plan, &requests(10));
    // A slice ends early if no connection gets a response.
    assert!(matches!(outcomes(&slice)[..], [(Outcome::Reset, 1..)]));
    let request = &plan.requests[0].request;
    assert!(probe(peer.address(), None, request, Duration::from_secs(30)).is_err());
}
