//! Sessions over the simulated network: their steps, and how they end.

use std::sync::Arc;

use abx_engine::testing::{Io, SessionRunner};
use abx_engine::{
    SessionClient, SessionFailure, SessionListener, SessionOptions, SessionPlan, SessionResponse,
    SessionStep, Stopper,
};
use abx_sys::{Nanos, SocketTuning};
use abx_twin::{Network, PeerStep, Sim};

use crate::loads::{MS, SECOND};

pub(crate) const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
pub(crate) const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Sends this many requests at most, and records the events.
#[derive(Default)]
struct Tracer {
    left: u64,
    begins: Vec<(Nanos, u64, u64)>,
    connects: Vec<Nanos>,
    sent: u64,
    heads: u64,
    bodies: Vec<u8>,
    responses: Vec<SessionResponse>,
    failures: Vec<(Nanos, SessionFailure)>,
    ends: Vec<(Nanos, u64)>,
    ticks: Vec<Nanos>,
}

impl SessionClient for Tracer {
    fn append_request(&mut self, bytes: &mut Vec<u8>) -> bool {
        let is_left = self.left > 0;
        if is_left {
            self.left -= 1;
            bytes.extend_from_slice(REQUEST);
        }
        is_left
    }
}

impl SessionListener for Tracer {
    fn on_step(&mut self, at: Nanos, step: SessionStep<'_>) {
        match step {
            SessionStep::Begins { open, together } => self.begins.push((at, open, together)),
            SessionStep::Opened(took) => self.connects.push(took),
            SessionStep::Sent { call, request } => {
                assert_eq!((call, request), (self.sent, REQUEST));
                self.sent += 1;
            }
            SessionStep::Head { bytes, .. } => self.heads += bytes.len() as u64,
            SessionStep::Body { bytes, .. } => self.bodies.extend_from_slice(bytes),
            SessionStep::Responded { response, .. } => self.responses.push(response),
            SessionStep::Fails(failure) => self.failures.push((at, failure)),
            SessionStep::Ends { lasted, responses } => self.ends.push((lasted, responses)),
            SessionStep::Ticks => self.ticks.push(at),
        }
    }
}

pub(crate) fn terms() -> SessionOptions {
    SessionOptions {
        address: Sim::ADDRESS,
        tls: None,
        timeout: None,
        response_timeout: Nanos(0),
        tick: Nanos(SECOND),
        ends_after: None,
        tuning: SocketTuning::default(),
    }
}

fn load(sessions: u64, calls: u32) -> SessionPlan {
    SessionPlan {
        terms: terms(),
        sessions,
        begins: None,
        calls,
        burst: 1,
        heads_only: false,
    }
}

/// The events of a load on a peer that follows these steps on each connection.
fn trace_over(network: Network, load: SessionPlan, steps: &[PeerStep]) -> Tracer {
    let steps = steps.to_vec();
    let sim = Sim::new(network, Box::new(move |_| steps.clone()));
    let mut tracer = Tracer {
        left: u64::MAX,
        ..Tracer::default()
    };
    SessionRunner::new(sim, load, &mut tracer).run(&Stopper::default());
    tracer
}

fn trace(load: SessionPlan, steps: &[PeerStep]) -> Tracer {
    trace_over(Network::faultless(1), load, steps)
}

pub(crate) const READ: PeerStep = PeerStep::Await(REQUEST.len());

pub(crate) fn send(response: &str) -> PeerStep {
    PeerStep::Send(Arc::from(response.as_bytes()))
}

/// Responds to every request.
pub(crate) fn serving() -> Vec<PeerStep> {
    vec![READ, PeerStep::Work, send(HELLO), PeerStep::Again]
}

#[test]
fn sessions_follow_each_other_and_each_call_its_response() {
    // Method: three sessions of four calls without a schedule. A session takes its connect and four
    // times 150 us: a round trip of 50 us and 100 us of work.
    let trace = trace(load(3, 4), &serving());
    assert_eq!((trace.begins.len(), trace.sent), (3, 12));
    assert!(
        trace
            .begins
            .iter()
            .all(|(_, open, together)| (*open, *together) == (1, 1))
    );
    assert!(trace.failures.is_empty());
    let head = (HELLO.len() - "hello".len()) as u64;
    assert_eq!(trace.heads, 12 * head);
    assert_eq!(trace.bodies, "hello".repeat(12).into_bytes());
    for response in &trace.responses {
        assert_eq!(
            *response,
            SessionResponse {
                status: 200,
                head_bytes: head,
                body_bytes: 5,
                footer_bytes: 0,
                first_byte: Nanos(150_000),
                rest: Nanos(0),
                is_cut: false,
            }
        );
    }
    let lasted = trace
        .connects
        .iter()
        .map(|took| (took.plus(Nanos(4 * 150_000)), 4));
    assert_eq!(trace.ends, lasted.collect::<Vec<_>>());
}

#[test]
fn sessions_begin_when_they_are_due() {
    // Method: four due times, two of them equal; each session lasts for less than a millisecond.
    let due = [0, 2 * MS, 2 * MS, 7 * MS].map(Nanos);
    let trace = trace(
        SessionPlan {
            begins: Some(Box::new(due.into_iter())),
            ..load(10, 1)
        },
        &serving(),
    );
    let expected = [(0, 1, 1), (2, 1, 1), (2, 2, 2), (7, 1, 1)];
    let expected = expected.map(|(ms, open, together)| (Nanos(ms * MS), open, together));
    assert_eq!(trace.begins, expected);
    assert_eq!(trace.responses.len(), 4);
}

#[test]
fn bursts_go_out_together_on_any_network() {
    // Method: five calls in bursts of two, the last of which has one call, over a network that cuts
    // sends short and splits responses.
    for seed in 0..50 {
        let mut network = Network::faultless(seed);
        (network.faults.split, network.faults.short_send) = (500, 500);
        let load = SessionPlan {
            burst: 2,
            ..load(4, 5)
        };
        let trace = trace_over(network, load, &serving());
        assert_eq!((trace.sent, trace.responses.len()), (20, 20), "seed {seed}");
        assert_eq!(trace.bodies, "hello".repeat(20).into_bytes());
        assert!(trace.failures.is_empty());
        assert!(trace.ends.iter().all(|(_, responses)| *responses == 5));
    }
}

#[test]
fn a_session_with_calls_left_has_failed() {
    // Method: sessions of one call and of three, and a peer that closes after its first response,
    // whose body has a length, ends with the connection, or is cut. As in httperf, one more request
    // goes out and fails.
    let sized = HELLO;
    let until_close = "HTTP/1.1 200 OK\r\n\r\nhello";
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello";
    for (response, is_cut) in [(sized, false), (until_close, false), (cut, true)] {
        for (calls, failures) in [(1, 0), (3, 2)] {
            let steps = [READ, send(response), PeerStep::Close];
            let trace = trace(load(2, calls), &steps);
            assert_eq!(trace.responses.len(), 2, "{response}");
            for response in &trace.responses {
                assert_eq!((response.is_cut, response.body_bytes), (is_cut, 5));
            }
            assert_eq!(trace.sent, 2 + failures, "{response} of {calls}");
            let expected = vec![SessionFailure::Reset; failures as usize];
            let failed = trace.failures.into_iter().map(|(_, failure)| failure);
            assert_eq!(failed.collect::<Vec<_>>(), expected);
            assert!(trace.ends.iter().all(|(_, responses)| *responses == 1));
        }
    }
}

#[test]
fn a_session_without_a_response_has_failed() {
    // Method: a peer that closes or resets after the request, with and without a part of the head,
    // and a network that refuses every connection.
    let part = "HTTP/1.1 2";
    for last in [PeerStep::Close, PeerStep::Reset] {
        for before in [vec![READ], vec![READ, send(part)]] {
            let steps = [before, vec![last.clone()]].concat();
            let trace = trace(load(2, 1), &steps);
            assert_eq!((trace.sent, trace.responses.len()), (2, 0));
            for (_, failure) in &trace.failures {
                assert_eq!(*failure, SessionFailure::Reset);
            }
            assert_eq!((trace.failures.len(), trace.ends.len()), (2, 2));
        }
    }
    let mut network = Network::faultless(1);
    network.faults.refused = 1000;
    let trace = trace_over(network, load(5, 2), &serving());
    assert_eq!(
        (trace.begins.len(), trace.ends.len(), trace.sent),
        (5, 5, 0)
    );
    assert!(
        trace
            .failures
            .iter()
            .all(|(_, failure)| *failure == SessionFailure::Refused)
    );
    assert_eq!(trace.failures.len(), 5);
}

#[test]
fn bytes_after_the_last_chunk_are_the_footer() {
    // Method: chunked bodies with and without data, and with and without a trailer. httperf 0.9.0
    // counts the same for these bytes.
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (body, bytes, footer) in [
        ("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", 11, 2),
        ("5\r\nhello\r\n0\r\nX-T: abc\r\n\r\n", 5, 12),
        ("0\r\n\r\n", 0, 2),
    ] {
        for seed in 0..20 {
            let mut network = Network::faultless(seed);
            network.faults.split = 500;
            let steps = [READ, send(&format!("{chunked}{body}")), PeerStep::Again];
            let trace = trace_over(network, load(1, 2), &steps);
            assert_eq!(trace.responses.len(), 2);
            for response in &trace.responses {
                assert_eq!(response.head_bytes, chunked.len() as u64);
                assert_eq!(
                    (response.body_bytes, response.footer_bytes),
                    (bytes, footer)
                );
            }
        }
    }
}

#[test]
fn a_session_without_progress_is_given_up() {
    // Method: a peer that stays silent after one response, and a timeout of a second, to which the
    // response timeout of two seconds is added for the first byte.
    let steps = [READ, PeerStep::Work, send(HELLO), READ];
    for (response_timeout, expected) in [(0, 1), (2, 3)] {
        let load = SessionPlan {
            terms: SessionOptions {
                timeout: Some(Nanos(SECOND)),
                response_timeout: Nanos(response_timeout * SECOND),
                ..terms()
            },
            ..load(1, 2)
        };
        let trace = trace(load, &steps);
        assert_eq!((trace.sent, trace.responses.len()), (2, 1));
        let last_sent = trace.connects[0].plus(Nanos(150_000));
        let at = last_sent.plus(Nanos(expected * SECOND));
        assert_eq!(trace.failures, [(at, SessionFailure::Timeout)]);
        assert_eq!(trace.ticks.len() as u64, expected);
    }
}

#[test]
fn a_load_ends_at_its_limit() {
    // Method: loads with a limit of a second and a half: sessions without a response, endlessly
    // many sessions, and two sessions that end before the limit.
    let steps = serving();
    for (sessions, calls, steps, is_early) in [
        (2, 1, &[READ, READ][..], false),
        (u64::MAX, 2, &steps, false),
        (2, 2, &steps, true),
    ] {
        let mut load = load(sessions, calls);
        load.terms.ends_after = Some(Nanos(SECOND + SECOND / 2));
        let steps = steps.to_vec();
        let sim = Sim::new(Network::faultless(1), Box::new(move |_| steps.clone()));
        let mut tracer = Tracer {
            left: u64::MAX,
            ..Tracer::default()
        };
        let took = SessionRunner::new(sim, load, &mut tracer).run(&Stopper::default());
        assert_eq!(took < Nanos(SECOND), is_early, "{took:?}");
        assert!(took < Nanos(2 * SECOND), "{took:?}");
        assert_eq!(tracer.ticks.len(), usize::from(!is_early));
        assert_eq!(tracer.failures, Vec::new());
    }
}

#[test]
fn a_session_without_requests_left_ends() {
    // Method: three sessions of two calls that have three requests in total.
    let steps = serving();
    let sim = Sim::new(Network::faultless(1), Box::new(move |_| steps.clone()));
    let mut tracer = Tracer {
        left: 3,
        ..Tracer::default()
    };
    SessionRunner::new(sim, load(3, 2), &mut tracer).run(&Stopper::default());
    let responses: Vec<u64> = tracer
        .ends
        .iter()
        .map(|(_, responses)| *responses)
        .collect();
    assert_eq!((responses, tracer.failures), (vec![2, 1, 0], Vec::new()));
}

/// The steps of a peer that responds with endlessly many of these chunks.
pub(crate) fn endless(piece: &str) -> Vec<PeerStep> {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    vec![READ, send(head), PeerStep::Flood(piece.as_bytes().into())]
}

pub(crate) const ENDLESS: [&str; 2] = ["1\r\nx\r\n", "11\r\ndata: 123456789\n\n\r\n"];

#[test]
fn an_endless_response_hides_neither_a_stop_nor_the_end_of_the_load() {
    // Method: sessions whose only response does not end. A stop ends the load at 50 ms, or its
    // limit does.
    for piece in ENDLESS {
        for is_stopped in [false, true] {
            let mut load = load(2, 1);
            let end = Nanos(50 * MS);
            load.terms.ends_after = (!is_stopped).then_some(end);
            let mut sim = Sim::new(Network::faultless(1), Box::new(move |_| endless(piece)));
            let stop = Arc::default();
            let start = sim.now();
            sim.stops_at(
                if is_stopped {
                    start.plus(end)
                } else {
                    Nanos::MAX
                },
                &stop,
            );
            let mut tracer = Tracer {
                left: u64::MAX,
                ..Tracer::default()
            };
            let took = SessionRunner::new(sim, load, &mut tracer).run(&Stopper::of(&stop));
            assert!(
                (end..end.plus(Nanos(20 * MS))).contains(&took),
                "{piece}: {took:?}"
            );
            assert!(tracer.responses.is_empty() && !tracer.bodies.is_empty());
        }
    }
}

#[test]
fn interim_heads_without_end_fail_their_session() {
    // Method: three sessions that get nothing but interim heads.
    let early = PeerStep::Flood(b"HTTP/1.1 103 Early Hints\r\n\r\n"[..].into());
    let trace = trace(load(3, 1), &[READ, early]);
    assert_eq!(trace.failures.len(), 3);
    for (_, failure) in trace.failures {
        let SessionFailure::Other(why) = failure else {
            panic!("{failure:?}");
        };
        assert!(why.contains("more than 32 interim responses"), "{why}");
    }
}
