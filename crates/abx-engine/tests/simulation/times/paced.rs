//! Schedules, thinking and sessions over the simulated back end, to the nanosecond.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use abx_engine::Pacing;
use abx_engine::schedule::{Arrivals, Schedule, ScheduleShare};
use abx_engine::testing::{Http, Pool, WorkerSlice};
use abx_evidence::Outcome;
use abx_sys::Nanos;
use abx_twin::{Network, NetworkFaults, Service, Sim};

use crate::loads::{MS, SECOND, count, plan, pool, run, run_requests};

const BODY: &[u8] = b"hello";
/// A round trip, and 100 us of service.
const RESPONSE_NS: u64 = 150_000;

fn constant(per_s: &str) -> Pacing {
    Pacing {
        arrivals: Arrivals::Constant {
            per_s: per_s.parse().unwrap(),
        },
        ..Pacing::default()
    }
}

/// A pool of open connections.
fn paced(network: Network, connections: u32, pacing: Pacing) -> Pool<Sim, Http> {
    let mut plan = plan(connections, BODY, 1);
    plan.pacing = pacing;
    plan.verify_every = 0;
    let mut pool = pool(network, plan, BODY);
    pool.connect_all(&AtomicBool::new(false));
    pool
}

#[test]
fn requests_are_sent_when_they_are_due() {
    // Method: 1,000 requests a second for a second, to a peer that always responds in time. All
    // are sent, none has to wait, and each takes the peer's time. One more request closes the time
    // over which throughput is counted.
    let mut pool = paced(Network::faultless(1), 10, constant("1000"));
    let ran = run(&mut pool, SECOND, SECOND / 10);
    let tally = pool.tally();
    assert_eq!((tally.outcomes.ok(), tally.discarded.ok()), (900, 101));
    assert_eq!((tally.unsent, tally.queued), (0, 0));
    // The least value of a histogram is 1 us.
    assert_eq!(tally.times.lateness.max_us(), Some(1));
    assert_eq!(tally.response_ns_sum, 900 * RESPONSE_NS);
    assert_eq!(tally.times.response, tally.times.service);
    assert_eq!(ran.end.since(ran.counted_until), Nanos(RESPONSE_NS));
    assert_eq!((tally.clocked, tally.connection_ns), (900, 10 * 900 * MS));
}

#[test]
fn connections_take_turns() {
    // Method: 10 requests on 5 idle connections. The last response of each connection shows that
    // each request went over the connection that was idle for longest.
    let mut pool = paced(Network::faultless(1), 5, constant("1000"));
    let start = pool.now();
    run(&mut pool, 10 * MS, 0);
    for (place, response) in pool.last_responses().enumerate() {
        let last = start.plus(Nanos((5 + place as u64) * MS + RESPONSE_NS));
        assert_eq!(response, last, "connection {place}");
    }
}

#[test]
fn requests_due_during_a_pause_of_the_generator_are_sent_late_even_at_the_end() {
    // Method: 1,000 requests a second for a second, with a pause from 50 ms before the end until
    // 50 ms after it. There are idle connections for all requests that were due, and for half.
    for (connections, unsent) in [(60, 0), (25, 25)] {
        let mut pool = paced(Network::faultless(1), connections, constant("1000"));
        let start = pool.now();
        let at = |ms: u64| start.plus(Nanos(ms * MS));
        pool.io.pauses(at(950), at(1_050));
        run(&mut pool, SECOND, 0);
        let tally = pool.tally();
        assert_eq!(
            (tally.outcomes.ok(), tally.unsent),
            (1_000 - unsent, unsent),
            "over {connections} connections"
        );
    }
}

#[test]
fn requests_that_wait_keep_their_intended_times() {
    // Method: one connection with responses in 150 us, and 10,000 requests a second that are due:
    // every request waits 50 us longer than the previous one, and the rest are never sent.
    let mut pool = paced(Network::faultless(1), 1, constant("10000"));
    run(&mut pool, 30 * MS, 0);
    let tally = pool.tally();
    // Sent at 0, 150, ... 29,850 us, and due at 0, 100, ... 29,900 us.
    assert_eq!((tally.outcomes.ok(), tally.unsent), (200, 100));
    assert_eq!(tally.queued, 199);
    let waited: u64 = (0..200).map(|index| index * 50_000).sum();
    assert_eq!(tally.response_ns_sum, waited + 200 * RESPONSE_NS);
    // The generator itself was never late, and the peer never slower.
    assert_eq!(tally.times.lateness.max_us(), Some(1));
    assert_eq!(tally.times.service.max_us(), Some(150));
    // The last 100 were due from 20 ms on, and given up at 30 ms.
    assert_eq!(tally.times.response_at_least.count(), 100);
    let oldest = tally.times.response_at_least.max_us().unwrap();
    assert!((9_990..=10_010).contains(&oldest), "{oldest}");
}

#[test]
fn responses_in_flight_at_the_end_are_waited_for() {
    // Method: responses take 50 ms and the slice 10 ms. No request is lost, and the throughput is
    // counted over the slice without the wait.
    let mut network = Network::faultless(1);
    network.service = Service::Constant(Nanos(50 * MS));
    let mut pool = paced(network, 20, constant("1000"));
    let ran = run(&mut pool, 10 * MS, 0);
    assert_eq!((pool.tally().outcomes.ok(), pool.tally().unsent), (10, 0));
    assert!(ran.end.since(ran.counted_until) > Nanos(40 * MS));
}

#[test]
fn a_timeout_runs_from_the_send_and_the_response_from_the_intention() {
    // Method: two connections without responses, a timeout of 5 ms, and a request due every ms.
    // The third request was due at 2 ms and is sent at 5 ms, when the first one times out.
    let mut network = Network::faultless(1);
    network.faults.silence = 1000;
    let mut plan = plan(2, BODY, 1);
    plan.pacing = constant("1000");
    plan.timeout = Duration::from_nanos(5 * MS);
    let mut pool = pool(network, plan, BODY);
    pool.connect_all(&AtomicBool::new(false));
    run_requests(&mut pool, 3);
    let tally = pool.tally();
    assert_eq!(count(tally, Outcome::Timeout), 3);
    let service_us = tally.times.service.max_us().unwrap();
    assert!((4_990..=5_010).contains(&service_us), "{service_us}");
    let response_us = tally.times.response.max_us().unwrap();
    assert!((7_990..=8_010).contains(&response_us), "{response_us}");
    assert_eq!(tally.times.response_at_least.count(), 3);
}

#[test]
fn every_planned_request_is_accounted_for_with_all_faults() {
    // Method: seeds with all faults, constant and Poisson arrivals, with and without keep-alive,
    // below and above the peer's capacity.
    for seed in 0..80 {
        let mut network = Network::faultless(seed + 1);
        network.service = Service::Exponential(Nanos(200_000));
        network.workers = 3;
        network.faults = NetworkFaults {
            refused: seed % 7 * 10,
            short_send: 100,
            split: 400,
            reset: seed % 5 * 8,
            idle_close: seed % 3 * 40,
            slow: 50,
            silence: seed % 4,
            reorder: 500,
        };
        let per_s = ["2000", "30000"][usize::try_from(seed % 2).unwrap()];
        let per_s = per_s.parse().unwrap();
        let arrivals = match seed % 3 {
            0 => Arrivals::Poisson { per_s },
            _ => Arrivals::Constant { per_s },
        };
        let schedule = Schedule::new(&arrivals, seed + 1).unwrap();
        let mut plan = plan(8, BODY, seed);
        plan.pacing.arrivals = arrivals;
        plan.keep_alive = seed % 11 != 0;
        plan.timeout = Duration::from_nanos(50 * MS);
        let mut pool = pool(network, plan, BODY);
        pool.connect_all(&AtomicBool::new(false));
        let ran = run(&mut pool, 100 * MS, 0);
        let tally = pool.tally();
        let resent = count(tally, Outcome::IdleClose);
        let accounted = tally.outcomes.sent() - resent + tally.unsent;
        if !ran.stopped_responding {
            let planned = schedule.count_before(Nanos(100 * MS));
            assert_eq!(accounted, planned, "seed {seed}");
        }
        assert_eq!(pool.in_flight(), 0, "seed {seed}");
        let timed = tally.outcomes.completed() + count(tally, Outcome::Timeout) + tally.unsent;
        assert_eq!(tally.times.response.count(), timed, "seed {seed}");
    }
}

#[test]
fn workers_share_one_schedule() {
    // Method: three pools with the shares of three workers; together they send the requests of a
    // single worker.
    let mut sent = 0;
    for worker in 0..3 {
        let mut pool = paced(Network::faultless(1), 4, constant("1000"));
        let start = pool.now();
        let slice = WorkerSlice {
            start,
            end: start.plus(Nanos(100 * MS)),
            counted_from: start,
            requests_max: u64::MAX,
            share: ScheduleShare::of(worker, 3),
            course: None,
        };
        pool.run(slice, &AtomicBool::new(false));
        sent += pool.tally().outcomes.ok();
    }
    assert_eq!(sent, 100);
}

#[test]
fn a_user_thinks_before_the_next_request() {
    // Method: 4 users with think times of 850 us between responses of 150 us: each sends a request
    // every ms, and the think time is not part of the response time.
    let pacing = Pacing {
        think_ns: 850_000,
        ..Pacing::default()
    };
    let mut pool = paced(Network::faultless(1), 4, pacing);
    run(&mut pool, 100 * MS, 0);
    let tally = pool.tally();
    assert_eq!(tally.outcomes.ok(), 400);
    assert_eq!(tally.response_ns_sum, 400 * RESPONSE_NS);
    assert_eq!(tally.connects, 0);
}

#[test]
fn a_session_has_its_calls_and_a_separate_connection() {
    // Method: 10 sessions a second for a second, each of 5 calls with 10 ms between them; then
    // sessions in a closed loop.
    let mut open = constant("10");
    open.think_ns = 10 * MS;
    open.session_calls = Some(5);
    let mut pool = paced(Network::faultless(1), 3, open.clone());
    // Long enough for the last session, which begins at 900 ms.
    run(&mut pool, SECOND, 0);
    assert_eq!(pool.tally().outcomes.ok(), 50);
    // The first three sessions use the connections that were already open.
    assert_eq!(pool.tally().connects, 7);

    let closed = Pacing {
        arrivals: Arrivals::Closed,
        ..open
    };
    let mut pool = paced(Network::faultless(1), 3, closed);
    run_requests(&mut pool, 60);
    assert_eq!(pool.tally().outcomes.ok(), 60);
    assert_eq!(pool.tally().connects, 12 - 3);
}

#[test]
fn connections_come_and_go_with_their_stages() {
    // Method: 2 connections for 100 ms, then 10 for 100 ms, each with a response every 150 us.
    let pacing = Pacing {
        connections_over_time: Some("2@100ms,10@100ms".parse().unwrap()),
        ..Pacing::default()
    };
    let mut pool = paced(Network::faultless(1), 10, pacing);
    run(&mut pool, 200 * MS, 0);
    let expected = (2 * 200 + 8 * 100) * MS / RESPONSE_NS;
    let ok = pool.tally().outcomes.ok();
    assert!(ok.abs_diff(expected) <= 10, "{ok} instead of {expected}");
}
