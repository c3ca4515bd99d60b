//! Plans, pools over the simulated back end, and slices on them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use abx_engine::schedule::ScheduleShare;
use abx_engine::testing::{Http, Pool, Protocol, SliceOutcome, WorkerSlice};
use abx_engine::{
    BodyIdentity, ExpectedResponse, HttpVersion, LoadPlan, Pacing, RequestPlan, WeightedRequest,
};
use abx_evidence::{Outcome, Tally};
use abx_model::LoadOptions;
use abx_sys::Nanos;
use abx_twin::{Network, PeerScript, PeerStep, Sim};
use xxhash_rust::xxh3::xxh3_64;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000 * MS;

pub(crate) fn plan(connections: u32, body: &[u8], seed: u64) -> LoadPlan {
    LoadPlan {
        options: LoadOptions {
            connections,
            verify_every: 10,
            timeout: Duration::from_nanos(SECOND),
            ..LoadOptions::default()
        },
        address: Sim::ADDRESS.into(),
        tls: None,
        buffer_bytes: None,
        sources: Vec::new(),
        pipeline: 1,
        requests: vec![WeightedRequest {
            request: RequestPlan {
                version: HttpVersion::Http11,
                method: "GET".to_owned(),
                path: "/".to_owned(),
                host: "localhost".to_owned(),
                headers: Vec::new(),
                body: Vec::new(),
                placeholders: Vec::new(),
            },
            expect: ExpectedResponse {
                status: 200_u16.into(),
                body: Some(BodyIdentity {
                    bytes: body.len() as u64,
                    xxh3: xxh3_64(body),
                }),
            },
            weight: 1,
        }],
        shape: abx_evidence::Shape::Request,
        opening_limit: None,
        open_within_ns: None,
        timeline: None,
        log: None,
        seed,
        pacing: Pacing::default(),
        scenario: None,
    }
}

/// A pool on a peer that reads a request, works, responds with `body`, and starts over.
pub(crate) fn pool(network: Network, plan: LoadPlan, body: &[u8]) -> Pool<Sim, Http> {
    pool_of(
        network,
        plan,
        &[head(body.len()).as_bytes(), body].concat(),
        PeerStep::Again,
    )
}

pub(crate) fn head(length: usize) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n")
}

/// A pool on a peer that reads a request, works, sends `response`, and then does the `last` step.
pub(crate) fn pool_of(
    network: Network,
    plan: LoadPlan,
    response: &[u8],
    last: PeerStep,
) -> Pool<Sim, Http> {
    let request = &plan.requests[0].request;
    let request_bytes = request.encode(plan.keep_alive).unwrap().len();
    let response: Arc<[u8]> = response.into();
    let steps = move |_| {
        vec![
            PeerStep::Await(request_bytes),
            PeerStep::Work,
            PeerStep::Send(Arc::clone(&response)),
            last.clone(),
        ]
    };
    pool_of_steps(network, plan, Box::new(steps))
}

/// A pool on a peer with a script.
pub(crate) fn pool_of_steps(
    network: Network,
    plan: LoadPlan,
    script: PeerScript,
) -> Pool<Sim, Http> {
    let requests = plan.requests.iter();
    let encoded = requests.map(|weighted| weighted.request.encode(plan.keep_alive).unwrap());
    let encoded = encoded.collect();
    let connections = plan.connections as usize;
    let (sim, http) = (Sim::new(network, script), Http::new(plan.requests.len()));
    Pool::new(sim, http, plan, encoded, 0, connections)
}

/// Runs a slice of this span, the first `discard` ns of which do not count.
pub(crate) fn run<C: Protocol>(pool: &mut Pool<Sim, C>, span: u64, discard: u64) -> SliceOutcome {
    let start = pool.now();
    let slice = WorkerSlice {
        start,
        end: start.plus(Nanos(span)),
        counted_from: start.plus(Nanos(discard)),
        requests_max: u64::MAX,
        share: ScheduleShare::WHOLE,
        course: None,
    };
    pool.run(slice, &AtomicBool::new(false))
}

pub(crate) fn run_requests<C: Protocol>(pool: &mut Pool<Sim, C>, count: u64) -> SliceOutcome {
    let start = pool.now();
    let slice = WorkerSlice {
        start,
        end: Nanos::MAX,
        counted_from: start,
        requests_max: count,
        share: ScheduleShare::WHOLE,
        course: None,
    };
    pool.run(slice, &AtomicBool::new(false))
}

pub(crate) fn count(tally: &Tally, outcome: Outcome) -> u64 {
    tally.outcomes.count(outcome)
}
