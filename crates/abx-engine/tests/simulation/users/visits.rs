//! Visits over the simulated network: which calls are sent, when and over which connection, and
//! how visits end. The expected failures are those of httperf 0.9.0 with such servers.

use std::sync::Arc;

use abx_engine::testing::{Io, VisitRunner};
use abx_engine::{
    SessionFailure, SessionListener, SessionOptions, SessionStep, Stopper, VisitBurst, VisitCall,
    VisitClient, VisitEnd, VisitPlan,
};
use abx_sys::Nanos;
use abx_twin::{Network, PeerScript, PeerStep, Sim};

use crate::loads::{MS, SECOND};
use crate::users::sessions::{ENDLESS, HELLO, READ, REQUEST, endless, send, serving, terms};

/// Always makes the same visit, and records the events.
#[derive(Default)]
struct Visitor {
    bursts: Vec<VisitBurst>,
    written: Vec<VisitCall>,
    open: Vec<u64>,
    sent: Vec<(Nanos, u64)>,
    responded: Vec<(Nanos, u64)>,
    failures: Vec<SessionFailure>,
    closed: usize,
    ends: Vec<VisitEnd>,
}

impl SessionListener for Visitor {
    fn on_step(&mut self, at: Nanos, step: SessionStep<'_>) {
        match step {
            SessionStep::Begins { open, .. } => self.open.push(open),
            SessionStep::Sent { call, request } => {
                assert_eq!(request, REQUEST);
                self.sent.push((at, call));
            }
            SessionStep::Responded { call, .. } => self.responded.push((at, call)),
            SessionStep::Fails(failure) => self.failures.push(failure),
            SessionStep::Ends { .. } => self.closed += 1,
            _ => {}
        }
    }
}

impl VisitClient for Visitor {
    fn visits(&mut self) -> Vec<VisitBurst> {
        self.bursts.clone()
    }

    fn write_request(&mut self, call: VisitCall, bytes: &mut Vec<u8>) -> bool {
        self.written.push(call);
        bytes.extend_from_slice(REQUEST);
        false
    }

    fn ends(&mut self, _: Nanos, end: VisitEnd) {
        self.ends.push(end);
    }
}

fn load(visits: u64) -> VisitPlan {
    VisitPlan {
        terms: terms(),
        visits,
        begins: None,
        connections: 4,
        piped: usize::MAX,
        keeps: true,
        failure_status: None,
        retries: false,
    }
}

/// Bursts of these numbers of calls, with a think time of this many ms after each.
fn bursts(calls: &[u32], think_ms: u64) -> Vec<VisitBurst> {
    let think = Nanos(think_ms * MS);
    calls
        .iter()
        .map(|&calls| VisitBurst { calls, think })
        .collect()
}

/// The events of a load on a peer that follows this script.
fn trace_over(
    network: Network,
    load: VisitPlan,
    bursts: Vec<VisitBurst>,
    script: PeerScript,
) -> Visitor {
    let mut visitor = Visitor {
        bursts,
        ..Visitor::default()
    };
    let sim = Sim::new(network, script);
    VisitRunner::new(sim, load, &mut visitor).run(&Stopper::default());
    assert_eq!(visitor.closed, visitor.open.len(), "some are left open");
    visitor
}

fn trace(load: VisitPlan, bursts: Vec<VisitBurst>, steps: &[PeerStep]) -> Visitor {
    let steps = steps.to_vec();
    let script: PeerScript = Box::new(move |_| steps.clone());
    trace_over(Network::faultless(1), load, bursts, script)
}

/// The connections and responses of a visit, and whether it is complete.
fn counts(end: &VisitEnd) -> (u64, u64, bool) {
    (end.connections, end.responses, end.is_whole)
}

#[test]
fn the_first_call_of_a_burst_is_served_before_the_others_go_out_together() {
    // Method: two visits, each with a burst of three calls and one of two, 10 ms apart, to a peer
    // whose responses take 150 us.
    let trace = trace(load(2), bursts(&[3, 2], 10), &serving());
    assert_eq!(trace.ends.len(), 2);
    assert!(trace.ends.iter().all(|end| counts(end) == (1, 5, true)));
    assert!(trace.failures.is_empty());
    // The second visit begins before the connection of the first one is closed.
    assert_eq!(trace.open, [1, 2]);
    let calls: Vec<u64> = trace.sent.iter().map(|(_, call)| *call).collect();
    assert_eq!(calls, (0..10).collect::<Vec<_>>());
    let written = trace
        .written
        .iter()
        .map(|call| (call.visit, call.place as u64, call.number));
    let expected = (0..10).map(|number| (number / 5, number % 5, number));
    assert!(written.eq(expected));
    for first in [0, 5] {
        let sent: Vec<Nanos> = (trace.sent[first..first + 5].iter())
            .map(|(at, _)| *at)
            .collect();
        let responded = |call: usize| trace.responded[first + call].0;
        assert_eq!(sent[1], responded(0));
        assert_eq!(sent[2], sent[1]);
        assert_eq!(sent[3], responded(2).plus(Nanos(10 * MS)));
        assert_eq!(sent[4], responded(3));
    }
}

#[test]
fn calls_go_over_further_connections_when_those_before_are_full() {
    // Method: a burst of eight calls, where the first is sent alone and each connection takes two
    // of the others, over a network that splits bytes: the seven go over four connections,
    // if the load allows as many.
    for (connections, expected) in [(4, 4), (5, 4), (3, 3)] {
        for seed in 0..20 {
            let mut network = Network::faultless(seed);
            (network.faults.split, network.faults.short_send) = (500, 500);
            let load = VisitPlan {
                piped: 2,
                connections,
                ..load(2)
            };
            let steps = serving();
            let script: PeerScript = Box::new(move |_| steps.clone());
            let trace = trace_over(network, load, bursts(&[8], 0), script);
            assert!(
                trace
                    .ends
                    .iter()
                    .all(|end| counts(end) == (expected, 8, true))
            );
            assert_eq!((trace.sent.len(), trace.responded.len()), (16, 16));
        }
    }
}

#[test]
fn a_connection_that_is_not_kept_has_one_call() {
    // Method: a burst of three calls and one of one, to a peer that would serve more calls on each
    // connection.
    let load = VisitPlan {
        keeps: false,
        ..load(2)
    };
    let trace = trace(load, bursts(&[3, 1], 1), &serving());
    assert!(trace.ends.iter().all(|end| counts(end) == (4, 4, true)));
    assert_eq!((trace.sent.len(), trace.failures.len()), (8, 0));
}

#[test]
fn calls_on_a_closed_connection_are_sent_again() {
    // Method: a peer that closes after each response, in the think time of the visit. The next call
    // fails with the closed connection, and is sent again over a new one.
    let steps = [READ, PeerStep::Work, send(HELLO), PeerStep::Close];
    let trace = trace(load(2), bursts(&[1, 1, 1], 5), &steps);
    assert_eq!(trace.ends.len(), 2);
    assert!(trace.ends.iter().all(|end| counts(end) == (3, 3, true)));
    assert_eq!(trace.failures, vec![SessionFailure::Reset; 4]);
    let calls: Vec<u64> = trace.sent.iter().map(|(_, call)| *call).collect();
    assert_eq!(calls, [0, 1, 1, 2, 2, 3, 4, 4, 5, 5]);
    assert_eq!(trace.written.len(), 6);
}

#[test]
fn a_call_without_a_response_on_a_new_connection_fails_its_visit() {
    // Method: a peer that closes before its first response; then a peer that responds once, and
    // only on its first connection.
    let mute = [READ, PeerStep::Close];
    let trace = trace(load(2), bursts(&[1, 1], 5), &mute);
    assert!(trace.ends.iter().all(|end| counts(end) == (1, 0, false)));
    assert_eq!((trace.sent.len(), trace.failures.len()), (2, 2));

    let script: PeerScript = Box::new(move |connection| match connection {
        0 => vec![READ, send(HELLO), READ, PeerStep::Close],
        _ => mute.to_vec(),
    });
    let trace = trace_over(
        Network::faultless(1),
        load(1),
        bursts(&[1, 1, 1], 5),
        script,
    );
    assert_eq!(
        trace.ends.iter().map(counts).collect::<Vec<_>>(),
        [(2, 1, false)]
    );
    assert_eq!((trace.sent.len(), trace.failures.len()), (3, 2));
}

#[test]
fn calls_are_retried_until_there_is_a_response() {
    // Method: a peer that responds from the third connection on.
    let script: PeerScript = Box::new(|connection| match connection {
        0 | 1 => vec![READ, PeerStep::Close],
        _ => serving(),
    });
    let load = VisitPlan {
        retries: true,
        ..load(1)
    };
    let trace = trace_over(Network::faultless(1), load, bursts(&[2, 1], 5), script);
    assert_eq!(
        trace.ends.iter().map(counts).collect::<Vec<_>>(),
        [(3, 3, true)]
    );
    assert_eq!((trace.sent.len(), trace.failures.len()), (5, 2));

    // A peer that responds with the failing status twice, and then with success.
    let busy = "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n";
    let steps = [READ, send(busy), READ, send(busy), READ, send(HELLO)];
    let load = VisitPlan {
        failure_status: Some(503),
        retries: true,
        ..self::load(1)
    };
    let trace = self::trace(load, bursts(&[1], 0), &steps);
    assert_eq!(
        trace.ends.iter().map(counts).collect::<Vec<_>>(),
        [(1, 3, true)]
    );
    let calls: Vec<u64> = trace.sent.iter().map(|(_, call)| *call).collect();
    assert_eq!(calls, [0, 0, 0]);
}

#[test]
fn the_wait_for_a_response_is_limited_and_thinking_is_no_wait() {
    // Method: a timeout of a second and a think time of three, to a peer that always responds and
    // to one that responds once.
    let patient = |visits| VisitPlan {
        terms: SessionOptions {
            timeout: Some(Nanos(SECOND)),
            ..terms()
        },
        ..load(visits)
    };
    let trace_of = |steps: &[PeerStep]| trace(patient(2), bursts(&[1, 1], 3_000), steps);
    let thinking = trace_of(&serving());
    assert!(thinking.ends.iter().all(|end| counts(end) == (1, 2, true)));

    let silent = trace_of(&[READ, send(HELLO), READ]);
    assert!(silent.ends.iter().all(|end| counts(end) == (1, 1, false)));
    assert_eq!(silent.failures, vec![SessionFailure::Timeout; 2]);
}

#[test]
fn a_response_of_the_failing_status_ends_the_visit() {
    // Method: a peer that always responds with 404, and loads in which 404 is the failing status
    // and in which it is not.
    let steps = [
        READ,
        send("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"),
        PeerStep::Again,
    ];
    for (failure_status, expected) in [(Some(404), (1, 1, false)), (Some(500), (1, 2, true))] {
        let load = VisitPlan {
            failure_status,
            ..load(2)
        };
        let trace = trace(load, bursts(&[1, 1], 1), &steps);
        assert!(trace.ends.iter().all(|end| counts(end) == expected));
        assert_eq!(trace.ends.len(), 2);
        assert!(trace.failures.is_empty());
    }
}

#[test]
fn visits_without_a_server_fail_and_the_next_ones_begin() {
    // Method: visits in turn and by a schedule, over a network that refuses every connection.
    for begins in [None, Some([0, 2, 2, 5].map(|ms| Nanos(ms * MS)))] {
        let mut network = Network::faultless(1);
        network.faults.refused = 1000;
        let moments = begins.map(|due| Box::new(due.into_iter()) as Box<dyn Iterator<Item = _>>);
        let load = VisitPlan {
            begins: moments,
            ..load(4)
        };
        let steps = serving();
        let script: PeerScript = Box::new(move |_| steps.clone());
        let trace = trace_over(network, load, bursts(&[2, 1], 1), script);
        assert_eq!(trace.failures, vec![SessionFailure::Refused; 4]);
        assert_eq!(trace.ends.len(), 4);
        assert!(
            trace
                .ends
                .iter()
                .all(|end| end.responses == 0 && !end.is_whole)
        );
    }
}

#[test]
fn an_endless_response_hides_neither_a_stop_nor_the_end_of_the_load() {
    // Method: a visit whose first response does not end, alongside visits that begin every 10 ms
    // and are served. A stop ends the load at 100 ms, or its limit does.
    for piece in ENDLESS {
        for is_stopped in [false, true] {
            let moments = [0, 10, 20, 30].map(|ms| Nanos(ms * MS));
            let mut load = VisitPlan {
                begins: Some(Box::new(moments.into_iter())),
                ..load(4)
            };
            let end = Nanos(100 * MS);
            load.terms.ends_after = (!is_stopped).then_some(end);
            let script: PeerScript = Box::new(move |number| match number {
                0 => endless(piece),
                _ => serving(),
            });
            let mut sim = Sim::new(Network::faultless(1), script);
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
            let mut visitor = Visitor {
                bursts: bursts(&[1], 0),
                ..Visitor::default()
            };
            let took = VisitRunner::new(sim, load, &mut visitor).run(&Stopper::of(&stop));
            assert!(
                (end..end.plus(Nanos(20 * MS))).contains(&took),
                "{piece}: {took:?}"
            );
            assert_eq!(visitor.responded.len(), 3, "{piece}");
        }
    }
}
