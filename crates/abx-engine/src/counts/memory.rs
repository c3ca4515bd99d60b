//! A back end of HTTP/1.1 over memory.

use std::io;
use std::net::IpAddr;

use abx_sys::{Nanos, ServerAddress};

use crate::io::{Awaits, Io, Ready, Received, Token};

pub(super) const CONNECTIONS: u32 = 50;
/// The time that one reading of the clock takes.
pub(super) const TICK: Nanos = Nanos(40);
/// The time that the peer takes for a batch of responses.
pub(super) const BATCH: Nanos = Nanos(50_000);

/// A back end in which every request has its response at the next wait.
pub(super) struct Memory {
    /// Copies of one response, for all requests that may be in flight.
    responses: Vec<u8>,
    now: Nanos,
    next: Vec<Ready>,
    /// Bytes of all requests that may be in flight.
    requests_bytes: usize,
    connections: Vec<MemoryConnection>,
}

#[derive(Clone, Copy)]
struct MemoryConnection {
    /// Where the bytes to receive begin in the responses; their length if there are none.
    offset: usize,
    to_skip: usize,
    most: usize,
}

impl Memory {
    pub(super) fn new(request_bytes: usize, response: &[u8], pipeline: usize) -> Memory {
        let responses = response.repeat(pipeline);
        let connection = MemoryConnection {
            offset: responses.len(),
            to_skip: 0,
            most: usize::MAX,
        };
        Memory {
            responses,
            now: Nanos(1),
            next: Vec::new(),
            requests_bytes: request_bytes * pipeline,
            connections: vec![connection; CONNECTIONS as usize],
        }
    }

    fn connection(&mut self, token: Token) -> &mut MemoryConnection {
        &mut self.connections[token.slot as usize]
    }
}

impl Io for Memory {
    fn now(&mut self) -> Nanos {
        self.now = self.now.plus(TICK);
        self.now
    }

    fn connect(&mut self, token: Token, _: &ServerAddress, _: Option<IpAddr>) -> io::Result<()> {
        self.next.push(Ready::Connected(token));
        Ok(())
    }

    fn close(&mut self, _: Token) {}

    fn send(&mut self, token: Token, bytes: &[u8]) -> io::Result<usize> {
        self.next.push(Ready::Receivable(token));
        let requests_bytes = self.requests_bytes;
        self.connection(token).offset = match requests_bytes - bytes.len() {
            0 => 0,
            // Each response belongs to one request.
            missing => missing * self.responses.len() / requests_bytes,
        };
        Ok(bytes.len())
    }

    fn skip(&mut self, token: Token, bytes: u64) {
        self.connection(token).to_skip = usize::try_from(bytes).expect("it lies in memory");
    }

    fn limit_receive(&mut self, token: Token, most: usize) {
        self.connection(token).most = most;
    }

    fn wait(&mut self, _: Nanos, _: Awaits, ready: &mut Vec<Ready>) -> Nanos {
        ready.clear();
        std::mem::swap(&mut self.next, ready);
        self.now = self.now.plus(BATCH);
        self.now
    }

    fn is_acknowledged(&mut self, _: Token) -> bool {
        true
    }

    fn receive(&mut self, token: Token) -> Received<'_> {
        let connection = &mut self.connections[token.slot as usize];
        let rest = &self.responses[connection.offset..];
        if rest.is_empty() {
            return Received::Nothing;
        }
        if connection.to_skip > 0 {
            let skipped = std::mem::take(&mut connection.to_skip);
            connection.offset += skipped;
            return Received::Skipped(skipped as u64);
        }
        let bytes = &rest[..rest.len().min(connection.most)];
        connection.offset += bytes.len();
        Received::Bytes(bytes)
    }
}
