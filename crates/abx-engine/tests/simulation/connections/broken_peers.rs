//! Peers that break in every way: a slice ends soon after its counted part, and no broken response
//! counts as a success.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use abx_engine::testing::{Http, Part, Pool, SharedSlice, SliceParticipants};
use abx_evidence::Outcome;
use abx_sys::Nanos;
use abx_twin::{Network, PeerStep, Service, Sim, UNUSED_ADDRESS};

use crate::loads::{MS, SECOND, count, plan, pool_of_steps, run};

const CONNECTIONS: u32 = 10;
const SLICE: u64 = 100 * MS;
/// The timeout of [`plan`].
const TIMEOUT: u64 = SECOND;
/// The end of a slice may be this late, since a loop over a broken peer reads its clock late.
const LATE: u64 = 60 * MS;
const RIGHT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright";

struct BrokenPeer {
    name: &'static str,
    /// The steps of a broken connection after it has read a request.
    steps: Vec<PeerStep>,
    /// One connection in this many is broken, beginning with the first; the others are correct.
    one_of: usize,
    /// A broken connection sends this many correct responses first.
    after: usize,
    /// The outcome of requests on broken connections.
    outcome: Outcome,
}

fn send(bytes: &[u8]) -> PeerStep {
    PeerStep::Send(bytes.into())
}

/// Sends the same response to every request.
fn always(bytes: &[u8]) -> Vec<PeerStep> {
    vec![send(bytes), PeerStep::Again]
}

/// Sends `head`, and then `part` for longer than a slice and its timeout last.
fn endless(head: &[u8], part: &[u8]) -> Vec<PeerStep> {
    let part = send(part);
    let parts = (0..1_300).flat_map(|_| [PeerStep::Work, part.clone()]);
    std::iter::once(send(head)).chain(parts).collect()
}

/// Breaks at its first request, on all connections.
fn peer(name: &'static str, steps: Vec<PeerStep>, outcome: Outcome) -> BrokenPeer {
    BrokenPeer {
        name,
        steps,
        one_of: 1,
        after: 0,
        outcome,
    }
}

/// Goes mute on one connection in `one_of`, after this many responses on each.
fn mute(one_of: usize, after: usize) -> BrokenPeer {
    BrokenPeer {
        one_of,
        after,
        ..peer("mute", Vec::new(), Outcome::Timeout)
    }
}

/// Peers whose responses do not come to their end.
fn unfinished() -> Vec<BrokenPeer> {
    use Outcome::{EarlyClose, EmptyResponse, HeadTooLarge, Reset, Timeout};
    let half = send(&RIGHT[..RIGHT.len() / 2]);
    let trickle = RIGHT.iter().flat_map(|byte| {
        let pause = std::iter::repeat_n(PeerStep::Work, 30);
        pause.chain([send(&[*byte])])
    });
    let [closed, reset] = [PeerStep::Close, PeerStep::Reset];
    let half_closed = vec![half.clone(), closed.clone()];
    let half_reset = vec![half.clone(), reset.clone()];
    let plain = b"HTTP/1.1 200 OK\r\n";
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let endless_head = endless(plain, b"X: y\r\n");
    let endless_body = endless(chunked, b"1\r\nx\r\n");
    vec![
        mute(1, 0),
        mute(1, 3),
        mute(1, 60),
        mute(10, 0),
        mute(2, 20),
        peer("trickle", trickle.collect(), Timeout),
        peer("half", vec![half], Timeout),
        peer("half, then closed", half_closed, EarlyClose),
        peer("half, then reset", half_reset, Reset),
        peer("reset", vec![reset], Reset),
        peer("closed", vec![closed], EmptyResponse),
        peer("endless head", endless_head, HeadTooLarge),
        peer("endless body", endless_body, Timeout),
    ]
}

/// Peers that send wrong responses.
fn wrong() -> Vec<BrokenPeer> {
    use Outcome::{Malformed, OtherProtocol, WrongBody, WrongLength, WrongStatus};
    let wrong = |status: &str, body: &str| {
        let length = body.len();
        let text = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}");
        always(text.as_bytes())
    };
    let garbage = always(b"\0\x01\x02 no answer\r\n\r\n");
    let tls = always(b"\x15\x03\x01\0\x02\x02\x46");
    let another_head = always(b"HTTP/1.1 200\tOK\r\n\r\n");
    vec![
        peer("garbage", garbage, OtherProtocol),
        peer("TLS", tls, OtherProtocol),
        peer("another head", another_head, Malformed),
        peer("503", wrong("503 No", ""), WrongStatus),
        peer("redirect", wrong("302 Found", ""), WrongStatus),
        peer("another body", wrong("200 OK", "wrong"), WrongBody),
        peer("a shorter body", wrong("200 OK", "righ"), WrongLength),
        peer("a longer body", wrong("200 OK", "rights"), WrongLength),
    ]
}

impl BrokenPeer {
    fn pool(&self, timeout_ns: u64) -> Pool<Sim, Http> {
        let mut plan = plan(CONNECTIONS, b"right", 1);
        plan.verify_every = 1;
        plan.timeout = Duration::from_nanos(timeout_ns);
        let bytes = plan.requests[0].request.encode(true).unwrap().len();
        let (steps, one_of, after) = (self.steps.clone(), self.one_of, self.after);
        let right: Arc<[u8]> = RIGHT.into();
        let script = move |number: usize| {
            let correct = [
                PeerStep::Await(bytes),
                PeerStep::Work,
                PeerStep::Send(Arc::clone(&right)),
            ];
            if !number.is_multiple_of(one_of) {
                return [&correct[..], &[PeerStep::Again]].concat();
            }
            let before = std::iter::repeat_n(&correct[..], after).flatten().cloned();
            let broken = [PeerStep::Await(bytes), PeerStep::Work];
            before.chain(broken).chain(steps.clone()).collect()
        };
        let mut network = Network::faultless(1);
        network.service = Service::Constant(Nanos(MS));
        let mut pool = pool_of_steps(network, plan, Box::new(script));
        pool.connect_all(&AtomicBool::new(false));
        pool
    }
}

#[test]
fn a_slice_of_a_broken_peer_ends_within_a_timeout() {
    // Method: each fault in virtual time, from the first request on or after correct responses, on
    // some connections or on all. The slice waits for one timeout, and not for two in a row.
    let mut unexpected = Vec::new();
    for fault in unfinished().into_iter().chain(wrong()) {
        let mut pool = fault.pool(TIMEOUT);
        let start = pool.now();
        let ran = run(&mut pool, SLICE, SLICE / 10);
        let mut outcomes = pool.tally().outcomes.clone();
        outcomes.merge(&pool.tally().discarded);
        let is_in_time = ran.end.since(start).0 <= SLICE + TIMEOUT + LATE;
        let expected = outcomes.count(fault.outcome);
        let is_only_failure = expected > 0 && outcomes.failed() == expected;
        let is_partly_correct = fault.one_of > 1 || fault.after > 0;
        if !is_in_time || !is_only_failure || is_partly_correct != (outcomes.ok() > 0) {
            let BrokenPeer {
                name,
                one_of,
                after,
                ..
            } = fault;
            unexpected.push(format!(
                "{name} after {after} on 1 of {one_of}: {ran:?} {outcomes:?}"
            ));
        }
    }
    assert!(unexpected.is_empty(), "{unexpected:#?}");
}

#[test]
fn a_peer_that_does_not_listen_ends_the_slice_at_once() {
    // Method: a peer that never responds, and an address at which nothing listens.
    let mut silent = mute(1, 0).pool(TIMEOUT);
    let mut plan = plan(CONNECTIONS, b"right", 1);
    plan.address = UNUSED_ADDRESS.into();
    let mut refused = pool_of_steps(Network::faultless(1), plan, Box::new(|_| Vec::new()));
    for pool in [&mut silent, &mut refused] {
        let start = pool.now();
        let ran = run(pool, SLICE, 0);
        assert!(ran.stopped_responding);
        assert!(ran.end.since(start).0 <= SLICE + TIMEOUT);
    }
    assert!(count(refused.tally(), Outcome::Refused) > 0);
}

#[test]
fn awaited_connections_are_reported_during_a_long_wait_only() {
    // Method: every second connection goes mute; the report is read 2 s after the start. With a
    // timeout of a quarter of a second the wait is too short to be reported.
    let awaited = |timeout: u64| {
        let mut pool = mute(2, 20).pool(timeout);
        let shared = SharedSlice::new(1, 1);
        pool.joins(SliceParticipants::of(&shared, Part::Connections));
        let start = pool.now();
        run(&mut pool, SLICE, 0);
        shared.awaited(start.plus(Nanos(2 * SECOND)))
    };
    let report = awaited(3 * SECOND).expect("the slice waits for seconds");
    assert_eq!(report.connections, u64::from(CONNECTIONS / 2));
    assert_eq!(report.at_most_ns, 3 * SECOND);
    assert!(
        (SECOND..2 * SECOND).contains(&report.waited_ns),
        "{report:?}"
    );
    assert_eq!(awaited(SECOND / 4), None);
}
