//! Scenarios and sessions over TLS whose server sends a record that cannot be decrypted.

use std::sync::atomic::Ordering;

use abx_engine::{
    ScenarioPlan, ScenarioStep, SessionClient, SessionFailure, SessionListener, SessionOptions,
    SessionPlan, SessionStep, Stopper, TextTemplate, run_scenario, run_sessions,
};
use abx_evidence::Wait;
use abx_evidence::scenario::ScenarioEnd;
use abx_sys::{Nanos, SocketTuning};

use super::peer::{BOTH, TlsPeer, believing};

#[test]
fn a_step_that_meets_a_broken_record_fails_as_tls() {
    // Method: a session of two steps over one connection, whose first response has such a record
    // behind it.
    let peer = TlsPeer::start(BOTH, false);
    peer.seen.breaks_after.store(1, Ordering::SeqCst);
    let plain = || TextTemplate::parse("/", |_| None).unwrap();
    let step = |name: &str| ScenarioStep {
        name: name.to_owned(),
        method: "GET".to_owned(),
        path: plain(),
        headers: Vec::new(),
        body: TextTemplate::parse("", |_| None).unwrap(),
        status: 200_u16.into(),
        think: None,
        extract: Vec::new(),
    };
    let plan = ScenarioPlan {
        address: peer.address.into(),
        tls: Some(believing()),
        sources: Vec::new(),
        host: "a".to_owned(),
        users: 1,
        end: ScenarioEnd::AfterSessions(3),
        values: vec![None; 2],
        steps: vec![step("first"), step("second")],
        keeps_cookies: false,
        body_max: 1000,
        timeout: Nanos(30_000_000_000),
        seed: 1,
        threads: 1,
        cpus: Vec::new(),
        wait: Wait::Asleep,
    };
    let ran = run_scenario(&plan, &Stopper::default()).unwrap();
    let [first, second] = &ran.tally.steps[..] else {
        panic!("{:?}", ran.tally);
    };
    assert_eq!((first.ok, second.ok), (3, 0));
    assert_eq!(second.failed.get("tls_failed"), Some(&3), "{second:?}");
    let why = second.first_failure.as_ref().unwrap().1.as_str();
    assert!(why.contains("cannot decrypt"), "{why}");
}

/// Sends the same request each time, and keeps what failed.
#[derive(Default)]
struct Asker {
    responded: usize,
    failures: Vec<SessionFailure>,
}

impl SessionClient for Asker {
    fn ask(&mut self, bytes: &mut Vec<u8>) -> bool {
        bytes.extend_from_slice(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        true
    }
}

impl SessionListener for Asker {
    fn hears(&mut self, _: Nanos, step: SessionStep<'_>) {
        match step {
            SessionStep::Responded { .. } => self.responded += 1,
            SessionStep::Fails(failure) => self.failures.push(failure),
            _ => {}
        }
    }
}

#[test]
fn a_session_that_meets_a_broken_record_says_so() {
    // Method: two sessions of three calls, whose second response has such a record behind it.
    let peer = TlsPeer::start(BOTH, false);
    peer.seen.breaks_after.store(2, Ordering::SeqCst);
    let load = SessionPlan {
        terms: SessionOptions {
            address: peer.address,
            tls: Some(believing()),
            timeout: None,
            response_timeout: Nanos(0),
            tick: Nanos(1_000_000_000),
            ends_after: None,
            tuning: SocketTuning::default(),
        },
        sessions: 2,
        begins: None,
        calls: 3,
        burst: 1,
        heads_only: false,
    };
    let mut asker = Asker::default();
    run_sessions(load, &mut asker, &Stopper::default()).unwrap();
    assert_eq!(asker.responded, 4);
    for failure in &asker.failures {
        assert!(matches!(failure, SessionFailure::Other(why) if why.contains("TLS failed")));
    }
    assert_eq!(asker.failures.len(), 2, "{:?}", asker.failures);
}
