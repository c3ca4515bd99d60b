//! Properties that hold for any bytes from a peer, called by fuzz targets and property tests.
//!
//! The same bytes come once at once and once in pieces: events and written bytes must be the
//! same, bodies joined; all bytes must be taken, and every loop must end.

use std::sync::LazyLock;

use abx_wire::http1::{Persistence, Request, Version};
use abx_wire::http2::{
    Client, EncodedRequest, Event, PREFACE, RequestEvent, ResponseHead, STREAMS_MAX, Server,
};

use super::pieces::pieces;

/// Bytes from a server: `data` begins with two bytes that choose the requests and the pieces.
///
/// # Panics
/// If a property does not hold.
pub fn client(data: &[u8]) {
    let [choice, seed, bytes @ ..] = data else {
        return;
    };
    let mut stream = Vec::new();
    if choice % 4 != 0 {
        // The empty settings that every connection may begin with.
        stream.extend_from_slice(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
    }
    stream.extend_from_slice(bytes);
    let whole = talk(*choice, &[&stream]);
    let split = talk(*choice, &pieces(&stream, *seed));
    assert_eq!(whole, split, "pieces change the events");
}

/// Bytes from a client: `data` begins with two bytes that choose the bytes before them, the
/// length of responses, and the pieces.
///
/// # Panics
/// If a property does not hold.
pub fn server(data: &[u8]) {
    let [choice, seed, bytes @ ..] = data else {
        return;
    };
    let mut stream = Vec::new();
    if choice % 4 != 0 {
        stream.extend_from_slice(PREFACE);
        stream.extend_from_slice(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
    }
    stream.extend_from_slice(bytes);
    let body = vec![b'b'; usize::from(*choice) * 400];
    let whole = serve(&body, &[&stream]);
    let split = serve(&body, &pieces(&stream, *seed));
    assert_eq!(whole, split, "pieces change the responses");
}

/// The requests, and all written bytes. Each complete request gets a response with as much of
/// the body as there is room for at that time, and is given up if that is not all of it.
fn serve(body: &[u8], pieces: &[&[u8]]) -> (Vec<String>, Vec<u8>) {
    let mut out = Vec::new();
    let mut server = Server::open(&mut out);
    let (mut notes, mut open) = (Vec::new(), Vec::new());
    for piece in pieces {
        let mut input = *piece;
        while let Some(event) = server.receive(&mut input, &mut out) {
            notes.push(format!("{event:?}"));
            match event {
                RequestEvent::Head { stream, .. } => {
                    assert!(!open.contains(&stream), "a stream has two heads");
                    open.push(stream);
                    assert!(open.len() <= STREAMS_MAX, "more streams than allowed");
                }
                RequestEvent::Done { stream } => {
                    respond(&mut server, stream, body, &mut out);
                    remove(&mut open, stream);
                }
                RequestEvent::Gone { stream } => remove(&mut open, stream),
                RequestEvent::Failed(_) => open.clear(),
            }
        }
        assert!(input.is_empty(), "bytes are left");
    }
    (notes, out)
}

fn respond(server: &mut Server, stream: u32, body: &[u8], out: &mut Vec<u8>) {
    let head = ResponseHead {
        status: 200,
        content_length: body.len() as u64,
        content_type: "text/plain",
    };
    server.respond(stream, &head, body.is_empty(), out);
    if body.is_empty() {
        return;
    }
    let sent = body.len().min(server.room(stream));
    server.send(stream, &body[..sent], sent == body.len(), out);
    server.give_up(stream, out);
}

fn remove(open: &mut Vec<u32>, stream: u32) {
    let index = open.iter().position(|number| *number == stream);
    open.remove(index.expect("a stream that ends has begun"));
}

/// The events, and all written bytes.
fn talk(choice: u8, pieces: &[&[u8]]) -> (Vec<Note>, Vec<u8>) {
    let mut out = Vec::new();
    let mut client = Client::open(&mut out);
    if choice & 0x40 != 0 {
        client.keep_heads();
    }
    let begun = (0..usize::from(choice / 4 % 8))
        .filter_map(|index| client.begin(&REQUESTS[index % REQUESTS.len()], &mut out))
        .count();
    let mut notes = Vec::new();
    for piece in pieces {
        let mut input = *piece;
        while let Some(event) = client.receive(&mut input, &mut out) {
            note(&mut notes, event);
        }
        assert!(input.is_empty(), "bytes are left");
    }
    let is_end = |note: &&Note| matches!(note, Note::Done(..) | Note::StreamFailed(_));
    assert!(
        notes.iter().filter(is_end).count() <= begun,
        "more ended than began"
    );
    (notes, out)
}

/// Encoded once, as a load does. The last body is longer than the room that a connection begins
/// with, which is 65,535 bytes.
static REQUESTS: LazyLock<[EncodedRequest; 3]> =
    LazyLock::new(|| [("GET", 0), ("HEAD", 0), ("POST", 70_000)].map(request));

fn request((method, body_bytes): (&str, usize)) -> EncodedRequest {
    let request = Request {
        method: method.to_owned(),
        target: "/".to_owned(),
        host: "h".to_owned(),
        headers: Vec::new(),
        body: vec![b'b'; body_bytes],
        version: Version::Http11,
        connection: Persistence::KeepAlive,
    };
    EncodedRequest::of(&request, "http").expect("it can be sent")
}

#[derive(Debug, PartialEq)]
enum Note {
    Body(u32, Vec<u8>),
    Done(u32, u64),
    StreamFailed(u32),
    Other(String),
}

fn note(notes: &mut Vec<Note>, event: Event<'_>) {
    match event {
        Event::Body { stream, bytes } => {
            assert!(!bytes.is_empty(), "an empty body event");
            match notes.last_mut() {
                Some(Note::Body(last, before)) if *last == stream => before.extend(bytes),
                _ => notes.push(Note::Body(stream, bytes.to_vec())),
            }
        }
        Event::Done { stream, done } => {
            let bodies = notes.iter().filter_map(|note| match note {
                Note::Body(of, bytes) if *of == stream => Some(bytes.len() as u64),
                _ => None,
            });
            assert_eq!(
                done.body_bytes,
                bodies.sum::<u64>(),
                "a body is counted wrongly"
            );
            notes.push(Note::Done(stream, done.body_bytes));
        }
        Event::StreamFailed { stream, .. } => notes.push(Note::StreamFailed(stream)),
        other => notes.push(Note::Other(format!("{other:?}"))),
    }
}
