//! Connections that the peer ends between requests, and their replacements.

use abx_evidence::Outcome;

use crate::peers::peer::{Peer, wait_ms};
use crate::{HELLO, engine, load, outcomes, requests, run};

#[test]
fn a_request_on_a_connection_closed_while_idle_is_sent_once_more() {
    // Method: each connection sends two responses, leaves a third request unread for 30 ms, and
    // closes. The new connection responds to it at once, so a response time includes those 30 ms
    // only if it counts from the first intended moment.
    let peer = Peer::start(|mut connection| {
        for _ in 0..2 {
            if connection.read_request() {
                connection.send(HELLO);
            }
        }
        connection.await_unread();
        wait_ms(30);
    });
    let slice = run(1, &load(peer.address(), 1), &requests(9));

    assert_eq!(
        outcomes(&slice),
        [(Outcome::Ok, 9), (Outcome::IdleClose, 4)]
    );
    assert_eq!((peer.requests(), slice.tally.connects), (9, 4));
    assert_eq!(slice.tally.outcomes.failed(), 0);
    assert_eq!(slice.tally.times.response.count(), 9);
    assert!(slice.tally.times.response.max_us().unwrap() >= 30_000);
    assert!(slice.tally.response_ns_sum >= 4 * 30_000_000);
}

#[test]
fn a_request_is_not_sent_a_third_time() {
    // Method: a second connection that closes without sending a byte, as the first one did.
    let peer = Peer::start(|mut connection| {
        if connection.number() == 0 && connection.read_request() {
            connection.send(HELLO);
        }
        connection.await_unread();
    });
    let slice = run(1, &load(peer.address(), 1), &requests(2));

    assert_eq!(
        outcomes(&slice),
        [
            (Outcome::Ok, 1),
            (Outcome::Reset, 1),
            (Outcome::IdleClose, 1)
        ]
    );
    assert_eq!((peer.requests(), peer.connections()), (1, 2));
}

#[test]
fn a_request_that_was_read_and_dropped_has_failed_and_is_not_sent_again() {
    // Method: each connection serves one request, and closes after it has read another one, at once
    // or after 5 ms.
    for pause in [0, 5] {
        let peer = Peer::start(move |mut connection| {
            if connection.read_request() {
                connection.send(HELLO);
            }
            connection.read_request();
            wait_ms(pause);
        });
        let slice = run(1, &load(peer.address(), 1), &requests(40));

        assert_eq!(
            outcomes(&slice),
            [(Outcome::Ok, 20), (Outcome::EmptyResponse, 20)]
        );
        assert_eq!(peer.requests(), 40);
    }
}

#[test]
fn no_response_is_lost_when_the_peer_closes_after_each_one() {
    // Method: the close and the next request cross in every possible way. Each request must get its
    // response, and requests that are sent twice are counted as such.
    let peer = Peer::start(|mut connection| {
        if connection.read_request() {
            connection.send(HELLO);
        }
    });
    let slice = run(2, &load(peer.address(), 8), &requests(400));

    let resent = slice.tally.outcomes.count(Outcome::IdleClose);
    assert_eq!(slice.tally.outcomes.ok(), 400);
    assert_eq!(slice.tally.outcomes.sent(), 400 + resent);
    assert!(!slice.stopped_responding);
}

#[test]
fn no_response_is_lost_when_the_peer_resets_after_each_one() {
    // Method: a reset follows each complete response, together with it or later. Events of
    // connections that were replaced meanwhile must not count.
    let peer = Peer::start(|mut connection| {
        if connection.read_request() {
            connection.send(HELLO);
            connection.reset();
        }
    });
    let slice = run(2, &load(peer.address(), 8), &requests(400));

    let resent = slice.tally.outcomes.count(Outcome::IdleClose);
    assert_eq!(slice.tally.outcomes.ok(), 400);
    assert_eq!(slice.tally.outcomes.sent(), 400 + resent);
    assert!(!slice.stopped_responding);
}

#[test]
fn a_response_before_the_whole_request_costs_the_connection() {
    // Method: a request of 16 MB is in transit when the response to its head comes. The rest of its
    // body must not run into the next request.
    let peer = Peer::start(|mut connection| {
        if connection.read_head().is_some() {
            connection.send(HELLO);
        }
        // The client ends this connection, or a second head would show up in it.
        let mut is_done = false;
        while !is_done {
            is_done = connection.read_head().is_none();
        }
    });
    let mut plan = load(peer.address(), 1);
    plan.requests[0].request.method = "POST".to_owned();
    plan.requests[0].request.body = vec![b'.'; 16_000_000];
    let slice = run(1, &plan, &requests(3));

    assert_eq!(outcomes(&slice), [(Outcome::Ok, 3)]);
    assert_eq!((slice.tally.connects, peer.connections()), (2, 3));
}

#[test]
fn a_connection_that_is_shut_down_unread_after_a_rest_is_opened_again() {
    // Method: each connection serves one request, and is shut down when the next one arrives, as by
    // a server that checks its idle timeout only then. After a rest of a second this is no failure;
    // within a slice the server has dropped bytes that its kernel had received.
    let peer = Peer::start(|mut connection| {
        if connection.read_request() {
            connection.send(HELLO);
        }
        connection.end_unread();
    });
    let mut engine = engine(1);
    let (pool, _) = engine.open(&load(peer.address(), 4)).unwrap();
    let slice = engine.slice(pool, &requests(4)).unwrap();
    assert_eq!(outcomes(&slice), [(Outcome::Ok, 4)]);
    wait_ms(1_000);
    assert_eq!(engine.refresh(pool).unwrap().opened, 0);
    let slice = engine.slice(pool, &requests(4)).unwrap();
    assert_eq!(
        outcomes(&slice),
        [(Outcome::Ok, 4), (Outcome::RestClose, 4)]
    );

    let slice = run(1, &load(peer.address(), 1), &requests(40));
    assert_eq!(
        outcomes(&slice),
        [(Outcome::Ok, 20), (Outcome::EmptyResponse, 20)]
    );
}
