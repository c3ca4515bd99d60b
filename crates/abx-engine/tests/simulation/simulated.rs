//! A pool over the simulated back end: whole loads in virtual time.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use abx_evidence::Outcome;
use abx_sys::Nanos;
use abx_twin::{Network, NetworkFaults, PeerStep, Service, UNUSED_ADDRESS};

use crate::loads::{MS, SECOND, count, head, plan, pool, pool_of, run, run_requests};

#[test]
fn nothing_is_lost_or_counted_twice_with_all_faults() {
    // Method: many seeds, each with its own mix of all faults, with bodies that are skipped and
    // bodies that are read, with and without keep-alive. Every planned request must have one final
    // outcome, and every completed request has its times.
    let bodies = [vec![b'x'; 87], vec![b'y'; 40_000]];
    let mut seen = abx_evidence::Outcomes::default();
    for seed in 0..150 {
        let body = &bodies[usize::try_from(seed % 2).unwrap()];
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
        let mut plan = plan(8, body, seed);
        plan.keep_alive = seed % 11 != 0;
        plan.timeout = Duration::from_nanos(50 * MS);
        let mut pool = pool(network, plan, body);
        pool.connect_all(&AtomicBool::new(false));
        let ran = run_requests(&mut pool, 400);

        let tally = pool.tally();
        let resent = count(tally, Outcome::IdleClose);
        let total = tally.outcomes.sent() - resent;
        assert!(
            total == 400 || (ran.stopped_responding && total < 400),
            "seed {seed}: {total}"
        );
        assert_eq!(pool.in_flight(), 0, "seed {seed}");
        assert!(pool.are_connection_counts_right(), "seed {seed}");
        assert!(pool.are_slots_free(), "seed {seed}");
        let timed = tally.outcomes.completed() + count(tally, Outcome::Timeout);
        assert_eq!(tally.times.response.count(), timed, "seed {seed}");
        assert_eq!(
            tally.body_bytes,
            tally.outcomes.ok() * body.len() as u64,
            "seed {seed}"
        );
        for wrong in [Outcome::Malformed, Outcome::WrongBody, Outcome::WrongLength] {
            assert_eq!(count(tally, wrong), 0, "seed {seed}: {wrong:?}");
        }
        seen.merge(&tally.outcomes);
    }
    // The faults did happen.
    for outcome in [
        Outcome::Ok,
        Outcome::Refused,
        Outcome::Reset,
        Outcome::IdleClose,
        Outcome::Timeout,
    ] {
        assert!(seen.count(outcome) > 50, "{outcome:?}: {seen:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_tally() {
    // Method: two runs of one seed with faults, and one run of another seed.
    let body = b"hello";
    let tally_of = |seed| {
        let mut network = Network::faultless(seed);
        network.service = Service::Exponential(Nanos(300_000));
        network.faults = NetworkFaults {
            reset: 20,
            split: 300,
            reorder: 500,
            ..NetworkFaults::default()
        };
        let mut pool = pool(network, plan(10, body, 5), body);
        pool.connect_all(&AtomicBool::new(false));
        run(&mut pool, SECOND / 5, 0);
        pool.tally().clone()
    };
    assert_eq!(tally_of(3), tally_of(3));
    assert_ne!(tally_of(3), tally_of(4));
}

#[test]
fn the_clocks_of_a_closed_loop_are_the_sum_of_its_response_times() {
    // Method: in a closed loop each request is due when the previous one ends, so the clock of a
    // connection contains nothing but response times. Queues, split responses and another order of
    // readiness change single times, never this sum.
    let body = vec![b'z'; 20_000];
    for seed in 1..6 {
        let mut network = Network::faultless(seed);
        network.service = Service::Exponential(Nanos(150_000));
        network.workers = 2;
        network.faults.split = 300;
        network.faults.reorder = 500;
        let mut pool = pool(network, plan(12, &body, seed), &body);
        assert_eq!(pool.connect_all(&AtomicBool::new(false)), (12, 12));
        run_requests(&mut pool, 2_000);
        let tally = pool.tally();
        assert_eq!(tally.clocked, 2_000);
        assert_eq!(tally.outcomes.ok(), tally.outcomes.sent());
        assert_eq!(
            (tally.connection_ns, tally.silent),
            (tally.response_ns_sum, 0)
        );
    }
}

#[test]
fn throughput_is_exactly_what_constant_service_allows() {
    // Method: a round trip of 50 us and 100 us of service, without a queue: each of 5 connections
    // completes a request every 150 us, and the first response opens the connection's clock. A
    // response to a request sent before the end arrives after it and closes the clock; one more
    // request is discarded.
    let body = b"hello";
    let mut pool = pool(Network::faultless(1), plan(5, body, 1), body);
    pool.connect_all(&AtomicBool::new(false));
    let start = pool.now();
    let ran = run(&mut pool, 15 * MS + 1, 0);
    let tally = pool.tally();
    assert_eq!((tally.outcomes.ok(), tally.discarded.ok()), (5 * 101, 5));
    assert_eq!((tally.clocks, tally.clocked), (5, 5 * 100));
    assert_eq!(tally.connection_ns, 5 * 100 * 150_000);
    assert_eq!(ran.end, start.plus(Nanos(102 * 150_000)));
    assert_eq!(tally.bytes, 505 * (38 + 5));
}

#[test]
fn ten_minutes_of_load_pass_in_virtual_time() {
    // Method: 50 connections and 4 workers that need 10 ms for each request, so that they serve
    // 400 requests a second in any order.
    let body = b"hello";
    let mut network = Network::faultless(9);
    network.service = Service::Constant(Nanos(10 * MS));
    network.workers = 4;
    network.faults.split = 100;
    network.faults.reorder = 500;
    let mut plan = plan(50, body, 9);
    plan.timeout = Duration::from_nanos(10 * SECOND);
    let mut pool = pool(network, plan, body);
    pool.connect_all(&AtomicBool::new(false));
    let start = pool.now();
    let ran = run(&mut pool, 600 * SECOND, SECOND);
    assert!(ran.end.since(start) >= Nanos(600 * SECOND) && !ran.stopped_responding);
    let tally = pool.tally();
    assert_eq!(tally.outcomes.ok(), tally.outcomes.sent());
    let expected = 599 * 400;
    let off = tally.outcomes.ok().abs_diff(expected);
    assert!(off <= 50, "{} instead of {expected}", tally.outcomes.ok());
    // Little's law, from the clocks: 50 connections, each with a response every 50 / 400 s.
    let throughput = 50.0 * tally.clocked as f64 / (tally.connection_ns as f64 / 1e9);
    assert!((throughput / 400.0 - 1.0).abs() < 0.001, "{throughput}");
}

#[test]
fn a_timeout_ends_at_its_moment_and_every_connection_once() {
    // Method: no request ever gets a response. The slice ends when the last of three requests has
    // timed out, to the nanosecond.
    let body = b"hello";
    let mut network = Network::faultless(2);
    network.faults.silence = 1000;
    let mut plan = plan(3, body, 2);
    plan.timeout = Duration::from_nanos(123_456_789);
    let mut pool = pool(network, plan, body);
    pool.connect_all(&AtomicBool::new(false));
    let start = pool.now();
    let ran = run(&mut pool, 3_600 * SECOND, 0);
    assert!(ran.stopped_responding);
    assert_eq!(ran.end, start.plus(Nanos(123_456_789)));
    let tally = pool.tally();
    assert_eq!(count(tally, Outcome::Timeout), 3);
    assert_eq!(
        (tally.outcomes.sent(), tally.connection_ns),
        (3, 3 * 123_456_789)
    );
}

#[test]
fn rests_after_refusals_double_and_end_at_their_moments() {
    // Method: one connection to an address at which nothing listens; the slice gives up after
    // three tries. Between them are rests of 1 and 2 ms, and a refusal takes no time or one round
    // trip of 50 us.
    let body = b"hello";
    let mut plan = plan(1, body, 3);
    plan.address = UNUSED_ADDRESS.into();
    let mut pool = pool(Network::faultless(3), plan, body);
    let start = pool.now();
    let ran = run(&mut pool, 3_600 * SECOND, 0);
    assert!(ran.stopped_responding);
    assert_eq!(count(pool.tally(), Outcome::Refused), 3);
    let refusals_ns = ran.end.since(start).0 - 3 * MS;
    assert!(
        refusals_ns.is_multiple_of(50_000) && refusals_ns <= 150_000,
        "{refusals_ns}"
    );
}

#[test]
fn bodies_are_skipped_only_as_far_as_they_go() {
    // Method: bodies just below and above the least size that is skipped, split anywhere by the
    // network. All bytes are counted, and every response is correct.
    for bytes in [16_384, 18_431, 18_432, 18_433, 34_569, 1_000_000] {
        let body = vec![b'b'; bytes];
        let mut network = Network::faultless(bytes as u64);
        network.faults.split = 500;
        let mut pool = pool(network, plan(4, &body, 4), &body);
        pool.connect_all(&AtomicBool::new(false));
        run_requests(&mut pool, 300);
        let tally = pool.tally();
        assert_eq!(tally.outcomes.ok(), 300, "{bytes}");
        assert_eq!(tally.body_bytes, 300 * bytes as u64);
        assert_eq!(tally.bytes, 300 * (bytes + head(bytes).len()) as u64);
        assert!((10..60).contains(&tally.hashed), "{}", tally.hashed);
    }
}

#[test]
fn a_skipped_body_of_another_length_is_not_correct() {
    // Method: skipped bodies that are one byte too long, and bodies that are one byte short before
    // a close. Neither may count as ok or break the next response.
    let body = vec![b'b'; 50_000];
    let correct = [head(body.len()).as_bytes(), &body].concat();
    let longer = [&correct[..], b"!"].concat();
    for (response, last, outcome) in [
        (&longer[..], PeerStep::Again, Outcome::Malformed),
        (
            &correct[..correct.len() - 1],
            PeerStep::Close,
            Outcome::EarlyClose,
        ),
    ] {
        let mut plan = plan(4, &body, 4);
        plan.verify_every = 0;
        let mut pool = pool_of(Network::faultless(7), plan, response, last);
        pool.connect_all(&AtomicBool::new(false));
        let ran = run_requests(&mut pool, 300);
        let tally = pool.tally();
        assert!(ran.stopped_responding);
        assert!(count(tally, outcome) >= 12);
        assert_eq!(count(tally, outcome), tally.outcomes.sent());
        assert_eq!(
            (tally.bytes, tally.body_bytes),
            (response.len() as u64 * tally.outcomes.sent(), 0)
        );
    }
}

#[test]
fn only_large_bodies_that_are_not_hashed_are_skipped() {
    // Method: bodies just below the least size that is skipped and bodies of that size, with no
    // response hashed and with all hashed. Of a skipped body, only the first bytes, which come
    // with the head, and the last byte are read.
    for (bytes, every, skipped) in [
        (18_431, 0, 0),
        (18_432, 0, 18_432 - (2048 - head(18_432).len()) - 1),
        (18_432, 1, 0),
    ] {
        let body = vec![b'b'; bytes];
        let mut plan = plan(2, &body, 4);
        plan.verify_every = every;
        let mut pool = pool(Network::faultless(7), plan, &body);
        pool.connect_all(&AtomicBool::new(false));
        run_requests(&mut pool, 50);
        assert_eq!(pool.tally().outcomes.ok(), 50);
        assert_eq!(pool.tally().hashed, u64::from(every) * 50);
        assert_eq!(pool.io.skipped, 50 * skipped as u64, "{bytes} bytes");
    }
}
