//! A peer that uses HTTP/2, correctly or not: it reads frames, and writes the test's bytes.

use crate::peers::peer::{Connection, Peer};

const HEADERS: u8 = 1;
const DATA: u8 = 0;
const END_STREAM: u8 = 1;
const PREFACE_BYTES: usize = 24;

/// An empty SETTINGS frame, with which a connection may begin.
pub const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

/// A frame as it goes over the wire.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// The head of a response with status 200.
pub fn head(stream: u32) -> Vec<u8> {
    frame(HEADERS, 4, stream, &[0x88])
}

pub fn last_data(stream: u32, body: &[u8]) -> Vec<u8> {
    frame(DATA, END_STREAM, stream, body)
}

/// A complete response that [`crate::load`] expects.
pub fn hello(stream: u32) -> Vec<u8> {
    [head(stream), last_data(stream, b"hello")].concat()
}

pub fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(3, 0, stream, &code.to_be_bytes())
}

pub fn go_away(last_stream: u32) -> Vec<u8> {
    let payload = [last_stream.to_be_bytes(), 0_u32.to_be_bytes()];
    frame(7, 0, 0, &payload.concat())
}

/// Complete requests that came together.
pub struct RequestBatch {
    pub streams: Vec<u32>,
    /// The number of earlier requests on this connection.
    pub before: usize,
    /// Body bytes that came since the previous batch.
    pub body_bytes: usize,
}

impl RequestBatch {
    /// The bytes of a response to each request.
    pub fn responses(&self, response: impl Fn(u32) -> Vec<u8>) -> Vec<u8> {
        self.streams.iter().copied().flat_map(response).collect()
    }
}

/// Sends `settings` on each connection, and then the result of `reply` to each batch of requests;
/// `None` holds the connection without sending.
pub fn streaming(
    settings: &'static [u8],
    reply: impl Fn(&RequestBatch) -> Option<Vec<u8>> + Send + Sync + 'static,
) -> Peer {
    Peer::start(move |mut connection| {
        connection.send(settings);
        serve(&mut connection, &reply);
    })
}

fn serve(connection: &mut Connection, reply: &impl Fn(&RequestBatch) -> Option<Vec<u8>>) {
    let mut unread = Vec::new();
    let mut batch = RequestBatch {
        streams: Vec::new(),
        before: 0,
        body_bytes: 0,
    };
    let mut has_preface = false;
    while let Some(more) = connection.read() {
        unread.extend(more);
        if !has_preface {
            if unread.len() < PREFACE_BYTES {
                continue;
            }
            let preface: Vec<u8> = unread.drain(..PREFACE_BYTES).collect();
            assert!(preface.starts_with(b"PRI * HTTP/2.0\r\n"));
            has_preface = true;
        }
        let mut room = 0;
        while let Some((kind, flags, stream, payload)) = take_frame(&mut unread) {
            if kind == DATA {
                batch.body_bytes += payload;
                room += payload;
            }
            if matches!(kind, HEADERS | DATA) && flags & END_STREAM != 0 {
                batch.streams.push(stream);
            } else if kind == DATA {
                let bytes = u32::try_from(payload).unwrap().to_be_bytes();
                connection.send(&frame(8, 0, stream, &bytes));
            }
        }
        if room > 0 {
            let bytes = u32::try_from(room).unwrap().to_be_bytes();
            connection.send(&frame(8, 0, 0, &bytes));
        }
        if batch.streams.is_empty() {
            continue;
        }
        match reply(&batch) {
            Some(bytes) => connection.send(&bytes),
            None => return connection.hold(),
        }
        batch.before += batch.streams.len();
        batch.streams.clear();
        batch.body_bytes = 0;
    }
}

/// Kind, flags, stream and length of the next frame, once it is complete.
fn take_frame(unread: &mut Vec<u8>) -> Option<(u8, u8, u32, usize)> {
    let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = *unread.first_chunk()?;
    let length = u32::from_be_bytes([0, l0, l1, l2]) as usize;
    if unread.len() < 9 + length {
        return None;
    }
    unread.drain(..9 + length);
    Some((kind, flags, u32::from_be_bytes([s0, s1, s2, s3]), length))
}
