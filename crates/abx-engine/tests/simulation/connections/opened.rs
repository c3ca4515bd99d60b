//! The opening of connections before a slice, in virtual time: its deadlines, connections that were
//! never tried, and the rate.

use std::sync::atomic::AtomicBool;

use abx_engine::LoadPlan;
use abx_engine::schedule::ScheduleShare;
use abx_engine::testing::{Http, Pool};
use abx_evidence::{Outcome, Outcomes};
use abx_sys::Nanos;
use abx_twin::{Accepting, Network, Sim, UNUSED_ADDRESS};

use crate::loads::{MS, SECOND, plan, pool, run_requests};

const BODY: &[u8] = b"hello";

/// The result of an opening.
#[derive(Debug)]
struct Opened {
    standing: usize,
    new: usize,
    took: Nanos,
    failures: Vec<(Outcome, u64)>,
    /// When each connect began, in ns since the beginning of the opening.
    connects: Vec<u64>,
}

/// Connections with a timeout of a second.
fn many(connections: u32) -> LoadPlan {
    plan(connections, BODY, 1)
}

fn open(pool: &mut Pool<Sim, Http>) -> Opened {
    let start = pool.now();
    let before = pool.io.connects.len();
    let (standing, new) = pool.connect_all(&AtomicBool::new(false));
    assert!(pool.are_connection_counts_right());
    let failures: Outcomes = std::mem::take(&mut pool.connect_failures);
    let took = pool.now().since(start);
    let connects = &pool.io.connects[before..];
    Opened {
        standing,
        new,
        took,
        failures: failures.iter().collect(),
        connects: connects.iter().map(|at| at.since(start).0).collect(),
    }
}

fn accepting(accepting: Accepting) -> Network {
    Network {
        accepting,
        ..Network::faultless(1)
    }
}

/// Accepts one connection every 7 ms, so that the last of 128 waits for 0.9 s.
fn slowly() -> Accepting {
    Accepting {
        each: Nanos(7 * MS),
        most: usize::MAX,
        from: Nanos(0),
    }
}

#[test]
fn an_opening_may_take_long_if_each_connect_is_in_time() {
    // Method: 1,000 connections at 7 ms each take 7 s, which is seven timeouts, and none of them
    // waits for longer than 128 times 7 ms.
    let mut pool = pool(accepting(slowly()), many(1_000), BODY);
    let opened = open(&mut pool);
    assert_eq!((opened.standing, opened.new), (1_000, 1_000));
    assert_eq!(opened.failures, []);
    assert!(opened.took > Nanos(6 * SECOND), "{opened:?}");
    run_requests(&mut pool, 2_000);
    assert_eq!(pool.tally().outcomes.ok(), 2_000);
    assert_eq!(pool.tally().connects, 0);
}

#[test]
fn a_connect_has_its_own_timeout_while_others_succeed() {
    // Method: at 10 ms each, 128 simultaneous connects would each wait for 1.28 s, beyond the
    // timeout of a second. Connects that time out leave as many in progress as the server can
    // accept in time, and the opening continues to the last connection.
    let network = accepting(Accepting {
        each: Nanos(10 * MS),
        ..slowly()
    });
    let opened = open(&mut pool(network, many(500), BODY));
    let [(Outcome::Timeout, timeouts)] = opened.failures[..] else {
        panic!("{opened:?}");
    };
    assert_eq!(opened.standing as u64 + timeouts, 500);
    assert!((28..100).contains(&timeouts), "{opened:?}");
    assert_eq!(opened.connects.len(), 500);
    assert!(opened.took > Nanos(4 * SECOND));
}

#[test]
fn a_server_that_stops_accepting_is_charged_with_tried_connects_only() {
    // Method: 300 of 1,000 connections are accepted. The connects in progress at that moment run
    // into their timeout, no others are tried, and the opening ends exactly then.
    let network = accepting(Accepting {
        most: 300,
        ..slowly()
    });
    let opened = open(&mut pool(network, many(1_000), BODY));
    assert_eq!(opened.standing, 300);
    let tried = opened.connects.len() as u64;
    assert_eq!(tried, 300 + 128);
    assert_eq!(
        opened.failures,
        [(Outcome::Timeout, 128), (Outcome::Unopened, 1_000 - tried)]
    );
    let last = *opened.connects.last().unwrap();
    assert_eq!(opened.took, Nanos(last + SECOND));
}

#[test]
fn an_opening_continues_if_a_server_recovers_within_a_timeout() {
    // Method: a server that accepts nothing for the first 0.9 s.
    let network = accepting(Accepting {
        from: Nanos(1_900 * MS),
        ..slowly()
    });
    let mut pool = pool(network, many(100), BODY);
    assert_eq!(pool.now(), Nanos(SECOND));
    let opened = open(&mut pool);
    // All connects began at once; the first is accepted at 0.9 s, and 14 more are in time.
    assert_eq!(opened.standing, 15);
    assert_eq!(opened.failures, [(Outcome::Timeout, 85)]);
    assert_eq!(opened.took, Nanos(SECOND));
}

#[test]
fn a_machine_without_ports_reports_this_and_stops() {
    // Method: ports for 200 connections, with one address and with three, each of which is tried
    // once more. Nothing counts against the server, and the 200 connections are open.
    for (addresses, tries) in [(0, 1), (1, 1), (3, 3)] {
        let network = Network {
            ports: 200,
            ..accepting(slowly())
        };
        let mut plan = many(1_000);
        plan.sources = (0..addresses).map(|_| Sim::ADDRESS.ip()).collect();
        let opened = open(&mut pool(network, plan, BODY));
        assert_eq!(opened.standing, 200);
        let [no_port, unopened] = [Outcome::NoPort, Outcome::Unopened].map(|outcome| {
            let failure = opened.failures.iter().find(|failure| failure.0 == outcome);
            failure.unwrap_or_else(|| panic!("{opened:?}")).1
        });
        assert_eq!((opened.failures.len(), no_port + unopened), (2, 800));
        // A success between two failures resets the count; then few connects are in progress.
        assert!((tries..=tries * 128).contains(&no_port), "{opened:?}");
        let is_harmless = |(outcome, _): &(Outcome, u64)| !outcome.is_failure();
        assert!(opened.failures.iter().all(is_harmless), "{opened:?}");
    }
}

#[test]
fn connections_are_opened_at_exactly_the_rate() {
    // Method: 3,000/s by one worker, and by two workers with their shares. Each connect begins at
    // its due time to the nanosecond, however slow the server is.
    let due = |number: u64| number * SECOND / 3_000;
    let mut plan = many(400);
    plan.open_rate = Some(3_000);
    let opened = open(&mut pool(Network::faultless(1), plan.clone(), BODY));
    assert_eq!(opened.standing, 400);
    assert!(
        opened.connects.iter().copied().eq((0..400).map(due)),
        "{opened:?}"
    );

    plan.connections = 200;
    let mut connects: Vec<u64> = Vec::new();
    for worker in 0..2 {
        let network = accepting(Accepting {
            each: Nanos(2 * MS),
            ..slowly()
        });
        let half = pool(network, plan.clone(), BODY);
        let opened = open(&mut half.with_share(ScheduleShare::of(worker, 2)));
        assert_eq!((opened.standing, &opened.failures[..]), (200, &[][..]));
        connects.extend(opened.connects);
    }
    connects.sort_unstable();
    assert!(connects.into_iter().eq((0..400).map(due)));
}

#[test]
fn a_rate_slower_than_the_timeout_is_no_silence() {
    // Method: one connection every 4 s and a timeout of a second; then the same without a
    // listener, which ends when nothing has succeeded for one timeout.
    let mut plan = many(5);
    plan.opening_limit = Some("0.25".parse().unwrap());
    let opened = open(&mut pool(Network::faultless(1), plan.clone(), BODY));
    assert_eq!((opened.standing, &opened.failures[..]), (5, &[][..]));
    plan.address = UNUSED_ADDRESS.into();
    let opened = open(&mut pool(Network::faultless(1), plan, BODY));
    assert_eq!(
        opened.failures,
        [(Outcome::Refused, 1), (Outcome::Unopened, 4)]
    );
    assert!(opened.took <= Nanos(SECOND));
}

#[test]
fn a_refusing_server_gets_a_connect_for_each_connection() {
    // Method: more refusals than simultaneous connects, so that each refusal makes room for the
    // next connect. A refusal takes no time or one round trip.
    let mut plan = many(1_000);
    plan.address = UNUSED_ADDRESS.into();
    let opened = open(&mut pool(Network::faultless(1), plan, BODY));
    assert_eq!(opened.failures, [(Outcome::Refused, 1_000)]);
    assert!(opened.took < Nanos(10 * MS), "{:?}", opened.took);
}

#[test]
fn an_opening_ends_in_the_time_that_it_has() {
    // Method: half a second for connections that need 7 s. Connects in progress are given up, the
    // others are never tried, and a second opening continues where the first one ended.
    let mut plan = many(1_000);
    plan.open_within_ns = Some(SECOND / 2);
    let mut pool = pool(accepting(slowly()), plan, BODY);
    let opened = open(&mut pool);
    assert_eq!(opened.took, Nanos(SECOND / 2));
    let [
        (Outcome::Unopened, untried),
        (Outcome::Unfinished, in_progress),
    ] = opened.failures[..]
    else {
        panic!("{opened:?}");
    };
    assert_eq!(in_progress, 128);
    assert_eq!(opened.standing as u64 + untried + in_progress, 1_000);
    let again = open(&mut pool);
    assert_eq!(again.standing, opened.standing + again.new);
}

#[test]
fn a_stop_ends_an_opening_at_once() {
    // Method: an opening that is stopped beforehand: nothing is tried, and no failure counts
    // against the subject.
    let mut pool = pool(Network::faultless(1), many(300), BODY);
    assert_eq!(pool.connect_all(&AtomicBool::new(true)), (0, 0));
    let failures: Vec<_> = pool.connect_failures.iter().collect();
    assert_eq!(failures, [(Outcome::Unopened, 300)]);
}
