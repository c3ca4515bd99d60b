//! The phases of sampled requests over the simulated back end. They are exact to the nanosecond,
//! since the peer's delays are known.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use abx_engine::schedule::Arrivals;
use abx_engine::testing::{Http, Pool};
use abx_engine::{LoadPlan, Pacing};
use abx_evidence::{Phase, Tally};
use abx_twin::{Network, PeerStep, Sim};

use crate::loads::{MS, SECOND, plan, pool, pool_of_steps, run, run_requests};
use crate::pipelined::all_faults;

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
const BODY: &[u8] = b"hello";
/// The time of a round trip.
const TRIP_US: u64 = 50;
/// The time of one step of work.
const WORK_US: u64 = 100;

/// A plan that samples every request.
fn watched(connections: u32) -> LoadPlan {
    let mut plan = plan(connections, BODY, 1);
    plan.verify_every = 1;
    plan
}

/// The steps that respond to one request: the body is sent one step of work after the head.
fn in_two(request_bytes: usize) -> [PeerStep; 5] {
    [
        PeerStep::Await(request_bytes),
        PeerStep::Work,
        PeerStep::Send(HEAD.into()),
        PeerStep::Work,
        PeerStep::Send(BODY.into()),
    ]
}

fn request_bytes(plan: &LoadPlan) -> usize {
    let request = &plan.requests[0].request;
    request.encode(plan.keep_alive).unwrap().len()
}

/// A pool with open connections; `steps` gives the peer's steps on each, by its number.
fn scripted(
    plan: LoadPlan,
    steps: impl Fn(usize) -> Vec<PeerStep> + Send + Sync + 'static,
) -> Pool<Sim, Http> {
    let mut pool = pool_of_steps(Network::faultless(1), plan, Box::new(steps));
    pool.connect_all(&AtomicBool::new(false));
    pool
}

/// A pool on a peer that sends every response in two parts.
fn on_slow_bodies(plan: LoadPlan) -> Pool<Sim, Http> {
    let steps = [&in_two(request_bytes(&plan))[..], &[PeerStep::Again]].concat();
    scripted(plan, move |_| steps.clone())
}

/// The sum of each phase in µs.
fn sums_us(tally: &Tally) -> [u64; 4] {
    let sums = tally.times.phases.sums();
    Phase::ALL.map(|phase| {
        assert_eq!(sums.of(phase) % 1_000, 0, "{phase:?}");
        sums.of(phase) / 1_000
    })
}

#[test]
fn phases_have_the_delays_of_the_peer() {
    // Method: known delays, over open connections and over one connection per request, whose
    // connect takes a round trip.
    for (keep_alive, connect_us) in [(true, 0), (false, TRIP_US)] {
        let mut plan = watched(3);
        plan.keep_alive = keep_alive;
        let mut pool = on_slow_bodies(plan);
        run_requests(&mut pool, 30);
        let tally = pool.tally();
        assert_eq!(tally.times.phases.sums().requests, 30);
        let spans = [0, connect_us, TRIP_US + WORK_US, WORK_US];
        assert_eq!(sums_us(tally), spans.map(|span| 30 * span));
        let connects = tally.times.phases.times(Phase::Connect).unwrap().count();
        assert_eq!(connects, if keep_alive { 0 } else { 30 });
    }
}

#[test]
fn a_pipelined_request_waits_for_its_turn() {
    // Method: four requests that are sent together. The peer begins each response after it has
    // completed the previous one, so only the first response time includes the round trip.
    let mut plan = watched(1);
    plan.pipeline = 4;
    let mut pool = on_slow_bodies(plan);
    run_requests(&mut pool, 4);
    let first = TRIP_US + 2 * WORK_US;
    let waiting = first + (first + 2 * WORK_US) + (first + 4 * WORK_US);
    let first_byte = TRIP_US + 4 * WORK_US;
    let expected = [waiting, 0, first_byte, 4 * WORK_US];
    assert_eq!(sums_us(pool.tally()), expected);
}

#[test]
fn a_response_that_comes_with_the_previous_one_has_only_waited() {
    // Method: two requests in flight, and both responses in one segment.
    let mut plan = watched(1);
    plan.pipeline = 2;
    let bytes = request_bytes(&plan);
    let both: Arc<[u8]> = [HEAD, BODY, HEAD, BODY].concat().into();
    let steps = [PeerStep::Await(2 * bytes), PeerStep::Send(both)];
    let mut pool = scripted(plan, move |_| steps.to_vec());
    run_requests(&mut pool, 2);
    assert_eq!(sums_us(pool.tally()), [TRIP_US, 0, TRIP_US, 0]);
}

#[test]
fn a_lost_attempt_counts_as_waiting() {
    // Method: the connection breaks during the second request; only the next connect counts as
    // connecting.
    let plan = watched(1);
    let bytes = request_bytes(&plan);
    let once = [
        &in_two(bytes)[..],
        &[PeerStep::Await(bytes), PeerStep::Reset],
    ]
    .concat();
    let again = [&in_two(bytes)[..], &[PeerStep::Again]].concat();
    let mut pool = scripted(plan, move |number| match number {
        0 => once.clone(),
        _ => again.clone(),
    });
    run_requests(&mut pool, 2);
    let responses = [2 * (TRIP_US + WORK_US), 2 * WORK_US];
    let expected = [TRIP_US, TRIP_US, responses[0], responses[1]];
    assert_eq!(sums_us(pool.tally()), expected);
}

#[test]
fn the_first_byte_of_a_lost_response_does_not_count_for_the_next_one() {
    // Method: the first connection breaks inside the first response, and the second connection
    // serves the next request, whose first byte is that of its own response.
    let plan = watched(1);
    let bytes = request_bytes(&plan);
    let broken = [&in_two(bytes)[..3], &[PeerStep::Reset]].concat();
    let complete = in_two(bytes);
    let mut pool = scripted(plan, move |number| match number {
        0 => broken.clone(),
        _ => complete.to_vec(),
    });
    run_requests(&mut pool, 2);
    let tally = pool.tally();
    assert_eq!(tally.times.phases.sums().requests, 1);
    let expected = [0, TRIP_US, TRIP_US + WORK_US, WORK_US];
    assert_eq!(sums_us(tally), expected);
}

#[test]
fn requests_that_are_due_and_have_no_connection_wait() {
    // Method: one connection with responses in 250 us, and a request due every 100 us for 300 us:
    // the second request waits for 150 us, the third for 300 us.
    let mut plan = watched(1);
    plan.pacing = Pacing {
        arrivals: Arrivals::Constant {
            per_s: "10000".parse().unwrap(),
        },
        ..Pacing::default()
    };
    let mut pool = on_slow_bodies(plan);
    run(&mut pool, 3 * MS / 10, 0);
    // The third was not sent in time.
    assert_eq!(pool.tally().times.phases.sums().requests, 2);
    let expected = [150, 0, 2 * (TRIP_US + WORK_US), 2 * WORK_US];
    assert_eq!(sums_us(pool.tally()), expected);
}

#[test]
fn phases_add_up_to_the_response_times_with_all_faults() {
    // Method: many seeds with all faults and every request sampled, with small bodies and bodies
    // that are read in many pieces, and a discarded part, over kept connections, over one
    // connection per request, and with four requests in flight.
    let bodies = [vec![b'x'; 87], vec![b'y'; 40_000]];
    let mut responses = 0;
    for seed in 0..60 {
        let body = &bodies[usize::try_from(seed % 2).unwrap()];
        let mut plan = plan(8, body, seed);
        plan.verify_every = 1;
        plan.timeout = Duration::from_nanos(50 * MS);
        match seed / 2 % 3 {
            0 => plan.keep_alive = false,
            1 => plan.pipeline = 4,
            _ => {}
        }
        let mut pool = pool(all_faults(seed), plan, body);
        pool.connect_all(&AtomicBool::new(false));
        run(&mut pool, 30 * MS, 3 * MS);
        let tally = pool.tally();
        let sums = tally.times.phases.sums();
        assert_eq!(sums.requests, tally.outcomes.completed(), "seed {seed}");
        let total: u64 = Phase::ALL.iter().map(|phase| sums.of(*phase)).sum();
        assert_eq!(total, tally.response_ns_sum, "seed {seed}");
        responses += sums.requests;
    }
    assert!(responses > 10_000, "{responses}");
}

#[test]
fn only_drawn_requests_are_sampled() {
    // Method: one request in ten, with known and with unknown bodies, and no request at all.
    let sampled = |verify_every, is_known: bool| {
        let mut plan = plan(10, BODY, 1);
        plan.verify_every = verify_every;
        if !is_known {
            plan.requests[0].expect.body = None;
        }
        let mut pool = pool(Network::faultless(1), plan, BODY);
        pool.connect_all(&AtomicBool::new(false));
        run(&mut pool, SECOND / 10, 0);
        let tally = pool.tally();
        assert!(tally.outcomes.ok() > 5_000);
        (tally.times.phases.sums().requests, tally.hashed)
    };
    let (requests, hashed) = sampled(10, true);
    assert!((400..1_000).contains(&requests), "{requests}");
    assert_eq!(hashed, requests);
    // A body that is not known in advance is not hashed, but its request is sampled.
    assert_eq!(sampled(10, false), (requests, 0));
    assert_eq!(sampled(0, true), (0, 0));
}

#[test]
fn server_timings_are_counted_once() {
    // Method: responses whose heads arrive together with their bodies, or before them.
    let head =
        b"HTTP/1.1 200 OK\r\nServer-Timing: db;dur=1.5, page;dur=0.25\r\nContent-Length: 5\r\n\r\n";
    for is_together in [true, false] {
        let plan = watched(2);
        let bytes = request_bytes(&plan);
        let steps = move |_: usize| {
            let receive = [PeerStep::Await(bytes), PeerStep::Work];
            let respond = if is_together {
                vec![PeerStep::Send([&head[..], BODY].concat().into())]
            } else {
                vec![
                    PeerStep::Send(head.as_slice().into()),
                    PeerStep::Work,
                    PeerStep::Send(BODY.into()),
                ]
            };
            [&receive[..], &respond, &[PeerStep::Again]].concat()
        };
        let mut pool = scripted(plan, steps);
        run_requests(&mut pool, 20);
        let server_times = &pool.tally().times.server_times;
        let sums: Vec<_> = server_times
            .sums()
            .map(|(name, sum)| (name, sum.count, sum.sum_ns))
            .collect();
        let expected = [("db", 20, 30_000_000), ("page", 20, 5_000_000)];
        assert_eq!(sums, expected, "{is_together}");
    }
}
