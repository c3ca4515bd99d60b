//! Properties that hold for any bytes from a peer, called by fuzz targets and property tests.
//!
//! Each function feeds the same bytes once at once and once in pieces. The events must be the
//! same, bodies joined; all bytes must be taken, and every loop must end.

use abx_wire::http1::{
    Client, Done, Event, Fault, HeadMemo, Method, ResponseKind, Server, ServerEvent, Version,
    server_timings,
};

use super::pieces::pieces;

/// Responses: `data` begins with two bytes that choose the kind and the pieces.
///
/// # Panics
/// If a property does not hold.
pub fn client(data: &[u8]) {
    let [choice, seed, responses @ ..] = data else {
        return;
    };
    let kind = match choice % 4 {
        0 => ResponseKind::HeadOnly,
        _ => ResponseKind::WithBody,
    };
    assert!(server_timings(responses).all(|timing| !timing.name.is_empty()));
    let mut memo = HeadMemo::default();
    let whole = client_steps(kind, &[responses], &mut memo);
    // The first pass has filled the memo, mostly with the last head.
    let again = client_steps(kind, &[responses], &mut memo);
    assert_eq!(whole, again, "a memo changes the responses");
    let split = client_steps(kind, &pieces(responses, *seed), &mut HeadMemo::default());
    assert_eq!(whole, split, "pieces change the responses");
    let at_once = client_steps_at_once(kind, responses, &mut memo);
    let is_no_head = |step: &ClientStep| !matches!(step, ClientStep::Head(..));
    let expected: Vec<ClientStep> = whole.into_iter().filter(is_no_head).collect();
    assert_eq!(expected, at_once, "taking responses at once changes them");
}

/// Pipelined responses: `data` begins with three bytes that choose how many are
/// awaited, their kinds and the pieces.
///
/// Awaiting all of them at once must give the same events as awaiting them one by one, up to the
/// response that ends the connection.
///
/// # Panics
/// If a property does not hold.
pub fn pipeline(data: &[u8]) {
    let [count, choices, seed, responses @ ..] = data else {
        return;
    };
    let kinds: Vec<ResponseKind> = (0..count % 9)
        .map(|index| match choices >> (index % 8) & 1 {
            0 => ResponseKind::WithBody,
            _ => ResponseKind::HeadOnly,
        })
        .collect();
    let whole = pipelined_steps(&kinds, &[responses]);
    let split = pipelined_steps(&kinds, &pieces(responses, *seed));
    assert_eq!(whole, split, "pieces change the responses");
    let one_by_one = one_by_one_steps(&kinds, responses);
    assert_eq!(whole, one_by_one, "awaiting more changes the responses");
}

/// Requests: `data` begins with one byte that chooses the pieces.
///
/// # Panics
/// If a property does not hold.
pub fn server(data: &[u8]) {
    let [seed, requests @ ..] = data else {
        return;
    };
    let whole = server_steps(&[requests]);
    let split = server_steps(&pieces(requests, *seed));
    assert_eq!(whole, split, "pieces change the requests");
}

#[derive(Debug, PartialEq)]
enum ClientStep {
    Head(u16, Option<u64>),
    Body(Vec<u8>),
    Done(Done),
    Failed(Fault),
}

fn client_steps(kind: ResponseKind, pieces: &[&[u8]], memo: &mut HeadMemo) -> Vec<ClientStep> {
    let mut client = Client::new();
    client.expect(kind);
    let mut steps = Vec::new();
    for piece in pieces {
        let mut input = *piece;
        while let Some(event) = client.receive_with(memo, &mut input) {
            note(&mut steps, event);
            if client.is_idle() {
                client.expect(kind);
            }
        }
        assert!(input.is_empty(), "bytes are left");
    }
    if let Some(event) = client.eof() {
        note(&mut steps, event);
    }
    steps
}

/// Responses are taken at once if possible, which gives no events for their heads.
fn client_steps_at_once(
    kind: ResponseKind,
    mut input: &[u8],
    memo: &mut HeadMemo,
) -> Vec<ClientStep> {
    let mut client = Client::new();
    client.expect(kind);
    let mut steps = Vec::new();
    loop {
        if let Some((done, body)) = client.receive_whole(memo, &mut input) {
            if !body.is_empty() {
                note(&mut steps, Event::Body(body));
            }
            note(&mut steps, Event::Done(done));
        } else {
            match client.receive_with(memo, &mut input) {
                None => break,
                Some(Event::Interim | Event::Head { .. }) => {}
                Some(event) => note(&mut steps, event),
            }
        }
        if client.is_idle() {
            client.expect(kind);
        }
    }
    if let Some(event) = client.eof() {
        note(&mut steps, event);
    }
    steps
}

/// All responses are awaited from the beginning; repeated heads come from the memo.
fn pipelined_steps(kinds: &[ResponseKind], pieces: &[&[u8]]) -> Vec<ClientStep> {
    let mut client = Client::new();
    let mut memo = HeadMemo::default();
    kinds.iter().for_each(|kind| client.expect(*kind));
    let mut steps = Vec::new();
    for piece in pieces {
        let mut input = *piece;
        while let Some(event) = client.receive_with(&mut memo, &mut input) {
            note(&mut steps, event);
        }
        assert!(input.is_empty(), "bytes are left");
    }
    while let Some(event) = client.eof() {
        note(&mut steps, event);
    }
    let is_done = |step: &&ClientStep| matches!(step, ClientStep::Done(_));
    let done = steps.iter().filter(is_done).count();
    assert_eq!(client.awaited() + done, kinds.len(), "a response is lost");
    steps
}

/// Each response is awaited when the one before it is done and leaves the connection open.
fn one_by_one_steps(kinds: &[ResponseKind], mut input: &[u8]) -> Vec<ClientStep> {
    let mut client = Client::new();
    let mut steps = Vec::new();
    for kind in kinds {
        if let Some(ClientStep::Done(done)) = steps.last()
            && !done.reusable
        {
            steps.push(ClientStep::Failed(Fault::ClosedIdle));
            return steps;
        }
        client.expect(*kind);
        while !client.is_idle() {
            let Some(event) = client.receive(&mut input).or_else(|| client.eof()) else {
                return steps;
            };
            note(&mut steps, event);
        }
    }
    if let Some(unasked) = client.receive(&mut input) {
        note(&mut steps, unasked);
    }
    steps
}

fn note(steps: &mut Vec<ClientStep>, event: Event<'_>) {
    match event {
        Event::Interim => {}
        Event::Head {
            status,
            content_length,
        } => steps.push(ClientStep::Head(status, content_length)),
        Event::Body(body) => {
            assert!(!body.is_empty(), "an empty body event");
            match steps.last_mut() {
                Some(ClientStep::Body(before)) => before.extend_from_slice(body),
                _ => steps.push(ClientStep::Body(body.to_vec())),
            }
        }
        Event::Done(done) => {
            let body_bytes = match steps.last() {
                Some(ClientStep::Body(body)) => body.len() as u64,
                _ => 0,
            };
            assert_eq!(done.body_bytes, body_bytes, "the body is counted wrongly");
            steps.push(ClientStep::Done(done));
        }
        Event::Failed(fault) => steps.push(ClientStep::Failed(fault)),
    }
}

#[derive(Debug, PartialEq)]
enum ServerStep {
    Head(Method, String, Version, bool),
    Done,
    Failed(Fault),
}

fn server_steps(pieces: &[&[u8]]) -> Vec<ServerStep> {
    let mut server = Server::new();
    let mut steps = Vec::new();
    for piece in pieces {
        let mut input = *piece;
        while let Some(event) = server.receive(&mut input) {
            steps.push(match event {
                ServerEvent::Head(head) => ServerStep::Head(
                    head.method,
                    head.target.to_owned(),
                    head.version,
                    head.keep_alive,
                ),
                ServerEvent::Done => ServerStep::Done,
                ServerEvent::Failed(fault) => ServerStep::Failed(fault),
            });
        }
        assert!(input.is_empty(), "bytes are left");
    }
    steps
}
