//! Connections that the peer closes, and bytes without a request.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use abx_engine::LoadPlan;
use abx_engine::schedule::Arrivals;
use abx_engine::testing::{Http, Pool};
use abx_evidence::Outcome;
use abx_sys::Nanos;
use abx_twin::{Network, PeerStep, Sim};

use crate::loads::{MS, SECOND, count, plan, pool, pool_of_steps, run, run_requests};

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn plan_of(method: &str, connections: u32) -> LoadPlan {
    let mut plan = plan(connections, b"hello", 1);
    plan.requests[0].request.method = method.to_owned();
    plan
}

/// A pool on a peer that follows `steps`, in which each [`READ`] awaits one request.
fn serving(network: Network, plan: LoadPlan, steps: &[PeerStep]) -> Pool<Sim, Http> {
    let bytes = plan.requests[0].request.encode(true).unwrap().len();
    let steps: Vec<PeerStep> = steps
        .iter()
        .map(|step| match step {
            PeerStep::Await(_) => PeerStep::Await(bytes),
            other => other.clone(),
        })
        .collect();
    let mut pool = pool_of_steps(network, plan, Box::new(move |_| steps.clone()));
    pool.connect_all(&AtomicBool::new(false));
    pool
}

fn send(bytes: &[u8]) -> PeerStep {
    PeerStep::Send(Arc::from(bytes))
}

/// Stands for a step that awaits one request of a plan.
const READ: PeerStep = PeerStep::Await(0);

#[test]
fn a_request_that_was_taken_and_dropped_has_failed() {
    // Method: each connection responds to one request, and closes after it has read the second
    // one, at once or after some work. Half of all requests fail, with any method, and none is
    // sent again.
    for method in ["GET", "POST"] {
        for last in [
            &[READ, PeerStep::Close][..],
            &[READ, PeerStep::Work, PeerStep::Close],
        ] {
            let steps = [&[READ, PeerStep::Work, send(HELLO)], last].concat();
            let mut pool = serving(Network::faultless(1), plan_of(method, 4), &steps);
            let ran = run_requests(&mut pool, 400);
            let tally = pool.tally();
            assert!(!ran.stopped_responding);
            assert_eq!((tally.outcomes.ok(), tally.outcomes.sent()), (200, 400));
            assert_eq!(count(tally, Outcome::EmptyResponse), 200, "{method}");
            assert_eq!(tally.outcomes.failed(), 200);
        }
    }
}

#[test]
fn requests_that_a_new_connection_dropped_differ_from_those_it_never_took() {
    // Method: connections that close after they have read the request, and connections that close
    // as soon as they are open, so that the close crosses with the request.
    for (steps, outcome) in [
        (&[READ, PeerStep::Close][..], Outcome::EmptyResponse),
        (&[PeerStep::Close], Outcome::EarlyClose),
    ] {
        let mut plan = plan_of("GET", 1);
        plan.pacing.think_ns = 0;
        let mut pool = serving(Network::faultless(1), plan, steps);
        run_requests(&mut pool, 3);
        let tally = pool.tally();
        assert_eq!((count(tally, outcome), tally.outcomes.sent()), (3, 3));
    }
}

#[test]
fn only_idempotent_requests_are_sent_again() {
    // Method: a peer that closes within 2 ms after each response. The close finds the connection
    // idle in a think time, crosses with a request, or comes after a request was read. A request
    // that crosses with it is sent again, unless its method forbids that: then it fails with the
    // outcome of the connection.
    let mut network = Network::faultless(5);
    network.faults.idle_close = 1000;
    for (method, is_resent) in [
        ("GET", true),
        ("PUT", true),
        ("POST", false),
        ("QUERY", false),
    ] {
        let mut plan = plan_of(method, 10);
        plan.pacing.think_ns = MS;
        let mut pool = pool(network, plan, b"hello");
        pool.connect_all(&AtomicBool::new(false));
        run_requests(&mut pool, 5_000);
        let tally = pool.tally();
        let crossed = count(tally, Outcome::IdleClose);
        let failed = count(tally, Outcome::EarlyClose) + count(tally, Outcome::Reset);
        assert_eq!(tally.outcomes.requests(), 5_000, "{method}");
        assert!(
            count(tally, Outcome::EmptyResponse) > 50,
            "{:?}",
            tally.outcomes
        );
        let case = format!("{method}: {:?}", tally.outcomes);
        assert_eq!(crossed > 50, is_resent, "{case}");
        assert_eq!(failed > 50, !is_resent, "{case}");
        assert!(is_resent || crossed == 0, "{case}");
    }
}

#[test]
fn unrequested_bytes_are_counted() {
    // Method: an open loop of 100 requests a second on one connection, and a peer that sends extra
    // bytes in a separate segment after each response. Servers may send an empty line there.
    for (extra, unsolicited) in [(HELLO, 100), (b"x", 100), (b"\r\n", 0)] {
        let mut plan = plan_of("GET", 1);
        plan.pacing.arrivals = Arrivals::Constant {
            per_s: "100".parse().unwrap(),
        };
        let steps = [
            READ,
            PeerStep::Work,
            send(HELLO),
            send(extra),
            PeerStep::Again,
        ];
        let mut pool = serving(Network::faultless(1), plan, &steps);
        run(&mut pool, SECOND, 0);
        let tally = pool.tally();
        assert_eq!((tally.outcomes.ok(), tally.outcomes.requests()), (100, 100));
        assert_eq!(count(tally, Outcome::Unsolicited), unsolicited);
        assert_eq!(tally.outcomes.failed(), unsolicited);
    }
}

#[test]
fn unrequested_bytes_between_slices_count_in_the_next_slice() {
    // Method: two slices of one request, with extra bytes between them.
    let mut network = Network::faultless(1);
    network.delay = Nanos(1000);
    let steps = [READ, send(HELLO), READ, send(b"never"), PeerStep::Again];
    let mut pool = serving(network, plan_of("GET", 1), &steps);
    run_requests(&mut pool, 1);
    assert_eq!(pool.tally().discarded.sent(), 0);
    pool.io.peer_sends(0, b"extra".to_vec());
    let deadline = pool.now().plus(Nanos(MS));
    pool.listen(deadline, &AtomicBool::new(false));
    run_requests(&mut pool, 1);
    let tally = pool.tally();
    assert_eq!((tally.outcomes.ok(), tally.outcomes.sent()), (1, 1));
    assert_eq!(tally.discarded.count(Outcome::Unsolicited), 1);
}

#[test]
fn responses_that_end_a_kept_connection_are_counted() {
    // Method: a response that keeps the connection, one that announces its close, with keep-alive
    // and without, and one whose body ends with the connection.
    let closing = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
    let endless = b"HTTP/1.1 200 OK\r\n\r\nhello";
    for (response, keep_alive, expected) in [
        (HELLO, true, 0),
        (&closing[..], true, 50),
        (&closing[..], false, 0),
        (endless, true, 50),
    ] {
        let mut plan = plan_of("GET", 4);
        plan.keep_alive = keep_alive;
        let bytes = plan.requests[0].request.encode(keep_alive).unwrap().len();
        let last = if response == HELLO {
            PeerStep::Again
        } else {
            PeerStep::Close
        };
        let steps = vec![PeerStep::Await(bytes), send(response), last];
        let script = Box::new(move |_| steps.clone());
        let mut pool = pool_of_steps(Network::faultless(1), plan, script);
        pool.connect_all(&AtomicBool::new(false));
        run_requests(&mut pool, 50);
        let tally = pool.tally();
        assert_eq!((tally.outcomes.ok(), tally.closing), (50, expected));
    }
}

#[test]
fn unannounced_ends_of_kept_connections_are_counted() {
    // Method: an open loop of 100 requests a second, with keep-alive and without, and a peer that
    // closes after each response without notice, while the connection is idle.
    for (keep_alive, expected) in [(true, 99..=101), (false, 0..=0)] {
        let mut plan = plan_of("GET", 4);
        plan.keep_alive = keep_alive;
        plan.pacing.arrivals = Arrivals::Constant {
            per_s: "100".parse().unwrap(),
        };
        let bytes = plan.requests[0].request.encode(keep_alive).unwrap().len();
        let steps = vec![PeerStep::Await(bytes), send(HELLO), PeerStep::Close];
        let script = Box::new(move |_| steps.clone());
        let mut pool = pool_of_steps(Network::faultless(1), plan, script);
        pool.connect_all(&AtomicBool::new(false));
        run(&mut pool, SECOND, 0);
        let tally = pool.tally();
        assert_eq!((tally.outcomes.ok(), tally.outcomes.sent()), (100, 100));
        assert!(expected.contains(&tally.closing), "{}", tally.closing);
    }
}
