//! A server that counts its requests.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use abx_engine::{
    BodyIdentity, ExpectedResponse, HttpVersion, LoadPlan, Pacing, RequestPlan, WeightedRequest,
};
use abx_model::LoadOptions;
use xxhash_rust::xxh3::xxh3_64;

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    requests: Arc<AtomicU64>,
    /// The first lines of the requests since the last call of `take_lines`.
    lines: Arc<Mutex<Vec<Vec<u8>>>>,
    connections: Arc<AtomicU64>,
}

impl Server {
    pub(crate) fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (requests, connections): (Arc<AtomicU64>, Arc<AtomicU64>) = Default::default();
        let address = listener.local_addr().unwrap();
        let lines = Arc::<Mutex<Vec<Vec<u8>>>>::default();
        let recorded_lines = Arc::clone(&lines);
        let (served, open) = (Arc::clone(&requests), Arc::clone(&connections));
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (served, open) = (Arc::clone(&served), Arc::clone(&open));
                let recorded_lines = Arc::clone(&recorded_lines);
                open.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || {
                    serve(connection, &served, &recorded_lines);
                    open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Server {
            address,
            requests,
            lines,
            connections,
        }
    }

    /// The first lines of the requests since the last call.
    pub(crate) fn take_lines(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut *self.lines.lock().unwrap())
    }

    /// The number of requests with a response.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }

    /// The number of open connections.
    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }

    /// A load of GET requests with keep-alive, in which every body is verified.
    pub(crate) fn load(&self, connections: u32) -> LoadPlan {
        LoadPlan {
            options: LoadOptions {
                connections,
                verify_every: 1,
                timeout: Duration::from_secs(30),
                ..LoadOptions::default()
            },
            address: self.address.into(),
            tls: None,
            buffer_bytes: None,
            sources: Vec::new(),
            pipeline: 1,
            requests: vec![WeightedRequest {
                request: RequestPlan {
                    version: HttpVersion::Http11,
                    method: "GET".to_owned(),
                    path: "/".to_owned(),
                    host: self.address.to_string(),
                    headers: Vec::new(),
                    body: Vec::new(),
                    placeholders: Vec::new(),
                },
                expect: ExpectedResponse {
                    status: 200_u16.into(),
                    body: Some(BodyIdentity {
                        bytes: 5,
                        xxh3: xxh3_64(b"hello"),
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
}

fn serve(mut connection: TcpStream, requests: &AtomicU64, lines: &Mutex<Vec<Vec<u8>>>) {
    let mut buffer = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = connection.read(&mut chunk) {
        buffer.extend_from_slice(&chunk[..count]);
        while let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let line = buffer
                .split(|byte| *byte == b'\r')
                .next()
                .unwrap_or_default();
            lines.lock().unwrap().push(line.to_vec());
            buffer.drain(..end + 4);
            requests.fetch_add(1, Ordering::SeqCst);
            let response = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
            if connection.write_all(response).is_err() {
                return;
            }
        }
    }
}
