//! Refusals of the kernel while the engine runs. They need a separate process, since the limit
//! on descriptors applies to a whole process.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use abx_engine::{
    Engine, EngineError, EnginePlan, ExpectedResponse, HttpVersion, LoadPlan, Pacing, RequestPlan,
    WeightedRequest,
};
use abx_model::LoadOptions;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

fn engine() -> Engine {
    Engine::start(&EnginePlan {
        threads: 2,
        cpus: Vec::new(),
        wait: abx_evidence::Wait::Asleep,
    })
    .unwrap()
}

fn load(address: SocketAddr) -> LoadPlan {
    LoadPlan {
        options: LoadOptions {
            connections: 2,
            keep_alive: false,
            verify_every: 0,
            timeout: Duration::from_secs(30),
            ..LoadOptions::default()
        },
        address: address.into(),
        tls: None,
        buffer_bytes: None,
        sources: Vec::new(),
        requests: vec![WeightedRequest {
            request: RequestPlan {
                version: HttpVersion::Http11,
                method: "GET".to_owned(),
                path: "/".to_owned(),
                host: address.to_string(),
                headers: Vec::new(),
                body: Vec::new(),
                placeholders: Vec::new(),
            },
            expect: ExpectedResponse {
                status: 200_u16.into(),
                body: None,
            },
            weight: 1,
        }],
        shape: abx_evidence::Shape::Request,
        opening_limit: None,
        open_within_ns: None,
        timeline: None,
        log: None,
        seed: 1,
        pipeline: 1,
        pacing: Pacing::default(),
        scenario: None,
    }
}

#[test]
fn a_refused_pool_is_an_error_and_the_next_pool_opens() {
    // Method: no descriptor is left, so no epoll set can be made; then the limit is raised again.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let load = load(listener.local_addr().unwrap());
    let mut engine = engine();
    let limits = getrlimit(Resource::Nofile);
    // The table of each worker has the first three descriptors.
    let exhausted = Rlimit {
        current: Some(3),
        ..limits
    };
    setrlimit(Resource::Nofile, exhausted).unwrap();
    let refused = engine.open(&load);
    setrlimit(Resource::Nofile, limits).unwrap();
    assert!(
        matches!(
            refused,
            Err(EngineError::System {
                what: "an epoll set",
                ..
            })
        ),
        "{refused:?}"
    );
    let (_, report) = engine.open(&load).unwrap();
    assert_eq!(report.standing, 2);
}
