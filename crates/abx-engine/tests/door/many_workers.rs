//! More workers than this machine has processors: their parts add up to the requested load.

use std::time::Duration;

use abx_engine::Pacing;
use abx_engine::schedule::{Arrivals, Schedule, ScheduleShare};
use abx_evidence::{Outcome, SliceTally};

use crate::peers::peer::Peer;
use crate::{HELLO, engine, load, outcomes, requests, run, span_ms};

const MS: u64 = 1_000_000;

#[test]
fn a_number_of_requests_is_exact_over_any_number_of_workers() {
    // Method: 16 and 64 workers with more, as many and fewer connections. Each worker with a
    // connection sends its share of the requests.
    let peer = Peer::responding(HELLO);
    for (threads, connections, count) in [(16, 50, 1_003), (64, 64, 1_000), (64, 10, 333)] {
        let slice = run(
            threads,
            &load(peer.address(), connections),
            &requests(count),
        );
        assert_eq!(outcomes(&slice), [(Outcome::Ok, count)]);
        assert_eq!(slice.tally.clocks, u64::from(connections));
        assert!(!slice.stopped_responding);
    }
}

#[test]
fn a_rate_is_exact_over_any_number_of_workers() {
    // Method: the schedule's requests in the counted part of a slice are those that 16 and 64
    // workers sent or could not send in time. There are fewer connections than workers.
    let peer = Peer::responding(HELLO);
    let per_s = "2000".parse().unwrap();
    let arrivals = [Arrivals::Constant { per_s }, Arrivals::Poisson { per_s }];
    for arrivals in arrivals {
        for (threads, connections) in [(16, 50), (64, 64), (64, 10)] {
            let mut load = load(peer.address(), connections);
            load.pacing = Pacing {
                arrivals: arrivals.clone(),
                ..Pacing::default()
            };
            let slice = run(threads, &load, &span_ms(200, 50));
            // Each slice draws its own arrivals; this is the first.
            let schedule = Schedule::new(&arrivals, load.seed + 1).unwrap();
            let due = schedule.pacer(ScheduleShare::WHOLE);
            let due = due.take_while(|due| due.0 < 200 * MS);
            let due = due.filter(|due| due.0 >= 50 * MS).count() as u64;
            let tally = &slice.tally;
            assert_eq!(tally.outcomes.sent() + tally.unsent, due, "{arrivals:?}");
        }
    }
}

#[test]
fn workers_without_connections_do_not_report_on_the_subject() {
    // Method: 64 workers for 3 connections, to a peer that responds and to one that does not.
    let peer = Peer::responding(HELLO);
    let ran = |address| -> SliceTally {
        let mut load = load(address, 3);
        load.timeout = Duration::from_nanos(100 * MS);
        let mut engine = engine(64);
        let (pool, report) = engine.open(&load).unwrap();
        assert_eq!(report.standing, 3);
        engine.slice(pool, &span_ms(50, 5)).unwrap()
    };
    let slice = ran(peer.address());
    assert!(!slice.stopped_responding);
    assert_eq!(slice.tally.clocks, 3);
    let mute = Peer::start(|mut connection| while connection.read_request() {});
    assert!(ran(mute.address()).stopped_responding);
}
