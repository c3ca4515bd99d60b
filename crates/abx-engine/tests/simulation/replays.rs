//! Replays over the simulated back end: each request goes out when it is due.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use abx_engine::schedule::{Arrivals, Replay, ReplayedRequest, Schedule, ScheduleShare};
use abx_engine::testing::{Http, Pool, Prepared, WorkerSlice};
use abx_engine::{EngineError, LoadPlan};
use abx_evidence::Outcome;
use abx_sys::Nanos;
use abx_twin::{Network, NetworkFaults, Service, Sim};

use crate::loads::{MS, count, plan, pool, run};

const BODY: &[u8] = b"hello";
/// Due times in ms, and the numbers of the requests that are due then.
const RECORDED: [(u64, u32); 6] = [(0, 0), (10, 1), (10, 1), (10, 0), (25, 1), (40, 0)];
const LASTS: u64 = 50 * MS;

fn replay(requests: impl IntoIterator<Item = (u64, u32)>, lasts: u64) -> Arrivals {
    let requests = requests.into_iter().map(|(due, request)| ReplayedRequest {
        due: Nanos(due),
        request,
    });
    Arrivals::Replay(Replay::new(requests.collect(), Nanos(lasts)).unwrap())
}

/// A plan of two requests, the second of which expects a status that never comes, so that
/// outcomes distinguish them.
fn recorded(connections: u32) -> LoadPlan {
    let mut plan = plan(connections, BODY, 1);
    plan.requests[0].request.path = "/a".to_owned();
    let mut second = plan.requests[0].clone();
    second.request.path = "/b".to_owned();
    second.expect.status = 404_u16.into();
    // A replay ignores weights; a random draw would almost always take this request.
    second.weight = 1_000;
    plan.requests.push(second);
    let requests = RECORDED.map(|(due, request)| (due * MS, request));
    plan.pacing.arrivals = replay(requests, LASTS);
    plan
}

fn opened(network: Network, plan: LoadPlan) -> Pool<Sim, Http> {
    let mut pool = pool(network, plan, BODY);
    pool.connect_all(&AtomicBool::new(false));
    pool
}

/// How often each of the two requests was sent in the counted part.
fn sent(pool: &Pool<Sim, Http>) -> [u64; 2] {
    let tally = pool.tally();
    [tally.outcomes.ok(), count(tally, Outcome::WrongStatus)]
}

#[test]
fn each_slice_replays_the_same_requests_from_the_beginning() {
    // Method: a complete replay, three times over one pool, and then its first 20 ms. Each request
    // is sent as often as it was recorded, and none is late.
    let mut pool = opened(Network::faultless(1), recorded(4));
    for _ in 0..3 {
        let start = pool.now();
        let ran = run(&mut pool, LASTS, 0);
        assert_eq!(sent(&pool), [3, 3]);
        let tally = pool.tally();
        assert_eq!(
            (tally.unsent, tally.queued, tally.discarded.sent()),
            (0, 0, 0)
        );
        assert_eq!(tally.times.lateness.max_us(), Some(1));
        assert_eq!(ran.counted_until.since(start), Nanos(LASTS));
    }
    run(&mut pool, 20 * MS, 0);
    assert_eq!(sent(&pool), [2, 2]);
    run(&mut pool, LASTS, 5 * MS);
    assert_eq!((sent(&pool), pool.tally().discarded.ok()), ([2, 3], 1));
}

#[test]
fn requests_that_wait_for_a_connection_keep_their_times_and_their_order() {
    // Method: one connection whose responses take 6 ms. Two of the three requests that are due at
    // 10 ms wait, for 6 and 12 ms, and so does the request that is due at 25 ms.
    let mut network = Network::faultless(1);
    network.service = Service::Constant(Nanos(6 * MS - 50_000));
    let mut pool = opened(network, recorded(1));
    run(&mut pool, LASTS, 0);
    assert_eq!((sent(&pool), pool.tally().queued), ([3, 3], 3));
    // The request that is due at 25 ms waits until 28 ms.
    let waited = (6 + 12 + 3) * MS;
    assert_eq!(pool.tally().response_ns_sum, 6 * 6 * MS + waited);
}

#[test]
fn workers_together_send_each_request_once() {
    // Method: three pools with the shares of three workers; together they send the requests of a
    // single worker.
    let mut counts = [0, 0];
    for worker in 0..3 {
        let mut pool = opened(Network::faultless(1), recorded(2));
        let start = pool.now();
        let slice = WorkerSlice {
            start,
            end: start.plus(Nanos(LASTS)),
            counted_from: start,
            requests_max: u64::MAX,
            share: ScheduleShare::of(worker, 3),
            course: None,
        };
        pool.run(slice, &AtomicBool::new(false));
        counts = [0, 1].map(|request| counts[request] + sent(&pool)[request]);
    }
    assert_eq!(counts, [3, 3]);
}

#[test]
fn every_recorded_request_is_accounted_for_with_all_faults() {
    // Method: seeds with all faults, and bursts with gaps between them, below and above the peer's
    // capacity.
    for seed in 0..40 {
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
        let due = |index: u64| index / 40 * 7 * MS / (1 + seed % 3);
        let requests = (0..200 + 50 * seed).map(|index| (due(index), 0));
        let arrivals = replay(requests, 400 * MS);
        let schedule = Schedule::new(&arrivals, seed).unwrap();
        let mut plan = plan(8, BODY, seed);
        plan.pacing.arrivals = arrivals;
        plan.keep_alive = seed % 11 != 0;
        plan.timeout = Duration::from_nanos(50 * MS);
        let mut pool = opened(network, plan);
        let ran = run(&mut pool, 100 * MS, 0);
        let tally = pool.tally();
        let resent = count(tally, Outcome::IdleClose);
        if !ran.stopped_responding {
            let planned = schedule.count_before(Nanos(100 * MS));
            let accounted = tally.outcomes.sent() - resent + tally.unsent;
            assert_eq!(accounted, planned, "seed {seed}");
        }
        assert_eq!(pool.in_flight(), 0, "seed {seed}");
    }
}

#[test]
fn a_load_without_the_requests_of_its_replay_is_refused() {
    // Method: the plan of the other tests, without its second request, with think times, and with
    // sessions.
    let refused = |change: &dyn Fn(&mut LoadPlan)| {
        let mut plan = recorded(1);
        change(&mut plan);
        matches!(Prepared::of(&plan), Err(EngineError::Replay(_)))
    };
    assert!(!refused(&|_| {}));
    assert!(refused(&|plan| plan.requests.truncate(1)));
    assert!(refused(&|plan| plan.pacing.think_ns = 1));
    assert!(refused(&|plan| plan.pacing.session_calls = Some(2)));
}
