//! Scenarios and sessions over TLS whose server sends a record that cannot be decrypted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use abx_engine::{
    LoadPlan, ScenarioScript, ScenarioStep, ScenarioUsers, SessionClient, SessionFailure,
    SessionListener, SessionOptions, SessionPlan, SessionStep, Stopper, TextTemplate, run_sessions,
};
use abx_evidence::{Outcome, Shape};
use abx_sys::{Nanos, SocketTuning};

use super::peer::{BOTH, TlsPeer, trusting};

#[test]
fn a_step_that_meets_a_broken_record_fails_as_tls() {
    // Method: a session of two steps over one connection, whose first response is followed by
    // such a record.
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
    let script = ScenarioScript {
        values: vec![None; 2],
        steps: vec![step("first"), step("second")],
        keeps_cookies: false,
        body_max: 1000,
        next_session: Arc::new(AtomicU64::new(1)),
    };
    let load = LoadPlan {
        tls: Some(trusting()),
        requests: Vec::new(),
        shape: Shape::Scenario,
        scenario: Some(ScenarioUsers {
            script: Arc::new(script),
            host: "a".to_owned(),
        }),
        ..crate::load(peer.address, 1)
    };
    let slice = crate::run(2, &load, &crate::requests(3));
    assert_eq!(crate::outcomes(&slice), [(Outcome::TlsFailed, 3)]);
    let [first, second] = &slice.tally.times.steps[..] else {
        panic!("{slice:?}");
    };
    assert_eq!((first.ok, second.ok), (3, 0));
    assert_eq!(second.failed.get("tls_failed"), Some(&3), "{second:?}");
    let why = second.first_failure.as_ref().unwrap();
    assert!(why.contains("cannot decrypt"), "{why}");
}

/// Sends the same request each time, and records failures.
#[derive(Default)]
struct Asker {
    responded: usize,
    failures: Vec<SessionFailure>,
}

impl SessionClient for Asker {
    fn append_request(&mut self, bytes: &mut Vec<u8>) -> bool {
        bytes.extend_from_slice(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        true
    }
}

impl SessionListener for Asker {
    fn on_step(&mut self, _: Nanos, step: SessionStep<'_>) {
        match step {
            SessionStep::Responded { .. } => self.responded += 1,
            SessionStep::Fails(failure) => self.failures.push(failure),
            _ => {}
        }
    }
}

#[test]
fn a_session_that_meets_a_broken_record_fails_as_tls() {
    // Method: two sessions of three calls, whose second response is followed by such a record.
    let peer = TlsPeer::start(BOTH, false);
    peer.seen.breaks_after.store(2, Ordering::SeqCst);
    let load = SessionPlan {
        terms: SessionOptions {
            address: peer.address,
            tls: Some(trusting()),
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
