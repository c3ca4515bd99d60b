//! What the kernel refuses while the engine runs. A process of its own, since
//! the limit on descriptors is the whole process's.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

use std::net::{SocketAddr, TcpListener};

use abx_engine::{
    Asked, Backend, BackendUsed, Engine, EngineError, EnginePlan, ExpectedAnswer, HttpVersion,
    LoadPlan, Pacing, RequestPlan,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

fn engine(backend: Backend) -> Engine {
    Engine::start(&EnginePlan {
        threads: 2,
        cpus: Vec::new(),
        backend,
        wait: abx_evidence::Wait::Asleep,
    })
    .unwrap()
}

fn load(address: SocketAddr, keep_alive: bool) -> LoadPlan {
    LoadPlan {
        address,
        sources: Vec::new(),
        connections: 2,
        requests: vec![Asked {
            request: RequestPlan {
                version: HttpVersion::Http11,
                method: "GET".to_owned(),
                path: "/".to_owned(),
                host: address.to_string(),
                headers: Vec::new(),
                body: Vec::new(),
            },
            expect: ExpectedAnswer {
                status: 200,
                body: None,
            },
            weight: 1,
        }],
        keep_alive,
        verify_every: 0,
        shape: abx_evidence::Shape::Request,
        timeout_ns: 30_000_000_000,
        seed: 1,
        pipeline: 1,
        pacing: Pacing::default(),
    }
}

#[test]
fn a_refused_ring_falls_back_to_epoll_unless_it_was_asked_for_by_name() {
    // Method: no descriptor is left, so neither a ring nor an epoll set can be
    // made; the error tells which of them was tried last. With descriptors each
    // load then has the back end that it should have.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let [mut auto, mut uring, mut epoll] =
        [Backend::Auto, Backend::Uring, Backend::Epoll].map(engine);
    let limits = getrlimit(Resource::Nofile);
    // Workers have tables of their own, with the first three in them.
    let none = Rlimit {
        current: Some(3),
        ..limits
    };
    setrlimit(Resource::Nofile, none).unwrap();
    let refused = |engine: &mut Engine| engine.open(&load(address, false)).unwrap_err();
    let errors = [&mut auto, &mut uring, &mut epoll].map(refused);
    setrlimit(Resource::Nofile, limits).unwrap();

    let is_epoll = |error: &EngineError| matches!(error, EngineError::System { .. });
    assert!(is_epoll(&errors[0]), "{:?}", errors[0]);
    assert!(
        matches!(errors[1], EngineError::Uring(_)),
        "{:?}",
        errors[1]
    );
    assert!(is_epoll(&errors[2]), "{:?}", errors[2]);

    let used = |engine: &mut Engine, keep_alive| {
        let (pool, _) = engine.open(&load(address, keep_alive)).unwrap();
        pool.backend()
    };
    assert_eq!(used(&mut auto, true), BackendUsed::Epoll);
    assert_eq!(used(&mut auto, false), BackendUsed::Uring);
    for keep_alive in [true, false] {
        assert_eq!(used(&mut uring, keep_alive), BackendUsed::Uring);
        assert_eq!(used(&mut epoll, keep_alive), BackendUsed::Epoll);
    }
}
