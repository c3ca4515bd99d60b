//! Pools: opening, refreshing, several at once.

use std::net::TcpListener;
use std::time::Duration;

use abx_engine::{EngineError, EnginePlan};
use abx_evidence::{Outcome, Wait};
use abx_sys::{ListenOptions, Socket};

use crate::peers::peer::Peer;
use crate::{HELLO, NOBODY, engine, load, outcomes, requests, until};

#[test]
fn connections_closed_while_idle_are_reopened_before_the_slice() {
    // Method: connections that close after their first response. After a refresh, the slice makes
    // no connection and sends no request twice.
    let peer = Peer::start(|mut connection| {
        if connection.read_request() {
            connection.send(HELLO);
        }
    });
    let mut engine = engine(2);
    let (pool, report) = engine.open(&load(peer.address(), 4)).unwrap();
    assert_eq!((report.standing, report.failures.sent()), (4, 0));
    for round in 1..4 {
        let slice = engine.slice(pool, &requests(4)).unwrap();
        assert_eq!(outcomes(&slice), [(Outcome::Ok, 4)]);
        assert_eq!(slice.tally.connects, 0);
        until("the close", || peer.finished() == 4 * round);
        let report = engine.refresh(pool).unwrap();
        assert_eq!((report.standing, report.failures.sent()), (4, 0));
        until("the reopening", || peer.connections() == 4 * (round + 1));
    }
}

#[test]
fn many_closed_connections_are_all_reopened() {
    // Method: more connections than a wait returns events, all closed at once.
    const COUNT: usize = 600;
    abx_sys::limits::raise_descriptor_limit().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut engine = engine(1);
    let plan = load(listener.local_addr().unwrap(), COUNT as u32);
    let accept_all = || {
        let listener = listener.try_clone().unwrap();
        std::thread::spawn(move || -> Vec<_> {
            (0..COUNT).map(|_| listener.accept().unwrap()).collect()
        })
    };
    let accepting = accept_all();
    let (pool, report) = engine.open(&plan).unwrap();
    assert_eq!(report.standing, COUNT);
    drop(accepting.join().unwrap());
    let accepting = accept_all();
    let report = engine.refresh(pool).unwrap();

    assert_eq!((report.standing, report.failures.sent()), (COUNT, 0));
    assert_eq!(accepting.join().unwrap().len(), COUNT);
}

#[test]
fn every_connection_that_is_not_open_has_a_reason() {
    // Method: a listener that accepts nothing and has room for a few of 200,
    // which is more than are tried at one time.
    let options = ListenOptions {
        backlog: 1,
        shares_port: false,
    };
    let listener = Socket::listen("127.0.0.1:0".parse().unwrap(), options).unwrap();
    let mut plan = load(listener.local_address().unwrap(), 200);
    plan.timeout = Duration::from_nanos(100_000_000);
    let (_, report) = engine(1).open(&plan).unwrap();

    assert!(report.standing < 200);
    assert_eq!(report.standing as u64 + report.failures.sent(), 200);
    // Only those tried at one time count against the subject.
    let timeouts = report.failures.count(Outcome::Timeout);
    let untried = report.failures.count(Outcome::Unopened);
    assert_eq!((timeouts, report.failures.failed()), (128, 128));
    assert_eq!(timeouts + untried, report.failures.sent());
}

#[test]
fn a_long_opening_reports_its_progress() {
    // Method: a listener that accepts nothing, so that most connects are pending for seconds.
    let options = ListenOptions {
        backlog: 1,
        shares_port: false,
    };
    let listener = Socket::listen("127.0.0.1:0".parse().unwrap(), options).unwrap();
    let mut plan = load(listener.local_address().unwrap(), 100);
    plan.timeout = Duration::from_nanos(4_000_000_000);
    let mut awaited_connections = Vec::new();
    let mut engine = engine(2);
    let (pool, report) = engine
        .open_watched(&plan, &mut |this_awaited_connections| {
            awaited_connections.push(this_awaited_connections)
        })
        .unwrap();
    let last = awaited_connections.last().expect("it took seconds");
    assert_eq!((last.open, last.asked), (report.standing as u64, 100));
    assert_eq!(last.at_most.as_secs(), 4);
    assert!(last.open > 0 && !last.silent.is_zero(), "{last:?}");
    // An opening that takes no time is not reported.
    let responding = Peer::responding(HELLO);
    let mut count = 0;
    let plan = load(responding.address(), 4);
    engine.open_watched(&plan, &mut |_| count += 1).unwrap();
    assert_eq!(count, 0);
    engine.close(pool);
}

#[test]
fn a_stopped_engine_opens_nothing() {
    // Method: stop, then open more connections than are tried at one time.
    let peer = Peer::responding(HELLO);
    let mut engine = engine(1);
    engine.stopper().stop();
    let (_, report) = engine.open(&load(peer.address(), 200)).unwrap();

    assert_eq!(report.standing, 0);
    assert_eq!(report.failures.count(Outcome::Unopened), 200);
}

#[test]
fn a_subject_that_comes_back_is_loaded_again() {
    // Method: every connection is refused once and rests at the end of a slice. Then the address
    // accepts connections without a response, and a slice has fewer requests than connections:
    // connections that rested in the first slice take no part.
    let gone = TcpListener::bind("127.0.0.78:0").unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let mut plan = load(address, 3);
    plan.timeout = Duration::from_nanos(300_000_000);
    let mut engine = engine(1);
    let (pool, report) = engine.open(&plan).unwrap();
    assert_eq!(report.standing, 0);
    let slice = engine.slice(pool, &requests(3)).unwrap();
    assert_eq!(outcomes(&slice), [(Outcome::Refused, 3)]);
    let listener = TcpListener::bind(address).unwrap();
    let slice = engine.slice(pool, &requests(1)).unwrap();
    assert_eq!(outcomes(&slice), [(Outcome::Timeout, 1)]);
    assert_eq!(slice.tally.silent, 2);
    drop(listener);
}

#[test]
fn idle_connections_of_one_pool_do_not_disturb_another() {
    // Method: the peer of the idle pool closes all its connections while the other pool is loaded;
    // the counts of both are exact before and after.
    let idle_peer = Peer::start(|mut connection| {
        if connection.read_request() {
            connection.send(HELLO);
        }
    });
    let busy_peer = Peer::responding(HELLO);
    let mut engine = engine(2);
    let (idle, _) = engine.open(&load(idle_peer.address(), 6)).unwrap();
    let (busy, _) = engine.open(&load(busy_peer.address(), 6)).unwrap();
    for round in 1..5 {
        let slice = engine.slice(idle, &requests(6)).unwrap();
        assert_eq!(outcomes(&slice), [(Outcome::Ok, 6)]);
        let slice = engine.slice(busy, &requests(200)).unwrap();
        assert_eq!(outcomes(&slice), [(Outcome::Ok, 200)]);
        assert_eq!(slice.tally.connects, 0);
        until("the close", || idle_peer.finished() == 6 * round);
        assert_eq!(engine.refresh(idle).unwrap().standing, 6);
    }
    assert_eq!(busy_peer.connections(), 6);
    engine.close(idle);
    let slice = engine.slice(busy, &requests(10)).unwrap();
    assert_eq!(outcomes(&slice), [(Outcome::Ok, 10)]);
}

#[test]
fn a_closed_pool_has_no_connections() {
    // Method: the peer holds each connection until the client ends it.
    let peer = Peer::start(|mut connection| connection.hold());
    let mut engine = engine(2);
    let (pool, _) = engine.open(&load(peer.address(), 5)).unwrap();
    until("the last connection", || peer.connections() == 5);
    engine.close(pool);
    until("the end of the last connection", || peer.finished() == 5);
}

#[test]
fn invalid_plans_are_refused() {
    // Method: no thread, no connection, a method with a blank.
    let plan = EnginePlan {
        threads: 0,
        cpus: Vec::new(),
        wait: Wait::Asleep,
    };
    let none = abx_engine::Engine::start(&plan);
    assert!(matches!(none, Err(EngineError::Zero { what: "threads" })));
    let mut engine = engine(1);
    let none = engine.open(&load(NOBODY, 0));
    assert!(matches!(
        none,
        Err(EngineError::Zero {
            what: "connections"
        })
    ));
    let mut plan = load(NOBODY, 1);
    plan.requests[0].request.method = "GET IT".to_owned();
    assert!(matches!(engine.open(&plan), Err(EngineError::Request(_))));
}
