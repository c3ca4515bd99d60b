//! Several requests in flight on each connection, over the simulated back end.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use abx_engine::schedule::{Arrivals, Schedule};
use abx_engine::testing::{Http, Pool};
use abx_engine::{BodyIdentity, LoadPlan};
use abx_evidence::{Outcome, Outcomes};
use abx_sys::Nanos;
use abx_twin::{Network, NetworkFaults, PeerStep, Service, Sim};
use xxhash_rust::xxh3::xxh3_64;

use crate::loads::{MS, SECOND, count, plan, pool, pool_of_steps, run, run_requests};

const BODY: &[u8] = b"hello";

fn deep(connections: u32, body: &[u8], depth: u32, seed: u64) -> LoadPlan {
    let mut plan = plan(connections, body, seed);
    plan.pipeline = depth;
    plan
}

pub(crate) fn all_faults(seed: u64) -> Network {
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
    network
}

/// A response with an additional header field.
fn response(field: &str, body: &[u8]) -> Arc<[u8]> {
    let head = format!(
        "HTTP/1.1 200 OK\r\n{field}Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat().into()
}

fn connected(mut pool: Pool<Sim, Http>) -> Pool<Sim, Http> {
    pool.connect_all(&AtomicBool::new(false));
    pool
}

/// A pool on a faultless network, whose peer sends `responses` in order on each connection and then
/// does `end`.
fn scripted(plan: LoadPlan, responses: Vec<Arc<[u8]>>, end: PeerStep) -> Pool<Sim, Http> {
    let request = plan.requests[0].request.encode(true).unwrap().len();
    let steps = responses
        .into_iter()
        .flat_map(move |response| [PeerStep::Await(request), PeerStep::Send(response)])
        .chain([end])
        .collect::<Vec<PeerStep>>();
    connected(pool_of_steps(
        Network::faultless(1),
        plan,
        Box::new(move |_| steps.clone()),
    ))
}

#[test]
fn nothing_is_lost_or_counted_twice_at_any_depth() {
    // Method: many seeds, each with its own mix of all faults, with bodies that are skipped and
    // bodies that are read, at depth 4 and 16. Every planned request must have one final outcome,
    // and every completed request has its times.
    let bodies = [vec![b'x'; 87], vec![b'y'; 40_000]];
    let mut seen = Outcomes::default();
    for seed in 0..160 {
        let body = &bodies[usize::try_from(seed % 2).unwrap()];
        let mut plan = deep(
            8,
            body,
            [4, 16][usize::try_from(seed / 2 % 2).unwrap()],
            seed,
        );
        plan.timeout = Duration::from_nanos(50 * MS);
        let mut pool = connected(pool(all_faults(seed), plan, body));
        let ran = run_requests(&mut pool, 1_000);

        let tally = pool.tally();
        let total = tally.outcomes.sent() - count(tally, Outcome::IdleClose);
        assert!(
            total == 1_000 || (ran.stopped_responding && total < 1_000),
            "seed {seed}: {total}"
        );
        assert_eq!(pool.in_flight(), 0, "seed {seed}");
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
        if seed % 4 == 0 {
            // With these seeds the peer responds to every request, so none may get stuck here.
            assert_eq!(count(tally, Outcome::Timeout), 0, "seed {seed}");
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
fn every_response_counts_once_when_nothing_goes_wrong() {
    // Method: responses split anywhere and connections listed in any order, at several depths.
    // Every count is exact, and no window is wider than planned.
    for depth in [1, 2, 4, 16, 50] {
        for bytes in [0, 87, 30_000] {
            let body = vec![b'b'; bytes];
            let mut network = Network::faultless(u64::from(depth));
            network.faults.split = 500;
            network.faults.reorder = 500;
            network.faults.short_send = 200;
            let mut pool = connected(pool(network, deep(4, &body, depth, 4), &body));
            run_requests(&mut pool, 1_000);
            let tally = pool.tally();
            let case = format!("{bytes} bytes, depth {depth}");
            assert_eq!(tally.outcomes.ok(), 1_000, "{case}");
            assert_eq!(tally.outcomes.sent(), 1_000, "{case}");
            assert_eq!(tally.body_bytes, 1_000 * bytes as u64, "{case}");
            let response_bytes = response("", &body).len() as u64;
            assert_eq!(tally.bytes, 1_000 * response_bytes, "{case}");
            assert!(
                (50..180).contains(&tally.hashed),
                "{case}: {}",
                tally.hashed
            );
            assert_eq!(tally.connects, 0, "{case}");
            assert!(pool.rooms().all(|room| room <= 64), "{case}");
        }
    }
}

#[test]
fn a_window_slides_with_the_responses() {
    // Method: one connection whose server takes 100 us for each request, one at a time, and a
    // round trip of 50 us. At depth 1 each request also takes the round trip. From depth 2 on the
    // server is never idle: responses come every 100 us, and a request waits for all requests of
    // the window before it.
    for (depth, interval_us, response_us) in [(1, 150, 150), (2, 100, 200), (16, 100, 1_600)] {
        let mut plan = deep(1, BODY, depth, 1);
        plan.verify_every = 0;
        let mut pool = connected(pool(Network::faultless(1), plan, BODY));
        let start = pool.now();
        let ran = run_requests(&mut pool, 1_000);
        let tally = pool.tally();
        assert_eq!(tally.outcomes.ok(), 1_000);
        let expected_us = 1_000 * interval_us + (150 - interval_us);
        assert_eq!(
            ran.end.since(start),
            Nanos(expected_us * 1_000),
            "depth {depth}"
        );
        assert_eq!(tally.connection_ns, expected_us * 1_000);
        // The first window fills up, the last one empties.
        let most = tally.times.response.max_us().unwrap();
        assert!(
            most.abs_diff(response_us) <= response_us / 100 + 50,
            "{most}"
        );
    }
}

#[test]
fn a_closed_loop_refills_half_of_its_window_by_one_send() {
    // Method: 1,000 requests on one connection, of 100 us each. The first send fills the window;
    // further sends refill it whenever half of it is left. The intended time of a request is that
    // of its send. At depth 16 the eight requests of a send come after eight others, so they take
    // 900 to 1,600 us.
    for (depth, sends) in [(1, 1_000), (2, 999), (3, 500), (4, 499), (16, 124)] {
        let mut plan = deep(1, BODY, depth, 1);
        plan.verify_every = 0;
        let mut pool = connected(pool(Network::faultless(1), plan, BODY));
        run_requests(&mut pool, 1_000);
        let tally = pool.tally();
        assert_eq!((tally.outcomes.ok(), tally.queued), (1_000, 0));
        assert_eq!(pool.io.sends, sends, "depth {depth}");
        assert_eq!(tally.times.lateness.max_us(), Some(1), "depth {depth}");
        if depth == 16 {
            // The first window waits for no other requests, but for the round trip.
            let first_us: u64 = (1..=16).map(|place| 50 + 100 * place).sum();
            let send_us: u64 = (9..=16).map(|place| 100 * place).sum();
            assert_eq!(tally.response_ns_sum, (first_us + 123 * send_us) * 1_000);
        }
    }
}

#[test]
fn an_open_loop_uses_all_of_its_window_when_requests_are_due() {
    // Method: 9,000 requests a second on one connection, of 100 us each by one worker, and a round
    // trip of 1.4 ms: 13 or 14 requests are in flight, and 16 may be. None waits.
    let mut plan = deep(1, BODY, 16, 1);
    plan.pacing.arrivals = Arrivals::Constant {
        per_s: "9000".parse().unwrap(),
    };
    let mut network = Network::faultless(1);
    network.delay = Nanos(700_000);
    let mut pool = connected(pool(network, plan, BODY));
    run(&mut pool, SECOND, 0);
    let tally = pool.tally();
    assert_eq!((tally.outcomes.ok(), tally.queued), (9_000, 0));
    assert_eq!(tally.response_ns_sum, 9_000 * 1_500_000);
    // The load continues until the last counted request has its response.
    assert_eq!(pool.io.sends, 9_000 + tally.discarded.ok());
    assert!(tally.discarded.ok() <= 14);
}

#[test]
fn the_clocks_give_the_throughput_of_the_peer() {
    // Method: 4 connections with 16 requests in flight each, and 2 workers of 1 ms per request:
    // 2,000 a second, whatever part of the slice counts.
    let mut network = Network::faultless(3);
    network.service = Service::Exponential(Nanos(MS));
    network.workers = 2;
    network.faults.split = 200;
    let mut pool = connected(pool(network, deep(4, BODY, 16, 3), BODY));
    run(&mut pool, 60 * SECOND, SECOND);
    let tally = pool.tally();
    assert_eq!(tally.outcomes.ok(), tally.outcomes.sent());
    let throughput = 4.0 * tally.clocked as f64 / (tally.connection_ns as f64 / 1e9);
    assert!((throughput / 2_000.0 - 1.0).abs() < 0.02, "{throughput}");
    // Bytes of discarded responses do not count, even if they arrive together with counted ones.
    let response_bytes = response("", BODY).len() as u64;
    assert_eq!(tally.bytes, tally.outcomes.ok() * response_bytes);
}

#[test]
fn responses_are_never_mixed_up() {
    // Method: two requests of different lengths and with different response bodies, mixed by
    // weight, to a peer that recognizes each of them. All responses are hashed.
    let bodies: [&[u8]; 2] = [b"first", b"the second one"];
    for depth in [1, 4, 16] {
        let mut plan = deep(3, bodies[0], depth, 9);
        plan.verify_every = 1;
        plan.requests[0].weight = 3;
        let mut second = plan.requests[0].clone();
        second.request.path = "/2".to_owned();
        second.weight = 2;
        second.expect.body = Some(BodyIdentity {
            bytes: bodies[1].len() as u64,
            xxh3: xxh3_64(bodies[1]),
        });
        plan.requests.push(second);
        let choices = [0, 1].map(|place| {
            let request = plan.requests[place].request.encode(true).unwrap();
            (request, response("", bodies[place]))
        });
        let steps = vec![PeerStep::Choose(Arc::new(choices)), PeerStep::Again];
        let mut network = Network::faultless(7);
        network.faults.split = 300;
        network.faults.short_send = 300;
        let mut pool = connected(pool_of_steps(
            network,
            plan,
            Box::new(move |_| steps.clone()),
        ));
        run_requests(&mut pool, 2_000);
        let tally = pool.tally();
        assert_eq!(tally.outcomes.ok(), 2_000, "{:?}", tally.outcomes);
        assert_eq!(tally.hashed, 2_000);
        // A request that waits for room in the send buffer is not late because of the generator.
        assert_eq!(tally.times.lateness.max_us(), Some(1), "depth {depth}");
        // Two of five requests are the second one, whose body is longer.
        let of_second = (tally.body_bytes - 5 * 2_000) / (14 - 5);
        assert!((700..900).contains(&of_second), "{of_second}");
    }
}

#[test]
fn requests_after_an_announced_close_are_sent_again_without_a_failure() {
    // Method: one connection at a time with four requests in flight. The peer sends three
    // responses, the third with `Connection: close`, so every close but the last one leaves one
    // request without a response.
    let [plain, last] = ["", "Connection: close\r\n"].map(|field| response(field, BODY));
    let responses = vec![Arc::clone(&plain), plain, last];
    let mut pool = scripted(deep(1, BODY, 4, 1), responses, PeerStep::Close);
    let ran = run_requests(&mut pool, 300);
    let tally = pool.tally();
    assert!(!ran.stopped_responding);
    assert_eq!((tally.outcomes.ok(), tally.outcomes.failed()), (300, 0));
    assert_eq!(count(tally, Outcome::IdleClose), 99);
    assert_eq!(tally.connects, 99);
}

#[test]
fn a_close_after_each_response_costs_time_and_never_a_request() {
    // Method: the worst such peer: sixteen requests in flight, one response per connection. A
    // request may go out sixteen times and still gets its response.
    let responses = vec![response("Connection: close\r\n", BODY)];
    let mut pool = scripted(deep(2, BODY, 16, 1), responses, PeerStep::Close);
    run_requests(&mut pool, 200);
    let tally = pool.tally();
    assert_eq!((tally.outcomes.ok(), tally.outcomes.failed()), (200, 0));
    assert_eq!(tally.connects, 198);
    // The time of a response includes the connections that were made meanwhile.
    let unpipelined_ns = {
        let mut pool = scripted(
            deep(2, BODY, 1, 1),
            vec![response("Connection: close\r\n", BODY)],
            PeerStep::Close,
        );
        run_requests(&mut pool, 200);
        pool.tally().connection_ns
    };
    assert!(tally.connection_ns >= unpipelined_ns);
}

#[test]
fn a_break_fails_requests_on_a_new_connection_and_spares_others_once() {
    // Method: four requests in flight on one connection after the other. A new connection that
    // closes at once fails all four. A connection that sends one response and then resets leaves
    // three requests behind, which are sent once more, and so on.
    let silent = Vec::new();
    let mut pool = scripted(deep(1, BODY, 4, 1), silent, PeerStep::Close);
    run_requests(&mut pool, 4);
    let failed = pool.tally().outcomes.failed();
    assert_eq!(pool.tally().outcomes.sent(), failed);

    let responses = vec![response("", BODY)];
    let mut pool = scripted(deep(1, BODY, 4, 1), responses, PeerStep::Reset);
    let ran = run_requests(&mut pool, 100);
    let tally = pool.tally();
    assert!(!ran.stopped_responding);
    let (ok, reset) = (tally.outcomes.ok(), count(tally, Outcome::Reset));
    assert_eq!(ok + reset, 100);
    // Each connection sends one response; no other request goes out a third time.
    assert!(reset > 0 && count(tally, Outcome::IdleClose) <= 100);
    assert!(ok >= 100 / 3, "{ok}");
}

#[test]
fn a_response_that_breaks_off_fails_and_later_ones_do_not() {
    // Method: three requests in flight; the peer sends a complete response and most of another
    // one, and then closes. The second response has begun, the third has not. The close is a
    // reset, since there is a request that the peer has not read.
    let half = response("", BODY);
    let half: Arc<[u8]> = half[..half.len() - 2].into();
    let responses = vec![response("", BODY), half];
    let mut pool = scripted(deep(1, BODY, 3, 1), responses, PeerStep::Close);
    run_requests(&mut pool, 3);
    let tally = pool.tally();
    assert_eq!(tally.outcomes.ok(), 2);
    // The second response was cut, and the third request got its response on a new connection.
    assert_eq!(count(tally, Outcome::Reset), 1);
    assert_eq!(count(tally, Outcome::IdleClose), 1);
    assert_eq!(tally.outcomes.sent(), 4);
}

#[test]
fn unrequested_bytes_make_the_last_response_malformed() {
    // Method: one byte too many after each response. It makes the last response in flight
    // malformed; before another response it is no valid head.
    for depth in [1, 4] {
        let longer: Arc<[u8]> = [&response("", BODY)[..], b"!"].concat().into();
        let mut pool = scripted(deep(1, BODY, depth, 1), vec![longer], PeerStep::Again);
        let ran = run_requests(&mut pool, 100);
        let tally = pool.tally();
        let malformed = count(tally, Outcome::Malformed);
        assert_eq!(tally.outcomes.completed(), tally.outcomes.ok());
        match depth {
            1 => assert!(ran.stopped_responding && tally.outcomes.ok() == 0),
            _ => assert!(malformed >= tally.outcomes.ok() / 2, "{:?}", tally.outcomes),
        }
        assert!(malformed > 0);
    }
}

#[test]
fn requests_after_a_timeout_are_sent_once_more_and_their_time_runs_on() {
    // Method: the first connection sends two responses, one every 2 ms, and then none; the second
    // connection responds every ms. With four in flight, the third and the fourth request time out
    // together, and the two requests after them get their responses on the second connection.
    let mut plan = deep(1, BODY, 4, 1);
    plan.timeout = Duration::from_nanos(10 * MS);
    let request = plan.requests[0].request.encode(true).unwrap().len();
    let hello = response("", BODY);
    let steps = move |number| {
        let (receive, respond) = (PeerStep::Await(request), PeerStep::Send(Arc::clone(&hello)));
        let slow = [
            receive.clone(),
            PeerStep::Work,
            PeerStep::Work,
            respond.clone(),
        ];
        match number {
            0 => [slow.clone(), slow].concat(),
            _ => vec![receive, PeerStep::Work, respond, PeerStep::Again],
        }
    };
    let mut network = Network::faultless(1);
    network.service = Service::Constant(Nanos(MS));
    let mut pool = connected(pool_of_steps(network, plan, Box::new(steps)));
    let start = pool.now();
    let ran = run_requests(&mut pool, 6);
    let tally = pool.tally();
    assert_eq!(tally.outcomes.ok(), 4);
    assert_eq!(count(tally, Outcome::Timeout), 2);
    assert_eq!(count(tally, Outcome::IdleClose), 2);
    assert_eq!((tally.outcomes.sent(), tally.connects), (8, 1));
    // The fifth and the sixth were sent after two responses. Their responses come after the
    // timeout, a connect of 50 us, a round trip, and 1 and 2 ms of work.
    let times_us = [2_050, 4_050, 11_100 - 4_050, 12_100 - 4_050];
    assert_eq!(tally.response_ns_sum, times_us.iter().sum::<u64>() * 1_000);
    assert_eq!(ran.end.since(start), Nanos(12_100_000));
}

#[test]
fn a_subject_that_never_responds_ends_the_slice() {
    // Method: an hour of load, with sixteen requests in flight, and no response ever.
    let mut network = Network::faultless(2);
    network.faults.silence = 1000;
    let mut plan = deep(3, BODY, 16, 2);
    plan.timeout = Duration::from_nanos(123_456_789);
    let mut pool = connected(pool(network, plan, BODY));
    let start = pool.now();
    let ran = run(&mut pool, 3_600 * SECOND, 0);
    assert!(ran.stopped_responding);
    assert_eq!(ran.end, start.plus(Nanos(123_456_789)));
    assert_eq!(count(pool.tally(), Outcome::Timeout), 48);
    assert_eq!(pool.tally().outcomes.sent(), 48);
}

#[test]
fn a_due_request_takes_an_idle_connection_first_and_then_any_with_room() {
    // Method: one connection, with responses in 150 us of which one worker takes 100 us; 9,000
    // requests a second are due. One at a time they would queue; with two in flight each is sent
    // when it is due.
    let mut plan = deep(1, BODY, 2, 1);
    plan.pacing.arrivals = Arrivals::Constant {
        per_s: "9000".parse().unwrap(),
    };
    let mut single = connected(pool(Network::faultless(1), plan.clone(), BODY));
    run(&mut single, SECOND, 0);
    let tally = single.tally();
    assert_eq!(
        (tally.outcomes.ok(), tally.unsent, tally.queued),
        (9_000, 0, 0)
    );
    assert_eq!(tally.times.lateness.max_us(), Some(1));

    // With a second connection, each request finds an idle one.
    plan.connections = 2;
    let mut pool = connected(pool(Network::faultless(1), plan, BODY));
    run(&mut pool, SECOND, 0);
    let tally = pool.tally();
    assert_eq!((tally.outcomes.ok(), tally.queued), (9_000, 0));
    assert_eq!(tally.response_ns_sum, 9_000 * 150_000);
}

#[test]
fn a_full_window_makes_due_requests_wait() {
    // Method: 20,000 requests a second are due on one connection that serves 10,000, with two in
    // flight: half are sent, late because the window is full, and the rest are never sent.
    let mut plan = deep(1, BODY, 2, 1);
    plan.pacing.arrivals = Arrivals::Constant {
        per_s: "20000".parse().unwrap(),
    };
    let mut pool = connected(pool(Network::faultless(1), plan, BODY));
    run(&mut pool, 100 * MS, 0);
    let tally = pool.tally();
    assert_eq!(tally.outcomes.ok() + tally.unsent, 2_000);
    assert!(tally.outcomes.ok().abs_diff(1_000) <= 2);
    // Only the first two requests found room in the window.
    assert_eq!(tally.queued, tally.outcomes.ok() - 2);
    assert_eq!(tally.times.lateness.max_us(), Some(1));
}

#[test]
fn every_planned_request_is_accounted_for_with_all_faults_at_any_depth() {
    // Method: seeds with all faults, constant and Poisson arrivals, at depth 4 and 16, below and
    // above the peer's capacity.
    for seed in 0..80 {
        let per_s = ["2000", "30000"][usize::try_from(seed % 2).unwrap()];
        let per_s = per_s.parse().unwrap();
        let arrivals = match seed % 3 {
            0 => Arrivals::Poisson { per_s },
            _ => Arrivals::Constant { per_s },
        };
        let schedule = Schedule::new(&arrivals, seed + 1).unwrap();
        let mut plan = deep(
            8,
            BODY,
            [4, 16][usize::try_from(seed / 2 % 2).unwrap()],
            seed,
        );
        plan.pacing.arrivals = arrivals;
        plan.timeout = Duration::from_nanos(50 * MS);
        let mut pool = connected(pool(all_faults(seed), plan, BODY));
        let ran = run(&mut pool, 100 * MS, 0);
        let tally = pool.tally();
        let resent = count(tally, Outcome::IdleClose);
        let accounted = tally.outcomes.sent() - resent + tally.unsent;
        if !ran.stopped_responding {
            let planned = schedule.count_before(Nanos(100 * MS));
            assert_eq!(accounted, planned, "seed {seed}");
        }
        assert_eq!(pool.in_flight(), 0, "seed {seed}");
    }
}

#[test]
fn stages_park_connections_with_their_windows() {
    // Method: 2 connections for 100 ms, then 10 for 100 ms, each with four requests in flight and
    // a response every 100 us.
    let mut plan = deep(10, BODY, 4, 1);
    plan.pacing.connections_over_time = Some("2@100ms,10@100ms".parse().unwrap());
    let mut pool = connected(pool(Network::faultless(1), plan, BODY));
    run(&mut pool, 200 * MS, 0);
    let ok = pool.tally().outcomes.ok();
    let expected = 2 * 2_000 + 8 * 1_000;
    assert!(ok.abs_diff(expected) <= 60, "{ok} instead of {expected}");
}

#[test]
fn a_window_is_one_if_requests_cannot_overlap() {
    // Method: plans of sixteen in flight, without keep-alive, with think times, and with sessions.
    let deep: LoadPlan = deep(1, BODY, 16, 1);
    assert_eq!(deep.window(), 16);
    let changes: [fn(&mut LoadPlan); 3] = [
        |plan| plan.keep_alive = false,
        |plan| plan.pacing.think_ns = 1,
        |plan| plan.pacing.session_calls = Some(3),
    ];
    for change in changes {
        let mut plan = deep.clone();
        change(&mut plan);
        assert_eq!(plan.window(), 1);
        assert_eq!(plan.requests[0].weight, 1);
        let mut pool = connected(pool(Network::faultless(1), plan, BODY));
        run_requests(&mut pool, 20);
        assert_eq!(pool.tally().outcomes.ok(), 20);
        // One at a time: no request waited for another response.
        assert!(pool.tally().times.service.max_us() <= Some(150));
    }
}
