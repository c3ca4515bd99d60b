//! Bodies that are skipped must end like bodies that are read.

use abx_wire::http1::{Client, Done, Event, Fault, ResponseKind};
use proptest::prelude::*;

/// A response of known length.
fn response(body_bytes: usize) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {body_bytes}\r\n\r\n");
    [head.into_bytes(), vec![b'x'; body_bytes]].concat()
}

/// A client that has read the head of `response`, and the rest of the bytes.
fn after_head(response: &[u8]) -> (Client, &[u8]) {
    let mut client = Client::new();
    client.expect(ResponseKind::WithBody);
    let mut input = response;
    let head = client.receive(&mut input);
    assert!(matches!(head, Some(Event::Head { .. })), "{head:?}");
    (client, input)
}

const fn done(body_bytes: u64) -> Done {
    Done {
        status: 200,
        body_bytes,
        reusable: true,
    }
}

#[test]
fn a_body_skipped_to_its_end_is_done_without_a_further_byte() {
    // Method: all of a body in one skip, and the next response on the same connection.
    let bytes = response(70_000);
    let (mut client, _) = after_head(&bytes);
    assert_eq!(client.body_ahead(), 70_000);
    client.skip(70_000);
    assert_eq!(client.body_ahead(), 0);
    assert_eq!(
        client.receive(&mut &[][..]),
        Some(Event::Done(done(70_000)))
    );
    assert_eq!(client.receive(&mut &[][..]), None);
    assert!(client.is_idle());
    client.expect(ResponseKind::WithBody);
    let next = response(0);
    let mut input = next.as_slice();
    let events = std::iter::from_fn(|| client.receive(&mut input));
    assert_eq!(events.last(), Some(Event::Done(done(0))));
}

#[test]
fn only_bodies_of_known_length_can_be_skipped() {
    // Method: every other state of a connection; none has a body ahead.
    let mut client = Client::new();
    assert_eq!(client.body_ahead(), 0);
    client.expect(ResponseKind::WithBody);
    assert_eq!(client.body_ahead(), 0);
    for framing in ["Transfer-Encoding: chunked", "Connection: close"] {
        let head = format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n");
        let (client, _) = after_head(head.as_bytes());
        assert_eq!(client.body_ahead(), 0, "{framing}");
    }
    let (mut client, _) = after_head(b"HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n");
    assert_eq!(client.body_ahead(), 0);
    client.skip(0);
}

#[test]
#[should_panic(expected = "6 bytes skipped where 5 are left")]
fn skipping_beyond_the_body_is_a_bug_of_the_caller() {
    // Method: one byte more than there is.
    let bytes = response(5);
    let (mut client, _) = after_head(&bytes);
    client.skip(6);
}

#[test]
fn a_close_after_a_skip_fails_if_bytes_are_left() {
    // Method: one byte short of the end, and at it.
    for (skipped, expected) in [
        (4, Event::Failed(Fault::ClosedEarly)),
        (5, Event::Done(done(5))),
    ] {
        let bytes = response(5);
        let (mut client, _) = after_head(&bytes);
        client.skip(skipped);
        assert_eq!(client.eof(), Some(expected));
    }
}

proptest! {
    #[test]
    fn any_mix_of_skipping_and_reading_gives_the_same_end(
        body_bytes in 0_usize..5_000,
        steps in prop::collection::vec((any::<bool>(), 0_usize..700), 0..30),
    ) {
        // Method: steps that read or skip a part; then the rest is read. Every
        // byte counts once, and only the bytes that are read appear as body.
        let bytes = response(body_bytes);
        let (mut client, mut rest) = after_head(&bytes);
        let mut read = 0;
        let mut skipped = 0;
        let mut last = None;
        for (skips, step) in steps.into_iter().chain([(false, body_bytes)]) {
            let (part, after) = rest.split_at(step.min(rest.len()));
            rest = after;
            prop_assert_eq!(client.body_ahead(), (part.len() + rest.len()) as u64);
            if skips {
                client.skip(part.len() as u64);
                skipped += part.len();
                continue;
            }
            let mut input = part;
            while let Some(event) = client.receive(&mut input) {
                if let Event::Body(body) = event {
                    read += body.len();
                }
                last = Some(event);
            }
            if client.is_idle() {
                break;
            }
        }
        prop_assert_eq!(last, Some(Event::Done(done(body_bytes as u64))));
        prop_assert_eq!(read + skipped, body_bytes);
        prop_assert!(rest.is_empty());
    }
}
