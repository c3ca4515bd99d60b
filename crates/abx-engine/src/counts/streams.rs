//! The hot path of HTTP/2 over memory: each response has the number of its request's stream.

use std::io;
use std::net::IpAddr;

use abx_sys::{Nanos, ServerAddress};

use super::memory::{BATCH, CONNECTIONS, TICK};
use crate::io::{Awaits, Io, Ready, Received, Token};
use crate::plan::LoadPlan;
use crate::pool::Pool;
use crate::protocol::Http2;

const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
/// Sets the size of the table of fields to 0 (RFC 7541, section 6.3), as nginx does once.
const NO_TABLE: u8 = 0x20;
/// Begins a field whose value the table would keep if it had room (RFC 7541, section 6.2.1).
const ADDED_TO_TABLE: u8 = 0x40;
/// Bytes of a frame's head, which ends with the stream's number.
const HEAD_BYTES: usize = 9;
const FRAME_BYTES_MAX: usize = 16_384;

/// A pool over a back end in which every request has its response at the next wait.
pub(super) fn pool(plan: LoadPlan, body: &[u8]) -> Pool<StreamsMemory, Http2> {
    let request = plan.requests[0].request.encode_stream(false);
    let request = request.expect("a plain GET is a request");
    let mut out = Vec::new();
    let mut client = abx_wire::http2::Client::open(&mut out);
    let opening_bytes = out.len();
    client.begin(&request, &mut out);
    let memory = StreamsMemory {
        now: Nanos(1),
        next: Vec::new(),
        // The first request of a connection is a byte longer.
        request_bytes: out.len() - opening_bytes - 1,
        first: Response::of(&[NO_TABLE], body),
        later: Response::of(&[], body),
        connections: (0..CONNECTIONS)
            .map(|_| StreamsConnection::default())
            .collect(),
    };
    let http2 = Http2::new(vec![request]);
    Pool::new(
        memory,
        http2,
        plan,
        vec![Vec::new()],
        0,
        CONNECTIONS as usize,
    )
}

/// One whole response as nginx sends it, except for its Huffman codes, and the offsets of its
/// stream number.
struct Response {
    bytes: Vec<u8>,
    number_offsets: Vec<usize>,
}

impl Response {
    /// `start` is the first part of its header block.
    fn of(start: &[u8], body: &[u8]) -> Response {
        let mut block = start.to_vec();
        block.push(0x88);
        let length = body.len().to_string();
        for (name, value) in [
            (54, "nginx/1.22.1"),
            (33, "Sat, 21 Nov 2026 12:00:00 GMT"),
            (31, "text/html"),
            (28, length.as_str()),
            (44, "Fri, 20 Nov 2026 09:30:00 GMT"),
            (34, "\"69203a11-57\""),
            (18, "bytes"),
        ] {
            let value_bytes = u8::try_from(value.len()).expect("they are short");
            block.extend([ADDED_TO_TABLE | name, value_bytes]);
            block.extend(value.bytes());
        }
        let mut response = Response {
            bytes: Vec::new(),
            number_offsets: Vec::new(),
        };
        response.push(1, 4, &block);
        let mut parts = body.chunks(FRAME_BYTES_MAX).peekable();
        while let Some(part) = parts.next() {
            response.push(0, u8::from(parts.peek().is_none()), part);
        }
        response
    }

    fn push(&mut self, kind: u8, flags: u8, payload: &[u8]) {
        let length = u32::try_from(payload.len()).expect("a frame is short");
        self.bytes.extend(&length.to_be_bytes()[1..]);
        self.bytes.extend([kind, flags]);
        self.number_offsets.push(self.bytes.len());
        self.bytes.extend([0; HEAD_BYTES - 5]);
        self.bytes.extend(payload);
    }
}

pub(super) struct StreamsMemory {
    now: Nanos,
    next: Vec<Ready>,
    request_bytes: usize,
    /// The first response of each connection.
    first: Response,
    later: Response,
    connections: Vec<StreamsConnection>,
}

#[derive(Default)]
struct StreamsConnection {
    has_begun: bool,
    streams: u32,
    /// The bytes to be received.
    bytes: Vec<u8>,
    is_received: bool,
}

impl StreamsConnection {
    fn push(&mut self, first: &Response, later: &Response) {
        let response = if self.streams == 0 { first } else { later };
        let from = self.bytes.len();
        self.bytes.extend_from_slice(&response.bytes);
        let stream = 2 * self.streams + 1;
        for offset in &response.number_offsets {
            let number = &mut self.bytes[from + offset..][..4];
            number.copy_from_slice(&stream.to_be_bytes());
        }
        self.streams += 1;
    }
}

impl Io for StreamsMemory {
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
        let connection = &mut self.connections[token.slot as usize];
        let requests = bytes.len() / self.request_bytes;
        if !std::mem::replace(&mut connection.has_begun, true) {
            connection.bytes.extend_from_slice(SETTINGS);
        } else if requests > 0 {
            connection.bytes.clear();
            (0..requests).for_each(|_| connection.push(&self.first, &self.later));
        } else {
            // The acknowledgement of the settings gets no response.
            return Ok(bytes.len());
        }
        connection.is_received = false;
        self.next.push(Ready::Receivable(token));
        Ok(bytes.len())
    }

    fn skip(&mut self, _: Token, _: u64) {}

    fn limit_receive(&mut self, _: Token, _: usize) {}

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
        if std::mem::replace(&mut connection.is_received, true) {
            Received::Nothing
        } else {
            Received::Bytes(&connection.bytes)
        }
    }
}
