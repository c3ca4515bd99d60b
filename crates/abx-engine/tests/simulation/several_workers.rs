//! Workers of one slice: only all of them together decide that a subject has stopped responding.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abx_engine::testing::{Http, Part, Pool, SharedSlice, SliceParticipants};
use abx_evidence::Outcome;
use abx_sys::Nanos;
use abx_twin::{Network, PeerStep, Service, Sim};

use crate::loads::{MS, count, plan, pool_of_steps, run};

const TIMEOUT: u64 = 100 * MS;

/// One worker with one connection to a peer that never responds; `on_accept` is called for each
/// connection.
fn mute(on_accept: impl Fn(usize) + Send + Sync + 'static) -> Pool<Sim, Http> {
    let mut plan = plan(1, b"", 1);
    plan.timeout = Duration::from_nanos(TIMEOUT);
    let script = move |number| {
        on_accept(number);
        Vec::new()
    };
    let mut pool = pool_of_steps(Network::faultless(1), plan, Box::new(script));
    pool.connect_all(&AtomicBool::new(false));
    pool
}

/// Fifteen other workers, which no longer need the load.
fn others(shared: &Arc<SharedSlice>) -> Vec<SliceParticipants> {
    let mut others = members(shared, 15);
    others.iter_mut().for_each(SliceParticipants::leave);
    others
}

fn members(shared: &Arc<SharedSlice>, count: usize) -> Vec<SliceParticipants> {
    let member = |_| SliceParticipants::of(shared, Part::Connections);
    (0..count).map(member).collect()
}

#[test]
fn timeouts_of_one_worker_do_not_stop_a_subject_that_responds_to_others() {
    // Method: 16 workers with one connection each; one connection never gets a response, and the
    // others do. Its worker continues until the slice is over, and waits for the request that is
    // then in flight to time out.
    let shared = SharedSlice::new(16, 16);
    let _others = others(&shared);
    let mut pool = mute(|_| ());
    pool.joins(SliceParticipants::of(&shared, Part::Connections));
    let start = pool.now();
    let ran = run(&mut pool, 10 * TIMEOUT - MS, 0);
    assert!(!ran.stopped_responding);
    assert_eq!(count(pool.tally(), Outcome::Timeout), 10);
    assert_eq!(ran.end, start.plus(Nanos(10 * TIMEOUT)));
}

#[test]
fn a_subject_that_responds_to_no_worker_has_stopped() {
    // Method: the same, except that the other workers get no more responses either: before the
    // first timeout, and from the third request on, which is then not waited for. A worker without
    // connections does not wait for responses.
    let shared = SharedSlice::new(17, 16);
    drop(others(&shared));
    drop(SliceParticipants::of(&shared, Part::Nothing));
    let mut pool = mute(|_| ());
    pool.joins(SliceParticipants::of(&shared, Part::Connections));
    let start = pool.now();
    let ran = run(&mut pool, 100 * TIMEOUT, 0);
    assert!(ran.stopped_responding);
    assert_eq!(ran.end, start.plus(Nanos(TIMEOUT)));
    assert_eq!(count(pool.tally(), Outcome::Timeout), 1);

    let shared = SharedSlice::new(16, 16);
    let others = Mutex::new(others(&shared));
    let mut pool = mute(move |number| {
        if number == 2 {
            others.lock().unwrap().clear();
        }
    });
    pool.joins(SliceParticipants::of(&shared, Part::Connections));
    let start = pool.now();
    let ran = run(&mut pool, 100 * TIMEOUT, 0);
    assert!(ran.stopped_responding);
    assert_eq!(ran.end, start.plus(Nanos(2 * TIMEOUT)));
    let tally = pool.tally();
    assert_eq!(count(tally, Outcome::Timeout), 2);
    assert_eq!(
        (count(tally, Outcome::Unfinished), tally.outcomes.sent()),
        (1, 3)
    );
}

#[test]
fn the_load_continues_until_the_last_of_64_workers_has_settled() {
    // Method: a slice of 10 ms on a peer that takes 1 ms per request, with one worker, and with 63
    // other workers, which settle when the peer accepts its 41st connection. The counted requests
    // are the same; only more requests are sent after the slice's end.
    let ran = |shared: &Arc<SharedSlice>, others: Vec<SliceParticipants>| {
        let mut network = Network::faultless(1);
        network.service = Service::Constant(Nanos(MS));
        let others = Mutex::new(others);
        let mut plan = plan(1, b"", 1);
        plan.keep_alive = false;
        let request = plan.requests[0].request.encode(false).unwrap().len();
        let script = move |number| {
            if number == 40 {
                others
                    .lock()
                    .unwrap()
                    .iter_mut()
                    .for_each(SliceParticipants::leave);
            }
            let response: Arc<[u8]> = (&b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"[..]).into();
            vec![
                PeerStep::Await(request),
                PeerStep::Work,
                PeerStep::Send(response),
                PeerStep::Close,
            ]
        };
        let mut pool = pool_of_steps(network, plan, Box::new(script));
        pool.joins(SliceParticipants::of(shared, Part::Connections));
        let start = pool.now();
        let ran = run(&mut pool, 10 * MS, 2 * MS);
        assert!(!ran.stopped_responding);
        (pool.tally().clone(), ran.end.since(start))
    };
    let (alone, alone_ns) = ran(&SharedSlice::new(1, 1), Vec::new());
    let shared = SharedSlice::new(64, 64);
    let (together, together_ns) = ran(&shared, members(&shared, 63));
    assert!(alone.clocked > 5 && alone.connection_ns > 0);
    assert_eq!(together.clocked, alone.clocked);
    assert_eq!(together.connection_ns, alone.connection_ns);
    assert_eq!(together.outcomes, alone.outcomes);
    assert!(together.discarded.sent() > alone.discarded.sent() + 20);
    assert!(together_ns > alone_ns.plus(Nanos(20 * MS)));
}
