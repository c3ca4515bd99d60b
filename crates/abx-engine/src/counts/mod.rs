//! The hot path over memory, so that its instructions can be counted.
//!
//! A slice runs as it does under load, without the kernel: requests are dropped, and the next
//! wait has the same response to each of them ready. The back end does as little as the contract
//! allows, and its instructions are counted too. `scripts/instruction-counts` runs it through
//! `examples/hot_path.rs`. HTTP/2 is in `streams.rs`.

mod memory;
mod streams;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicBool;

use abx_model::LoadOptions;
use abx_sys::Nanos;
use xxhash_rust::xxh3::xxh3_64;

use crate::io::Io;
use crate::plan::{
    BodyIdentity, ExpectedResponse, HttpVersion, LoadPlan, Pacing, RequestPlan, WeightedRequest,
};
use crate::pool::{Pool, WorkerSlice};
use crate::protocol::{Http, Protocol};
use crate::schedule::ScheduleShare;

use memory::{CONNECTIONS, Memory};

/// The kind of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Responses {
    /// A body of this many bytes, announced by its length.
    Sized(usize),
    /// A body of this many bytes in one chunk.
    Chunked(usize),
    /// A body of this many bytes, on a stream of HTTP/2.
    Streamed(usize),
}

impl Responses {
    fn body(self) -> Vec<u8> {
        match self {
            Responses::Sized(bytes) | Responses::Chunked(bytes) | Responses::Streamed(bytes) => {
                vec![b'x'; bytes]
            }
        }
    }

    /// A head with the fields that servers send, and the body, as HTTP/1.1 has them.
    fn bytes(self) -> Vec<u8> {
        let (framing, start, end) = match self {
            Responses::Sized(bytes) | Responses::Streamed(bytes) => {
                (format!("Content-Length: {bytes}"), String::new(), "")
            }
            Responses::Chunked(bytes) => (
                "Transfer-Encoding: chunked".to_owned(),
                format!("{bytes:x}\r\n"),
                "\r\n0\r\n\r\n",
            ),
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\n\
             Date: Sat, 21 Nov 2026 12:00:00 GMT\r\nContent-Type: text/html\r\n{framing}\r\n\
             Last-Modified: Fri, 20 Nov 2026 09:30:00 GMT\r\nConnection: keep-alive\r\n\
             ETag: \"69203a11-57\"\r\nAccept-Ranges: bytes\r\n\r\n"
        );
        [
            head.as_bytes(),
            start.as_bytes(),
            &self.body(),
            end.as_bytes(),
        ]
        .concat()
    }
}

/// Sends this many requests over kept connections, `pipeline` in flight on each, and
/// receives their responses. All of them are recorded, and one in a hundred is verified.
/// Returns how many were ok.
#[must_use]
pub fn exchange(responses: Responses, pipeline: u32, requests: u64) -> u64 {
    let plan = plan(responses, pipeline);
    if let Responses::Streamed(_) = responses {
        return ok_of(streams::pool(plan, &responses.body()), requests);
    }
    let request = plan.requests[0].request.encode(true);
    let request = request.expect("a plain GET is a request");
    let memory = Memory::new(request.len(), &responses.bytes(), pipeline as usize);
    let http = Http::new(1);
    let pool = Pool::new(memory, http, plan, vec![request], 0, CONNECTIONS as usize);
    ok_of(pool, requests)
}

fn ok_of<I: Io, C: Protocol>(mut pool: Pool<I, C>, requests: u64) -> u64 {
    let stop = AtomicBool::new(false);
    pool.connect_all(&stop);
    let start = pool.now();
    let slice = WorkerSlice {
        start,
        end: Nanos::MAX,
        counted_from: start,
        requests_max: requests,
        share: ScheduleShare::WHOLE,
        course: None,
    };
    pool.run(slice, &stop);
    pool.tally().outcomes.ok()
}

fn plan(responses: Responses, pipeline: u32) -> LoadPlan {
    let body = responses.body();
    LoadPlan {
        options: LoadOptions {
            connections: CONNECTIONS,
            ..LoadOptions::default()
        },
        address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 80).into(),
        tls: None,
        buffer_bytes: None,
        sources: Vec::new(),
        pipeline,
        requests: vec![WeightedRequest {
            request: RequestPlan {
                version: match responses {
                    Responses::Streamed(_) => HttpVersion::Http2,
                    _ => HttpVersion::Http11,
                },
                method: "GET".to_owned(),
                path: "/small.html".to_owned(),
                host: "127.0.0.1:8080".to_owned(),
                headers: Vec::new(),
                body: Vec::new(),
                placeholders: Vec::new(),
            },
            expect: ExpectedResponse {
                status: 200_u16.into(),
                body: Some(BodyIdentity {
                    bytes: body.len() as u64,
                    xxh3: xxh3_64(&body),
                }),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counted_request_is_served_correctly() {
        // Method: each kind of response, alone and pipelined; a wrong response would take another
        // path.
        for responses in [
            Responses::Sized(87),
            Responses::Chunked(87),
            Responses::Sized(34_569),
            Responses::Streamed(87),
            Responses::Streamed(34_569),
        ] {
            for pipeline in [1, 16] {
                let ok = exchange(responses, pipeline, 1_000);
                assert_eq!(ok, 1_000, "{responses:?}, {pipeline} in flight");
            }
        }
    }
}
