//! Properties that hold for any bytes from a peer, called by fuzz targets and property tests.
//!
//! Each function feeds the same bytes once at once and once in pieces. Events and written bytes
//! must be the same, data joined; all bytes must be taken, and every loop must end.

use std::sync::LazyLock;

use abx_wire::http1;
use abx_wire::websocket::{
    BEGINNING_BYTES, Client, ClientOptions, EncodedOpening, Event, Fault, FragmentPlace, Masking,
    Message, MessageKind, Offer, Opening, Server, SizeLimits,
};

use super::pieces::pieces;

/// Bytes from a server: `data` begins with two bytes that choose whether the
/// handshake is done, and the pieces.
///
/// # Panics
/// If a property does not hold.
pub fn client(data: &[u8]) {
    let [choice, seed, bytes @ ..] = data else {
        return;
    };
    let mut stream = Vec::new();
    if choice % 4 != 0 {
        stream.extend_from_slice(&AGREEMENT);
    }
    stream.extend_from_slice(bytes);
    let whole = client_talk(&[&stream]);
    let split = client_talk(&pieces(&stream, *seed));
    assert_eq!(whole, split, "pieces change the events");
}

/// Bytes from a client after its handshake: `data` begins with one byte that
/// chooses the pieces.
///
/// # Panics
/// If a property does not hold.
pub fn server(data: &[u8]) {
    let [seed, bytes @ ..] = data else {
        return;
    };
    let whole = server_talk(&[bytes]);
    let split = server_talk(&pieces(bytes, *seed));
    assert_eq!(whole, split, "pieces change the events");
}

/// Messages there and back: `data` begins with two bytes that choose pieces and
/// fragments; the rest is cut into messages of growing length.
///
/// # Panics
/// When a message is lost or changed.
pub fn round_trip(data: &[u8]) {
    let [seed, fragment_bytes, rest @ ..] = data else {
        return;
    };
    let fragment_bytes = usize::from(fragment_bytes % 32) + 1;
    let mut sent = Vec::new();
    let mut left = rest;
    while !left.is_empty() {
        let (payload, after) = left.split_at(sent.len().min(left.len()));
        sent.push(payload);
        left = after;
    }
    let mut to_server = Vec::new();
    let mut client = Client::open(options(), &OPENING, [7; 16], &mut to_server);
    let mut to_client = Vec::new();
    let (mut server, head_bytes) = accept(&to_server, &mut to_client);
    assert_eq!(head_bytes, to_server.len(), "bytes follow the handshake");
    to_server.clear();
    note_client(&mut client, &to_client, &mut Vec::new(), &mut Vec::new());
    assert!(client.is_open(), "the handshake failed");
    for payload in &sent {
        let mut fragments = payload.chunks(fragment_bytes).peekable();
        while let Some(fragment) = fragments.next() {
            let place = match fragments.peek() {
                Some(_) => FragmentPlace::Inner,
                None => FragmentPlace::Last,
            };
            client
                .send_fragment(MessageKind::Binary, fragment, place, &mut to_server)
                .expect("the client is open");
        }
        if payload.is_empty() {
            client
                .send(MessageKind::Binary, payload, &mut to_server)
                .expect("the client is open");
        }
    }
    to_client.clear();
    let mut steps = Vec::new();
    for piece in pieces(&to_server, *seed) {
        note_server(&mut server, piece, &mut steps, &mut Vec::new());
    }
    for payload in &messages(&steps) {
        server
            .send(MessageKind::Binary, payload, &mut to_client)
            .expect("the server is open");
    }
    let mut steps = Vec::new();
    for piece in pieces(&to_client, seed.wrapping_add(1)) {
        note_client(&mut client, piece, &mut steps, &mut Vec::new());
    }
    assert_eq!(messages(&steps), sent, "messages came back changed");
}

/// An event as a caller sees it, data joined.
#[derive(Debug, PartialEq)]
enum Step {
    Open,
    Data(MessageKind, Vec<u8>),
    Message(Message),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>, String),
    Failed(Fault),
}

/// The events and the written bytes, to the end of the connection.
type Talk = (Vec<Step>, Vec<u8>);

fn client_talk(pieces: &[&[u8]]) -> Talk {
    let mut out = Vec::new();
    let mut client = Client::open(options(), &OPENING, [7; 16], &mut out);
    let mut steps = Vec::new();
    for piece in pieces {
        note_client(&mut client, piece, &mut steps, &mut out);
    }
    if let Some(event) = client.eof() {
        note(&mut steps, event);
    }
    assert!(!client.is_open() && client.eof().is_none(), "still open");
    (steps, out)
}

fn server_talk(pieces: &[&[u8]]) -> Talk {
    let mut request = Vec::new();
    let _ = Client::open(options(), &OPENING, [7; 16], &mut request);
    let mut out = Vec::new();
    let (mut server, _) = accept(&request, &mut out);
    let mut steps = Vec::new();
    for piece in pieces {
        note_server(&mut server, piece, &mut steps, &mut out);
    }
    if let Some(event) = server.eof() {
        note(&mut steps, event);
    }
    assert!(!server.is_open() && server.eof().is_none(), "still open");
    (steps, out)
}

fn note_client(client: &mut Client, piece: &[u8], steps: &mut Vec<Step>, out: &mut Vec<u8>) {
    let mut input = piece;
    while let Some(event) = client.receive(&mut input, out) {
        note(steps, event);
    }
    assert!(input.is_empty(), "bytes are left");
}

fn note_server(server: &mut Server, piece: &[u8], steps: &mut Vec<Step>, out: &mut Vec<u8>) {
    let mut bytes = piece.to_vec();
    let mut input = bytes.as_mut_slice();
    while let Some(event) = server.receive(&mut input, out) {
        note(steps, event);
    }
    assert!(input.is_empty(), "bytes are left");
}

fn note(steps: &mut Vec<Step>, event: Event<'_>) {
    let step = match event {
        Event::Open => Step::Open,
        Event::Data { kind, bytes } => {
            assert!(!bytes.is_empty(), "an empty data event");
            if let Some(Step::Data(before, joined)) = steps.last_mut() {
                assert_eq!(*before, kind, "the kind changes inside a message");
                return joined.extend_from_slice(bytes);
            }
            Step::Data(kind, bytes.to_vec())
        }
        Event::Message(message) => {
            check_message(message, steps);
            Step::Message(message)
        }
        Event::Ping(payload) => Step::Ping(payload.to_vec()),
        Event::Pong(payload) => Step::Pong(payload.to_vec()),
        Event::Close(close) => Step::Close(
            close.code.map(|code| code.number()),
            close.reason.to_owned(),
        ),
        Event::Failed(fault) => {
            // The pieces determine how much of an invalid text becomes data.
            if fault == Fault::InvalidUtf8 && matches!(steps.last(), Some(Step::Data(..))) {
                steps.pop();
            }
            Step::Failed(fault)
        }
    };
    steps.push(step);
}

/// A message must agree with its data events.
fn check_message(message: Message, steps: &[Step]) {
    let payload = payload_before(steps, steps.len());
    assert_eq!(
        message.bytes,
        payload.len() as u64,
        "bytes are counted wrongly"
    );
    assert!(
        payload.starts_with(message.beginning()),
        "the beginning differs"
    );
    assert_eq!(
        message.beginning().len(),
        payload.len().min(BEGINNING_BYTES)
    );
    let is_text = message.kind == MessageKind::Text;
    assert!(
        !is_text || std::str::from_utf8(&payload).is_ok(),
        "no UTF-8"
    );
}

/// The data between the message that ends at `end` and the one before it.
fn payload_before(steps: &[Step], end: usize) -> Vec<u8> {
    let start = steps[..end]
        .iter()
        .rposition(|step| matches!(step, Step::Message(_)))
        .map_or(0, |at| at + 1);
    let data = steps[start..end].iter().filter_map(|step| match step {
        Step::Data(_, bytes) => Some(bytes.as_slice()),
        _ => None,
    });
    data.collect::<Vec<&[u8]>>().concat()
}

fn messages(steps: &[Step]) -> Vec<Vec<u8>> {
    let ends = (0..steps.len()).filter(|at| matches!(steps[*at], Step::Message(_)));
    ends.map(|at| payload_before(steps, at)).collect()
}

/// Encoded once, as a load does.
static OPENING: LazyLock<EncodedOpening> = LazyLock::new(|| {
    let opening = Opening {
        target: "/echo".to_owned(),
        host: "h".to_owned(),
        headers: Vec::new(),
        protocols: vec!["a".to_owned(), "b".to_owned()],
    };
    opening.encode().expect("it is well formed")
});

fn options() -> ClientOptions {
    ClientOptions {
        limits: LIMITS,
        masking: Masking::Seeded(1),
    }
}

/// Accepts a handshake, and returns how many bytes it took.
fn accept(request: &[u8], out: &mut Vec<u8>) -> (Server, usize) {
    let mut requests = http1::Server::new();
    let mut input = request;
    let Some(http1::ServerEvent::Head(head)) = requests.receive(&mut input) else {
        panic!("the handshake is no request");
    };
    let offer = Offer::read(&head).expect("it is well formed");
    let server = Server::accept(&offer.expect("it is a handshake"), LIMITS, out);
    (server, request.len() - input.len())
}

/// A server's response to the handshake.
static AGREEMENT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut request = Vec::new();
    let _ = Client::open(options(), &OPENING, [7; 16], &mut request);
    let mut out = Vec::new();
    let _ = accept(&request, &mut out);
    out
});

/// Small limits, so that random input reaches them.
const LIMITS: SizeLimits = SizeLimits {
    frame_bytes: 1_000,
    message_bytes: 2_000,
};
