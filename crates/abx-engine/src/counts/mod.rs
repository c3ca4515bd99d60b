//! The hot path over memory, so that its instructions can be counted.
//!
//! Everything of a slice runs as it does under load, but the kernel: requests
//! vanish, and each connection has the same answer to each ready at the next wait. The
//! back end does as little as the contract allows and is counted with the rest.
//! `scripts/instruction-counts` runs it, by `examples/hot_path.rs`. HTTP/2 is in `streams.rs`.

mod memory;
mod streams;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicBool;

use abx_model::LoadOptions;
use abx_sys::Nanos;
use xxhash_rust::xxh3::xxh3_64;

use crate::io::Io;
use crate::plan::{
    Asked, BodyIdentity, ExpectedAnswer, HttpVersion, LoadPlan, Pacing, RequestPlan,
};
use crate::pool::{Pool, WorkerSlice};
use crate::protocol::{Http, Protocol};
use crate::schedule::ScheduleShare;

use memory::{CONNECTIONS, Memory};

const VERIFY_EVERY: u32 = 100;
/// What the answers are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// A body of this many bytes, announced by its length.
    Sized(usize),
    /// A body of this many bytes in one chunk.
    Chunked(usize),
    /// A body of this many bytes, on a stream of HTTP/2.
    Streamed(usize),
}

impl Answers {
    fn body(self) -> Vec<u8> {
        match self {
            Answers::Sized(bytes) | Answers::Chunked(bytes) | Answers::Streamed(bytes) => {
                vec![b'x'; bytes]
            }
        }
    }

    /// A head with the fields that servers send, and the body, as HTTP/1.1 has them.
    fn bytes(self) -> Vec<u8> {
        let (framing, start, end) = match self {
            Answers::Sized(bytes) | Answers::Streamed(bytes) => {
                (format!("Content-Length: {bytes}"), String::new(), "")
            }
            Answers::Chunked(bytes) => (
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

/// Sends so many requests over kept connections, `pipeline` in flight on each, and
/// takes their answers, all of them recorded and one of a hundred verified.
/// Answers how many were ok.
#[must_use]
pub fn exchange(answers: Answers, pipeline: u32, requests: u64) -> u64 {
    let plan = plan(answers, pipeline);
    if let Answers::Streamed(_) = answers {
        return ok_of(streams::pool(plan, &answers.body()), requests);
    }
    let request = plan.requests[0].request.encode(true);
    let request = request.expect("a plain GET is a request");
    let memory = Memory::new(request.len(), &answers.bytes(), pipeline as usize);
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

fn plan(answers: Answers, pipeline: u32) -> LoadPlan {
    let body = answers.body();
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
        requests: vec![Asked {
            request: RequestPlan {
                version: match answers {
                    Answers::Streamed(_) => HttpVersion::Http2,
                    _ => HttpVersion::Http11,
                },
                method: "GET".to_owned(),
                path: "/small.html".to_owned(),
                host: "127.0.0.1:8080".to_owned(),
                headers: Vec::new(),
                body: Vec::new(),
                placeholders: Vec::new(),
            },
            expect: ExpectedAnswer {
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
    fn every_counted_request_is_answered_rightly() {
        // Method: each kind of answer, alone and pipelined; a wrong one would count another path.
        for answers in [
            Answers::Sized(87),
            Answers::Chunked(87),
            Answers::Sized(34_569),
            Answers::Streamed(87),
            Answers::Streamed(34_569),
        ] {
            for pipeline in [1, 16] {
                let ok = exchange(answers, pipeline, 1_000);
                assert_eq!(ok, 1_000, "{answers:?}, {pipeline} in flight");
            }
        }
    }
}
