//! The engine through its public interface, against peers that follow a script.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

mod counts;
mod course;
mod early;
mod failures;
mod http10;
mod http2;
mod logged;
mod many_workers;
mod peers;
mod pipelined;
mod pools;
mod probes;
mod replaced;
mod responses;
mod tls;
mod websocket;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use abx_engine::{
    BodyIdentity, Engine, EnginePlan, ExpectedResponse, HttpVersion, LoadPlan, Pacing, RequestPlan,
    SliceEnd, SlicePlan, WeightedRequest,
};
use abx_evidence::{Outcome, SliceTally, Wait};
use abx_model::LoadOptions;
use xxhash_rust::xxh3::xxh3_64;

/// The response that [`load`] expects.
pub(crate) const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Nothing listens there: all peers listen on other addresses.
pub(crate) const NOBODY: SocketAddr = SocketAddr::new(
    std::net::IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 77)),
    1,
);

pub(crate) fn engine(threads: usize) -> Engine {
    engine_that_waits(threads, Wait::Asleep)
}

pub(crate) fn engine_that_waits(threads: usize, wait: Wait) -> Engine {
    let plan = EnginePlan {
        threads,
        cpus: Vec::new(),
        wait,
    };
    Engine::start(&plan).expect("the kernel starts threads")
}

/// GET with keep-alive, every body compared with `hello`, and time enough.
pub(crate) fn load(address: SocketAddr, connections: u32) -> LoadPlan {
    LoadPlan {
        options: LoadOptions {
            connections,
            verify_every: 1,
            timeout: Duration::from_secs(30),
            ..LoadOptions::default()
        },
        address: address.into(),
        tls: None,
        buffer_bytes: None,
        sources: Vec::new(),
        pipeline: 1,
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
                body: Some(identity(b"hello")),
            },
            weight: 1,
        }],
        shape: abx_evidence::Shape::Request,
        opening_limit: None,
        open_within_ns: None,
        timeline: None,
        log: None,
        seed: 1,
        pacing: Pacing::default(),
        scenario: None,
    }
}

pub(crate) fn identity(body: &[u8]) -> BodyIdentity {
    BodyIdentity {
        bytes: body.len() as u64,
        xxh3: xxh3_64(body),
    }
}

pub(crate) fn requests(count: u64) -> SlicePlan {
    SlicePlan {
        end: SliceEnd::AfterRequests(count),
        discard_ns: 0,
        course: None,
    }
}

pub(crate) fn span_ms(length: u64, discard: u64) -> SlicePlan {
    SlicePlan {
        end: SliceEnd::AfterNs(length * 1_000_000),
        discard_ns: discard * 1_000_000,
        course: None,
    }
}

/// One slice on a pool of its own, in an engine with this many threads.
pub(crate) fn run(threads: usize, load: &LoadPlan, slice: &SlicePlan) -> SliceTally {
    let mut engine = engine(threads);
    let (pool, _) = engine.open(load).unwrap();
    engine.slice(pool, slice).unwrap()
}

/// The outcomes that came, in the order of [`Outcome::ALL`].
pub(crate) fn outcomes(slice: &SliceTally) -> Vec<(Outcome, u64)> {
    slice.tally.outcomes.iter().collect()
}

/// Waits until `condition` holds, and fails if it never does.
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::yield_now();
    }
}
