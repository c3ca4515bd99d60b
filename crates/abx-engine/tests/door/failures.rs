//! Every fault is an outcome: refusals, timeouts, closes, resets, interruption.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use abx_evidence::Outcome;

use crate::peers::peer::Peer;
use crate::{HELLO, NOBODY, engine, load, outcomes, requests, run, span_ms, until};

#[test]
fn a_slice_ends_early_without_a_listener() {
    // Method: an hour of load on a closed port. There are few tries, and all are refused.
    let mut engine = engine(2);
    let (pool, report) = engine.open(&load(NOBODY, 4)).unwrap();
    assert_eq!(report.standing, 0);
    assert_eq!(report.failures.count(Outcome::Refused), 4);
    for plan in [span_ms(3_600_000, 0), requests(1_000_000)] {
        let slice = engine.slice(pool, &plan).unwrap();
        assert!(slice.stopped_responding);
        let tries = slice.tally.outcomes.sent();
        assert_eq!(outcomes(&slice), [(Outcome::Refused, tries)]);
        assert!((12..=24).contains(&tries), "{tries} tries");
    }
}

#[test]
fn a_slice_ends_early_when_the_peer_stops_listening() {
    // Method: a peer that goes away during an hour of load.
    let mut peer = Peer::responding(HELLO);
    let plan = load(peer.address(), 4);
    let loading = std::thread::spawn(move || run(2, &plan, &span_ms(3_600_000, 0)));
    until("the 100th request", || peer.requests() >= 100);
    peer.stop();
    let slice = loading.join().unwrap();

    assert!(slice.stopped_responding);
    assert!(slice.tally.outcomes.ok() >= 100);
    assert!(slice.tally.outcomes.count(Outcome::Refused) > 0);
    let failed = slice.tally.outcomes.failed();
    assert!(failed <= 24, "{:?}", outcomes(&slice));
    // Unfinished requests have waited, too; a refusal takes none of the peer's time.
    let waited = slice.tally.outcomes.ok() + slice.tally.outcomes.count(Outcome::Unfinished);
    assert_eq!(
        slice.tally.times.response.count(),
        waited,
        "{:?}",
        outcomes(&slice)
    );
}

#[test]
fn a_request_without_a_response_times_out_and_its_connection_is_replaced() {
    // Method: four connections, where only the first request gets no response; the load is stopped
    // when a fifth connection has sent a request. The wait is one of the response times.
    let is_first = AtomicBool::new(true);
    let replaced = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&replaced);
    let peer = Peer::start(move |mut connection| {
        while connection.read_request() {
            if is_first.swap(false, Ordering::SeqCst) {
                return connection.hold();
            }
            seen.fetch_or(connection.number() >= 4, Ordering::SeqCst);
            connection.send(HELLO);
        }
    });
    let mut plan = load(peer.address(), 4);
    plan.timeout = Duration::from_nanos(1_000_000_000);
    let mut engine = engine(1);
    let (pool, _) = engine.open(&plan).unwrap();
    let stopper = engine.stopper();
    let slice = std::thread::scope(|scope| {
        let loading = scope.spawn(|| engine.slice(pool, &span_ms(3_600_000, 0)).unwrap());
        until("a replacement connection", || {
            replaced.load(Ordering::SeqCst)
        });
        stopper.stop();
        loading.join().unwrap()
    });

    let timeouts = slice.tally.outcomes.count(Outcome::Timeout);
    assert!(timeouts >= 1);
    assert!(slice.tally.outcomes.ok() >= 1);
    assert!(slice.tally.connects >= 1);
    assert!(slice.tally.times.response.max_us().unwrap() >= 1_000_000);
    assert!(slice.tally.times.service.max_us().is_some());
    let unfinished = slice.tally.outcomes.count(Outcome::Unfinished);
    assert_eq!(
        slice.tally.times.response.count(),
        slice.tally.outcomes.ok() + timeouts + unfinished
    );
}

#[test]
fn a_slice_ends_early_when_no_connection_gets_a_response() {
    // Method: an hour of load on a listener that never reads, by two threads with two connections
    // each. Second tries that are in flight when both threads have seen enough timeouts are given
    // up at once.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut plan = load(silent.local_addr().unwrap(), 4);
    plan.timeout = Duration::from_nanos(100_000_000);
    let slice = run(2, &plan, &span_ms(3_600_000, 0));

    assert!(slice.stopped_responding);
    let total = slice.tally.outcomes.sent();
    let timeouts = slice.tally.outcomes.count(Outcome::Timeout);
    let given_up = slice.tally.outcomes.count(Outcome::Unfinished);
    assert_eq!(timeouts + given_up, total);
    assert!(timeouts >= 4 && total <= 8, "{:?}", outcomes(&slice));
    assert_eq!(slice.tally.times.response.count(), total);
    assert_eq!(slice.tally.response_ns_sum, 0);
}

#[test]
fn a_close_in_the_middle_of_a_response_is_an_early_close() {
    // Method: connections with one correct response and the first part of another one, cut in the
    // first line, in a header, and in the body.
    let body_start = HELLO.len() - 5;
    for cut in [1, 12, body_start - 2, body_start, body_start + 3] {
        let peer = Peer::start(move |mut connection| {
            if connection.read_request() {
                connection.send(HELLO);
            }
            if connection.read_request() {
                connection.send(&HELLO[..cut]);
            }
        });
        let slice = run(1, &load(peer.address(), 1), &requests(10));

        let expected = [(Outcome::Ok, 5), (Outcome::EarlyClose, 5)];
        assert_eq!(outcomes(&slice), expected, "cut at {cut}");
        assert_eq!(slice.tally.bytes, 5 * (HELLO.len() + cut) as u64);
        assert_eq!(slice.tally.body_bytes, 25);
        assert_eq!(slice.tally.times.response.count(), 5);
    }
}

#[test]
fn a_reset_in_the_middle_of_a_response_is_a_reset() {
    // Method: connections with one correct response and a part of another one before a reset.
    let peer = Peer::start(|mut connection| {
        if connection.read_request() {
            connection.send(HELLO);
        }
        if connection.read_request() {
            connection.send(&HELLO[..HELLO.len() - 2]);
            connection.reset();
        }
    });
    let slice = run(1, &load(peer.address(), 1), &requests(10));

    assert_eq!(outcomes(&slice), [(Outcome::Ok, 5), (Outcome::Reset, 5)]);
}

#[test]
fn a_new_connection_closed_after_the_request_is_an_empty_response() {
    // Method: a peer that closes every connection after its first request, without sending a byte.
    // These connections are new and not idle, so no request is sent twice.
    let peer = Peer::start(|mut connection| {
        connection.read_request();
    });
    let slice = run(1, &load(peer.address(), 2), &requests(1_000_000));

    assert!(slice.stopped_responding);
    let sent = slice.tally.outcomes.sent();
    assert_eq!(outcomes(&slice), [(Outcome::EmptyResponse, sent)]);
    assert_eq!(peer.requests() as u64, sent);
    assert!((6..=9).contains(&sent), "{sent} sent");
}

#[test]
fn a_stopped_slice_leaves_requests_in_flight_unfinished() {
    // Method: an hour of load on a peer that responds to ten requests; the load is stopped once
    // every connection waits.
    let responded = AtomicUsize::new(0);
    let peer = Peer::start(move |mut connection| {
        while connection.read_request() {
            if responded.fetch_add(1, Ordering::SeqCst) >= 10 {
                return connection.hold();
            }
            connection.send(HELLO);
        }
    });
    let mut engine = engine(2);
    let (pool, _) = engine.open(&load(peer.address(), 4)).unwrap();
    let stopper = engine.stopper();
    let slice = std::thread::scope(|scope| {
        let loading = scope.spawn(|| engine.slice(pool, &span_ms(3_600_000, 0)).unwrap());
        until("the 14th request", || peer.requests() == 14);
        assert!(!stopper.is_stopped());
        stopper.stop();
        loading.join().unwrap()
    });

    assert_eq!(
        outcomes(&slice),
        [(Outcome::Ok, 10), (Outcome::Unfinished, 4)]
    );
    assert!(stopper.is_stopped() && !slice.stopped_responding);
    assert_eq!(slice.tally.outcomes.failed(), 0);
}
