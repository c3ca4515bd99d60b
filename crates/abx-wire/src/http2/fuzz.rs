//! What must hold for any bytes from a server, called by the fuzz target and property tests.
//!
//! The same bytes come once whole and once in pieces: events and what is written must be the
//! same, bodies joined; all bytes must be taken, and every loop must end.

use super::{Client, EncodedRequest, Event};
use crate::fuzz::pieces;
use crate::http1::{Persistence, Request, Version};

/// Bytes from a server: `data` begins with two bytes that choose the requests and the pieces.
///
/// # Panics
/// When a promise is broken.
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

/// What came of it, and all that was written.
fn talk(choice: u8, pieces: &[&[u8]]) -> (Vec<Note>, Vec<u8>) {
    let mut out = Vec::new();
    let mut client = Client::open(&mut out);
    if choice & 0x40 != 0 {
        client.keep_heads();
    }
    let asked = [("GET", 0), ("HEAD", 0), ("POST", 100_000)].map(request);
    let begun = (0..usize::from(choice / 4 % 8))
        .filter_map(|place| client.begin(&asked[place % asked.len()], &mut out))
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
