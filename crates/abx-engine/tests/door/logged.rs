//! Each request by itself, if the plan requests a log.

use std::sync::Arc;

use abx_engine::LoadPlan;
use abx_evidence::{Outcome, RequestCount, RequestLogPlan};
use abx_model::LoadOptions;

use crate::peers::peer::Peer;
use crate::{HELLO, NOBODY, load, requests, run};

/// The same load with a log.
fn logged(plan: LoadPlan, count: &Arc<RequestCount>) -> LoadPlan {
    LoadPlan {
        // Connections are made by the requests that need them.
        open_within_ns: Some(0),
        log: Some(RequestLogPlan {
            most: 100,
            keeps_heads: false,
            count: Arc::clone(count),
        }),
        ..plan
    }
}

#[test]
fn each_request_is_logged_with_its_times() {
    // Method: 20 requests over four connections of two workers, which are kept or not. A
    // request makes each connection, and the time for that belongs to that request.
    for keep_alive in [true, false] {
        let peer = Peer::responding(HELLO);
        let count = Arc::default();
        let plan = LoadPlan {
            options: LoadOptions {
                keep_alive,
                ..load(peer.address(), 4).options
            },
            ..logged(load(peer.address(), 4), &count)
        };
        let slice = run(2, &plan, &requests(20));
        let log = slice.tally.log.unwrap();
        assert_eq!((log.requests().len(), count.all()), (20, 20));
        for logged_request in log.requests() {
            assert_eq!((logged_request.status, logged_request.body_bytes), (200, 5));
            assert_eq!(logged_request.outcome, Outcome::Ok);
            assert!(
                logged_request.connect_ns + logged_request.wait_ns <= logged_request.total_ns,
                "{logged_request:?}"
            );
            assert!(logged_request.wait_ns > 0, "{logged_request:?}");
        }
        let made = log
            .requests()
            .iter()
            .filter(|logged_request| logged_request.connect_ns > 0);
        assert_eq!(made.count(), if keep_alive { 4 } else { 20 });
        assert_eq!(log.heads(), [HELLO, HELLO], "one of each worker");
        assert!(log.tls().is_none());
    }
}

#[test]
fn failures_are_logged_and_counted_while_they_happen() {
    // Method: nothing listens.
    let count = Arc::default();
    let plan = logged(load(NOBODY, 1), &count);
    let slice = run(1, &plan, &requests(2));
    let log = slice.tally.log.unwrap();
    let outcomes: Vec<Outcome> = log
        .requests()
        .iter()
        .map(|logged_request| logged_request.outcome)
        .collect();
    assert_eq!(outcomes, [Outcome::Refused; 2]);
    assert_eq!(count.of(Outcome::Refused), 2);
    assert!(
        log.requests()
            .iter()
            .all(|logged_request| logged_request.status == 0)
    );
}
