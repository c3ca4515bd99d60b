//! HTTP/2: hand-made frames, and how both of our sides read them.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

mod client;
mod faults;
mod properties;
mod requests;
mod server;
mod server_faults;

use abx_wire::http1::{Persistence, Request, Version};
use abx_wire::http2::{Client, EncodedRequest, Event, PREFACE, RequestEvent, ResponseHead, Server};

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;
pub const PADDED: u8 = 8;
pub const PRIORITY: u8 = 0x20;

/// `:status: 200`, from the static table.
pub const OK: &[u8] = &[0x88];
/// `:status: 200` and `content-length: 5`.
pub const OK_5: &[u8] = &[0x88, 0x0f, 0x0d, 1, b'5'];

/// A frame as it goes over the wire.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

pub fn head(stream: u32, flags: u8, block: &[u8]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | flags, stream, block)
}

pub fn data(stream: u32, flags: u8, body: &[u8]) -> Vec<u8> {
    frame(DATA, flags, stream, body)
}

/// A literal field that is not added to the table.
pub fn field(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| {
        let mut bytes = vec![u8::try_from(text.len()).unwrap()];
        bytes.extend(text.bytes());
        bytes
    };
    [vec![0], text(name), text(value)].concat()
}

/// A SETTINGS frame.
pub fn settings(pairs: &[(u16, u32)]) -> Vec<u8> {
    let payload = pairs.iter().flat_map(|(name, value)| {
        let (name, value) = (name.to_be_bytes(), value.to_be_bytes());
        name.into_iter().chain(value)
    });
    frame(SETTINGS, 0, 0, &payload.collect::<Vec<u8>>())
}

pub fn request(method: &str, body: &[u8]) -> Request {
    Request {
        method: method.to_owned(),
        target: "/a".to_owned(),
        host: "h".to_owned(),
        headers: Vec::new(),
        body: body.to_vec(),
        version: Version::Http11,
        connection: Persistence::KeepAlive,
    }
}

pub fn encoded(method: &str, body: &[u8]) -> EncodedRequest {
    EncodedRequest::of(&request(method, body), "http").unwrap()
}

/// The client's end of a connection, and the bytes that it wrote.
pub struct Talk {
    pub client: Client,
    pub out: Vec<u8>,
}

impl Talk {
    /// With this many requests, sent after the server's settings.
    pub fn begun(requests: usize) -> Talk {
        let mut talk = Talk::open();
        talk.read(&settings(&[]));
        for _ in 0..requests {
            talk.begin(&encoded("GET", b""));
        }
        talk.out.clear();
        talk
    }

    pub fn open() -> Talk {
        let mut out = Vec::new();
        let client = Client::open(&mut out);
        Talk { client, out }
    }

    pub fn begin(&mut self, request: &EncodedRequest) -> Option<u32> {
        self.client.begin(request, &mut self.out)
    }

    /// The events of these bytes, one per line.
    pub fn read(&mut self, bytes: &[u8]) -> String {
        let mut input = bytes;
        let mut lines: Vec<String> = Vec::new();
        while let Some(event) = self.client.receive(&mut input, &mut self.out) {
            lines.push(line(event));
        }
        assert!(input.is_empty());
        lines.join("\n")
    }

    /// The frames that were written: kind, flags, stream and length.
    pub fn written(&self) -> Vec<(u8, u8, u32, usize)> {
        let frames = frames(&self.out);
        let short = |(kind, flags, stream, payload): (u8, u8, u32, Vec<u8>)| {
            (kind, flags, stream, payload.len())
        };
        frames.into_iter().map(short).collect()
    }
}

/// The frames in `bytes`: kind, flags, stream and payload.
pub fn frames(bytes: &[u8]) -> Vec<(u8, u8, u32, Vec<u8>)> {
    let mut rest = bytes;
    let mut frames = Vec::new();
    while let [_, l0, l1, kind, flags, s0, s1, s2, s3, behind @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*l0, *l1]));
        let stream = u32::from_be_bytes([*s0, *s1, *s2, *s3]);
        frames.push((*kind, *flags, stream, behind[..length].to_vec()));
        rest = &behind[length..];
    }
    assert!(rest.is_empty());
    frames
}

/// The server's end of a connection, and the bytes that it wrote.
pub struct Served {
    pub server: Server,
    pub out: Vec<u8>,
}

impl Served {
    /// Nothing has been received yet.
    pub fn begun() -> Served {
        let mut out = Vec::new();
        let server = Server::open(&mut out);
        Served { server, out }
    }

    /// The client's preface and settings have been received.
    pub fn open(pairs: &[(u16, u32)]) -> Served {
        let mut served = Served::begun();
        assert_eq!(served.read(&[&PREFACE[..], &settings(pairs)].concat()), "");
        served.out.clear();
        served
    }

    /// The events of these bytes, one per line.
    pub fn read(&mut self, bytes: &[u8]) -> String {
        let mut input = bytes;
        let mut lines: Vec<String> = Vec::new();
        while let Some(event) = self.server.receive(&mut input, &mut self.out) {
            lines.push(match event {
                RequestEvent::Head { stream, head } => {
                    let waits = if head.expects_continue { " waits" } else { "" };
                    format!("{stream} {:?} {}{waits}", head.method, head.target)
                }
                RequestEvent::Done { stream } => format!("{stream} done"),
                RequestEvent::Gone { stream } => format!("{stream} gone"),
                RequestEvent::Failed(fault) => format!("failed: {fault}"),
            });
        }
        assert!(input.is_empty());
        lines.join("\n")
    }

    /// Writes the head of a response, with a body of this length to follow.
    pub fn respond(&mut self, stream: u32, status: u16, length: u64) {
        let head = ResponseHead {
            status,
            content_length: length,
            content_type: "text/plain",
        };
        self.server
            .respond(stream, &head, length == 0, &mut self.out);
    }

    /// The frames that were written since the last call.
    pub fn written(&mut self) -> Vec<(u8, u8, u32, Vec<u8>)> {
        frames(&std::mem::take(&mut self.out))
    }
}

/// The head of a GET of `/` over `http` with these further fields, which ends the stream.
pub fn get(stream: u32, more: &[Vec<u8>]) -> Vec<u8> {
    head(stream, END_STREAM, &[GET, &more.concat()].concat())
}

/// `:method: GET`, `:scheme: http` and `:path: /`, from the static table.
pub const GET: &[u8] = &[0x82, 0x86, 0x84];
/// `:method: POST`, `:scheme: http` and `:path: /`.
pub const POST: &[u8] = &[0x83, 0x86, 0x84];

fn line(event: Event<'_>) -> String {
    match event {
        Event::Open => "open".to_owned(),
        Event::Head {
            stream,
            status,
            content_length,
        } => match content_length {
            None => format!("{stream} head {status}"),
            Some(length) => format!("{stream} head {status} of {length}"),
        },
        Event::Body { stream, bytes } => {
            format!("{stream} body {}", String::from_utf8_lossy(bytes))
        }
        Event::Done { stream, done } => {
            format!("{stream} done {} {}", done.status, done.body_bytes)
        }
        Event::StreamFailed { stream, fault } => format!("{stream} failed: {fault}"),
        Event::GoAway { last_stream, code } => format!("go away behind {last_stream}: {code}"),
        Event::Failed(fault) => format!("failed: {fault}"),
    }
}
