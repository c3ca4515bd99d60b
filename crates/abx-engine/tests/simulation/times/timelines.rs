//! Timelines of slices in which the peer fails, in virtual time and to the request.

use std::sync::atomic::AtomicBool;

use abx_engine::Pacing;
use abx_engine::schedule::Arrivals;
use abx_engine::testing::{Http, Pool};
use abx_evidence::{Outcome, Timeline, TimelinePlan};
use abx_sys::Nanos;
use abx_twin::{Network, Sim};

use crate::loads::{MS, SECOND, count, plan, pool, run};

const BODY: &[u8] = b"hello";

/// A pool of open connections, whose requests are grouped by when they are due.
fn watched(
    connections: u32,
    per_s: &str,
    delayed_after_ns: impl Into<Option<u64>>,
) -> Pool<Sim, Http> {
    let mut plan = plan(connections, BODY, 1);
    plan.pacing = Pacing {
        arrivals: Arrivals::Constant {
            per_s: per_s.parse().unwrap(),
        },
        ..Pacing::default()
    };
    plan.timeline = Some(TimelinePlan {
        bucket_ns: 10 * MS,
        delayed_after_ns: delayed_after_ns.into(),
    });
    let mut pool = pool(Network::faultless(1), plan, BODY);
    pool.connect_all(&AtomicBool::new(false));
    pool
}

fn timeline(pool: &Pool<Sim, Http>) -> Timeline {
    let timeline = pool.tally().timeline.clone();
    timeline.expect("the plan has a timeline").finish()
}

#[test]
fn a_peer_that_is_away_fails_exactly_the_requests_due_meanwhile() {
    // Method: 1,000 requests a second for a second; the peer is away from 300 ms until before
    // 500 ms. Each request due then fails once, although the first on each connection is sent
    // twice; the request due at 500 ms gets its response over a new connection.
    let mut pool = watched(4, "1000", 100 * MS);
    let start = pool.now();
    let at = |ms: u64| start.plus(Nanos(ms * MS));
    pool.io.goes_away(at(300), at(500));
    run(&mut pool, SECOND, 0);
    let counted = timeline(&pool);
    let failed: Vec<u32> = (0..100)
        .map(|bucket| if (30..50).contains(&bucket) { 10 } else { 0 })
        .collect();
    assert_eq!(counted.due, [10; 100]);
    assert_eq!(counted.failed, failed);
    assert_eq!(counted.delayed, [0; 100]);
    assert_eq!(counted.last_disturbed_ns, Some(499 * MS));
    assert_eq!(
        (
            pool.tally().outcomes.ok(),
            count(pool.tally(), Outcome::IdleClose)
        ),
        (800, 4)
    );
}

#[test]
fn requests_that_wait_are_delayed_and_those_never_sent_have_failed() {
    // Method: one connection with responses in 150 us, and 10,000 requests a second due for 30 ms:
    // request number k waits for k times 50 us, so from number 98 on a response takes more than
    // 5 ms; 200 requests are sent.
    let mut pool = watched(1, "10000", 5 * MS);
    run(&mut pool, 30 * MS, 0);
    let counted = timeline(&pool);
    let sum = |counts: &[u32]| counts.iter().sum::<u32>();
    assert_eq!(
        (
            sum(&counted.due),
            sum(&counted.delayed),
            sum(&counted.failed)
        ),
        (300, 102, 100)
    );
    assert_eq!(counted.delayed, [2, 100, 0]);
    assert_eq!(counted.last_disturbed_ns, Some(29_900_000));
}

#[test]
fn responses_are_grouped_by_when_they_came() {
    // Method: 200 responses in 30 ms, each 150 us after the previous one. The buckets have 66 or
    // 67 of them, whenever their requests were due, and the last response comes after the end.
    let mut pool = watched(1, "10000", 5 * MS);
    run(&mut pool, 30 * MS, 0);
    let timeline = pool.tally().timeline.as_ref();
    let responded = timeline.expect("the plan has a timeline").responded();
    assert_eq!(responded, [66, 67, 66]);
}

#[test]
fn a_timeline_by_itself_expects_no_failure() {
    // Method: a peer that is away for all of a slice, and a plan that does not define a late
    // response: the slice is given up like any other.
    let mut pool = watched(2, "1000", None);
    let start = pool.now();
    pool.io.goes_away(start, Nanos::MAX);
    assert!(run(&mut pool, SECOND, 0).stopped_responding);
}

#[test]
fn a_peer_that_does_not_recover_gets_requests_until_the_end() {
    // Method: a peer that is away for all of a slice. So many failures in a row would end a slice
    // that expects none; here requests are due until the end.
    let mut pool = watched(2, "1000", 100 * MS);
    let start = pool.now();
    pool.io.goes_away(start, Nanos::MAX);
    let ran = run(&mut pool, SECOND, 0);
    assert!(!ran.stopped_responding);
    let counted = timeline(&pool);
    assert_eq!(
        (counted.due.len(), counted.due == counted.failed),
        (100, true)
    );
    assert_eq!(counted.last_disturbed_ns, Some(999 * MS));
}

#[test]
fn a_silent_peer_is_awaited_until_a_response_would_be_late() {
    // Method: no response at all, a slice of 300 ms, and a timeout of a second. The slice ends as
    // soon as a response would be late, and all requests that were due have failed.
    let mut pool = watched(4, "100", 100 * MS);
    pool.io.network_mut().faults.silence = 1000;
    let start = pool.now();
    run(&mut pool, 300 * MS, 0);
    let took = pool.now().since(start);
    assert!((400 * MS..460 * MS).contains(&took.0), "{took:?}");
    let counted = timeline(&pool);
    assert_eq!(
        (
            counted.due.iter().sum::<u32>(),
            counted.failed == counted.due
        ),
        (30, true)
    );
}
