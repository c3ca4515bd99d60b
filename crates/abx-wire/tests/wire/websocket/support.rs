//! Frames byte by byte, without our own encoder, and both sides of a connection.

use abx_wire::http1::{self, ServerEvent};
use abx_wire::websocket::{
    Client, ClientOptions, Event, Fault, Masking, MessageKind, Offer, Opening, Server, SizeLimits,
};

pub const NONCE: [u8; 16] = *b"the sample nonce";
pub const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
pub const MASK: [u8; 4] = [0xA1, 0x02, 0xFF, 0x40];

pub const CONTINUATION: u8 = 0;
pub const TEXT: u8 = 1;
pub const BINARY: u8 = 2;
pub const CLOSE: u8 = 8;
pub const PING: u8 = 9;
pub const PONG: u8 = 10;
/// The frame is the last one of its message.
pub const FIN: u8 = 0x80;

/// A frame from a server.
pub fn plain(first: u8, payload: &[u8]) -> Vec<u8> {
    frame(first, payload, None)
}

/// A frame from a client.
pub fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    frame(first, payload, Some(MASK))
}

fn frame(first: u8, payload: &[u8], mask: Option<[u8; 4]>) -> Vec<u8> {
    let bit = if mask.is_some() { 0x80 } else { 0 };
    let mut bytes = vec![first];
    match payload.len() {
        short @ 0..126 => bytes.push(bit | short as u8),
        medium @ 126..0x1_0000 => {
            bytes.push(bit | 126);
            bytes.extend((medium as u16).to_be_bytes());
        }
        long => {
            bytes.push(bit | 127);
            bytes.extend((long as u64).to_be_bytes());
        }
    }
    bytes.extend(mask.into_iter().flatten());
    let mask = mask.unwrap_or_default();
    bytes.extend(
        payload
            .iter()
            .enumerate()
            .map(|(at, byte)| byte ^ mask[at % 4]),
    );
    bytes
}

/// A code and a reason as a close carries them.
pub fn close_payload(code: u16, reason: &[u8]) -> Vec<u8> {
    [&code.to_be_bytes(), reason].concat()
}

pub fn opening(protocols: &[&str]) -> Opening {
    Opening {
        target: "/echo".to_owned(),
        host: "h:1".to_owned(),
        headers: Vec::new(),
        protocols: protocols
            .iter()
            .map(|protocol| (*protocol).to_owned())
            .collect(),
    }
}

pub fn options(limits: SizeLimits) -> ClientOptions {
    ClientOptions {
        limits,
        masking: Masking::Fixed(MASK),
    }
}

/// The server's response to [`NONCE`], with these additional lines.
pub fn agreement(lines: &str) -> String {
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
         Connection: Upgrade\r\nSec-WebSocket-Accept: {ACCEPT}\r\n{lines}\r\n"
    )
}

/// A client whose handshake is done.
pub fn open_client(limits: SizeLimits) -> Client {
    let opening = opening(&[]).encode().unwrap();
    let mut client = Client::open(options(limits), &opening, NONCE, &mut Vec::new());
    let (steps, out) = client_steps(&mut client, agreement("").as_bytes());
    assert_eq!((steps, out), (vec![Step::Open], Vec::new()));
    client
}

/// A server whose handshake is done.
pub fn open_server(limits: SizeLimits) -> Server {
    let mut request = Vec::new();
    let opening = opening(&[]).encode().unwrap();
    let _ = Client::open(options(limits), &opening, NONCE, &mut request);
    let mut requests = http1::Server::new();
    let mut input = request.as_slice();
    let Some(ServerEvent::Head(head)) = requests.receive(&mut input) else {
        panic!("no head: {request:?}");
    };
    let offer = Offer::read(&head).unwrap().unwrap();
    Server::accept(&offer, limits, &mut Vec::new())
}

/// An event that outlives its bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Open,
    Data(Vec<u8>),
    /// Kind, bytes, fragments and beginning.
    Message(MessageKind, u64, u64, Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>, String),
    Failed(Fault),
}

impl From<Event<'_>> for Step {
    fn from(event: Event<'_>) -> Step {
        match event {
            Event::Open => Step::Open,
            Event::Data { bytes, .. } => Step::Data(bytes.to_vec()),
            Event::Message(message) => Step::Message(
                message.kind,
                message.bytes,
                message.fragments,
                message.beginning().to_vec(),
            ),
            Event::Ping(payload) => Step::Ping(payload.to_vec()),
            Event::Pong(payload) => Step::Pong(payload.to_vec()),
            Event::Close(close) => Step::Close(
                close.code.map(|code| code.number()),
                close.reason.to_owned(),
            ),
            Event::Failed(fault) => Step::Failed(fault),
        }
    }
}

/// A client's events after these bytes, and the bytes that it writes.
pub fn client_steps(client: &mut Client, bytes: &[u8]) -> (Vec<Step>, Vec<u8>) {
    let (mut input, mut out, mut steps) = (bytes, Vec::new(), Vec::new());
    while let Some(event) = client.receive(&mut input, &mut out) {
        steps.push(event.into());
    }
    assert!(input.is_empty());
    (steps, out)
}

/// A server's events after these bytes, and the bytes that it writes.
pub fn server_steps(server: &mut Server, bytes: &[u8]) -> (Vec<Step>, Vec<u8>) {
    let (mut bytes, mut out, mut steps) = (bytes.to_vec(), Vec::new(), Vec::new());
    let mut input = bytes.as_mut_slice();
    while let Some(event) = server.receive(&mut input, &mut out) {
        steps.push(event.into());
    }
    assert!(input.is_empty());
    (steps, out)
}
