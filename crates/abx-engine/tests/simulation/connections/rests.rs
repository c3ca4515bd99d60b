//! Connections that the server closes because they were idle between two slices.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use abx_engine::LoadPlan;
use abx_engine::schedule::Arrivals;
use abx_engine::testing::{Http, Pool};
use abx_evidence::{Outcome, Tally};
use abx_sys::Nanos;
use abx_twin::{Network, PeerStep, Sim};

use crate::loads::{MS, count, plan, pool, pool_of_steps, run, run_requests};

const CONNECTIONS: u32 = 10;
const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A pool whose peer closes connections that were idle for longer, without reading the request.
fn impatient(idle_max_ms: u64, plan: LoadPlan) -> Pool<Sim, Http> {
    let mut network = Network::faultless(1);
    network.idle_max = Nanos(idle_max_ms * MS);
    let mut pool = pool(network, plan, b"hello");
    pool.connect_all(&AtomicBool::new(false));
    pool
}

/// Suspends the load for a while, as when other subjects are loaded, and reopens the connections
/// that closed meanwhile. Returns their number.
fn rest(pool: &mut Pool<Sim, Http>, span_ms: u64) -> usize {
    let until = pool.now().plus(Nanos(span_ms * MS));
    pool.listen(until, &AtomicBool::new(false));
    pool.connect_all(&AtomicBool::new(false)).1
}

#[test]
fn a_connection_that_ends_after_a_rest_is_no_failure() {
    // Method: two slices and a rest between them, which is longer than the server's idle timeout,
    // shorter than it, or too short to count as a rest. The server closes each connection when the
    // first request arrives, without reading it. A window of four is lost as a whole.
    let total = u64::from(CONNECTIONS);
    for (idle_max_ms, rest_ms, method, pipeline, expected) in [
        (5_000, 6_000, "GET", 1, (total, 0)),
        (5_000, 6_000, "GET", 4, (4 * total, 0)),
        (5_000, 4_000, "GET", 1, (0, 0)),
        (300, 1_000, "GET", 1, (total, 0)),
        (300, 900, "GET", 1, (0, total)),
        // Requests that must not be sent twice get connections that have not rested, unless the
        // rest was too short for any server's idle timeout.
        (5_000, 6_000, "POST", 1, (0, 0)),
        (300, 900, "POST", 4, (0, 0)),
        (300, 700, "POST", 1, (0, total)),
    ] {
        let mut plan = plan(CONNECTIONS, b"hello", 1);
        plan.requests[0].request.method = method.to_owned();
        plan.pipeline = pipeline;
        let mut pool = impatient(idle_max_ms, plan);
        run_requests(&mut pool, 200);
        assert_eq!(pool.tally().outcomes.ok(), 200);
        assert_eq!(rest(&mut pool, rest_ms), 0, "nothing shows that they died");
        run_requests(&mut pool, 200);
        let tally = pool.tally();
        let counts = (count(tally, Outcome::RestClose), tally.outcomes.failed());
        assert_eq!(counts, expected, "{method} {idle_max_ms} {rest_ms}");
        assert_eq!(tally.outcomes.requests(), 200);
        assert_eq!(tally.outcomes.ok(), 200 - expected.1);
        assert_eq!(count(tally, Outcome::IdleClose), 0);
        assert!(pool.are_connection_counts_right());
    }
}

#[test]
fn a_connection_that_was_never_used_may_rest_too() {
    // Method: connections whose load begins 6 s after they were opened.
    let mut pool = impatient(5_000, plan(CONNECTIONS, b"hello", 1));
    rest(&mut pool, 6_000);
    run_requests(&mut pool, 100);
    let tally = pool.tally();
    assert_eq!((tally.outcomes.ok(), tally.outcomes.failed()), (100, 0));
    assert_eq!(count(tally, Outcome::RestClose), u64::from(CONNECTIONS));
}

#[test]
fn an_end_that_came_during_the_rest_is_noticed_before_the_slice() {
    // Method: each connection serves ten requests, which is all of a slice, and closes, so that no
    // close crosses with a request.
    let plan = plan(CONNECTIONS, b"hello", 1);
    let bytes = plan.requests[0].request.encode(true).unwrap().len();
    let peer_steps = [PeerStep::Await(bytes), PeerStep::Send(Arc::from(HELLO))];
    let mut steps = vec![peer_steps; 10].concat();
    steps.push(PeerStep::Close);
    let script = Box::new(move |_| steps.clone());
    let mut pool = pool_of_steps(Network::faultless(1), plan, script);
    pool.connect_all(&AtomicBool::new(false));
    for _ in 0..3 {
        run_requests(&mut pool, 100);
        let tally = pool.tally();
        assert_eq!((tally.outcomes.ok(), tally.outcomes.sent()), (100, 100));
        assert_eq!(tally.connects, 0);
        assert_eq!(rest(&mut pool, 6_000), CONNECTIONS as usize);
    }
}

#[test]
fn a_server_that_drops_requests_is_reported_even_after_rests() {
    // Method: each connection serves one request, and closes after it has read the second. At most
    // one request of each connection may be attributed to a rest: in a closed loop, and at a rate
    // that leaves each connection idle for two seconds.
    for arrivals in [
        Arrivals::Closed,
        Arrivals::Constant {
            per_s: "5".parse().unwrap(),
        },
    ] {
        let mut plan = plan(CONNECTIONS, b"hello", 1);
        plan.pacing.arrivals = arrivals.clone();
        let bytes = plan.requests[0].request.encode(true).unwrap().len();
        let read = PeerStep::Await(bytes);
        let response = PeerStep::Send(Arc::from(HELLO));
        let steps = vec![
            read.clone(),
            PeerStep::Work,
            response,
            read,
            PeerStep::Close,
        ];
        let script = Box::new(move |_| steps.clone());
        let mut pool = pool_of_steps(Network::faultless(1), plan, script);
        pool.connect_all(&AtomicBool::new(false));
        // An odd number for each connection, so that the next request is dropped.
        run_requests(&mut pool, u64::from(CONNECTIONS));
        rest(&mut pool, 6_000);
        run_requests(&mut pool, 400);
        let tally = pool.tally();
        let rested = count(tally, Outcome::RestClose);
        assert_eq!(rested, u64::from(CONNECTIONS), "{arrivals:?}");
        let dropped = count(tally, Outcome::EmptyResponse);
        assert!((190..=205).contains(&dropped), "{:?}", tally.outcomes);
        assert_eq!(tally.outcomes.ok() + dropped, 400);
    }
}

#[test]
fn connections_lost_in_a_rest_cost_no_throughput() {
    // Method: slices with and without a lead-in of two response times, after a rest that costs all
    // connections and after one that costs none. The clock of a connection runs from its first
    // response.
    let per_s = |tally: &Tally| tally.clocked as f64 * 1e9 / tally.connection_ns as f64;
    for discard in [0, MS / 3] {
        let [after_loss, without_loss] = [5_000, 60_000].map(|idle_max_ms| {
            let mut pool = impatient(idle_max_ms, plan(CONNECTIONS, b"hello", 1));
            run(&mut pool, 100 * MS, discard);
            rest(&mut pool, 6_000);
            run(&mut pool, 100 * MS, discard);
            let tally = pool.tally();
            let rested = count(tally, Outcome::RestClose);
            let total = rested + tally.discarded.count(Outcome::RestClose);
            assert_eq!(total, if idle_max_ms == 5_000 { 10 } else { 0 });
            assert_eq!(tally.outcomes.failed() + tally.discarded.failed(), 0);
            per_s(tally)
        });
        assert!(
            (after_loss / without_loss - 1.0).abs() < 1e-3,
            "{after_loss} and {without_loss}"
        );
    }
}
