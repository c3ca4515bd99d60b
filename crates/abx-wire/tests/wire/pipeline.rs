//! Several responses awaited on one connection: matched in order, each by its own kind.

use abx_wire::http1::{Client, Done, Event, Fault, ResponseKind};
use proptest::prelude::*;

const HEAD: ResponseKind = ResponseKind::HeadOnly;
const GET: ResponseKind = ResponseKind::WithBody;

/// An event, owned, with the body's parts joined.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Head(u16),
    Body(Vec<u8>),
    Done(Done),
    Failed(Fault),
}

fn note(steps: &mut Vec<Step>, event: Event<'_>) {
    match event {
        Event::Interim => {}
        Event::Head { status, .. } => steps.push(Step::Head(status)),
        Event::Body(body) => match steps.last_mut() {
            Some(Step::Body(before)) => before.extend_from_slice(body),
            _ => steps.push(Step::Body(body.to_vec())),
        },
        Event::Done(done) => steps.push(Step::Done(done)),
        Event::Failed(fault) => steps.push(Step::Failed(fault)),
    }
}

fn waiting(kinds: &[ResponseKind]) -> Client {
    let mut client = Client::new();
    kinds.iter().for_each(|kind| client.expect(*kind));
    client
}

fn receive(client: &mut Client, mut input: &[u8], steps: &mut Vec<Step>) {
    while let Some(event) = client.receive(&mut input) {
        note(steps, event);
    }
    assert!(input.is_empty());
}

/// The events of the bytes and the close, and the number of responses awaited before the close.
fn outcome(kinds: &[ResponseKind], bytes: &[u8]) -> (Vec<Step>, usize) {
    let mut client = waiting(kinds);
    let mut steps = Vec::new();
    receive(&mut client, bytes, &mut steps);
    while let Some(event) = client.eof() {
        note(&mut steps, event);
    }
    (steps, client.awaited())
}

const fn done(status: u16, body_bytes: u64, reusable: bool) -> Step {
    Step::Done(Done {
        status,
        body_bytes,
        reusable,
    })
}

const ONE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na";
const LAST: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na";

#[test]
fn each_response_is_read_by_the_kind_of_its_own_request() {
    // Method: HEAD between two GETs; in another order, a body would be read as a head.
    let head_only = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
    let bytes = [ONE, head_only, ONE].concat();
    let mut client = waiting(&[GET, HEAD, GET]);
    let mut steps = Vec::new();
    let mut awaited = vec![client.awaited()];
    let mut input = bytes.as_bytes();
    while let Some(event) = client.receive(&mut input) {
        if let Event::Done(done) = event {
            steps.push(done.body_bytes);
            awaited.push(client.awaited());
        }
    }
    assert_eq!(steps, [1, 0, 1]);
    assert_eq!(awaited, [3, 2, 1, 0]);
    assert!(client.is_idle());
}

#[test]
fn more_can_be_awaited_in_the_middle_of_a_response() {
    // Method: the second request is announced when half of the first response has arrived.
    let (start, end) = ONE.split_at(20);
    let mut client = waiting(&[GET]);
    let mut steps = Vec::new();
    receive(&mut client, start.as_bytes(), &mut steps);
    client.expect(HEAD);
    assert_eq!(client.awaited(), 2);
    receive(&mut client, end.as_bytes(), &mut steps);
    assert!(!client.has_response_started(), "the second has not");
    receive(&mut client, b"HTTP/1.1 204 No Content\r\n\r\n", &mut steps);
    assert_eq!(
        steps[2..],
        [done(200, 1, true), Step::Head(204), done(204, 0, true)]
    );
    assert_eq!(client.awaited(), 0);
}

#[test]
fn a_close_reports_whether_the_awaited_response_had_begun() {
    // Method: three responses awaited, and a close in each kind of position.
    let head = "HTTP/1.1 200 OK\r\n";
    let until_close = "HTTP/1.1 200 OK\r\n\r\nabc";
    for (bytes, steps_after_first, awaited) in [
        (ONE.to_owned(), vec![Step::Failed(Fault::ClosedIdle)], 2),
        (
            format!("{ONE}\r\n"),
            vec![Step::Failed(Fault::ClosedIdle)],
            2,
        ),
        (
            format!("{ONE}{head}"),
            vec![Step::Failed(Fault::ClosedEarly)],
            2,
        ),
        (
            format!("{ONE}HTTP/1.1 100 Continue\r\n\r\n"),
            vec![Step::Failed(Fault::ClosedEarly)],
            2,
        ),
        (
            format!("{ONE}{until_close}"),
            vec![
                Step::Head(200),
                Step::Body(b"abc".to_vec()),
                done(200, 3, false),
                Step::Failed(Fault::ClosedIdle),
            ],
            1,
        ),
    ] {
        let (steps, left) = outcome(&[GET; 3], bytes.as_bytes());
        assert_eq!(steps[2], done(200, 1, true), "{bytes:?}");
        assert_eq!(steps[3..], steps_after_first, "{bytes:?}");
        assert_eq!(left, awaited, "{bytes:?}");
    }
}

#[test]
fn bytes_after_the_last_response_of_a_connection_are_not_read() {
    // Method: `Connection: close` while two more are awaited, with and without bytes after it. Both
    // fail at once, without waiting for the close.
    for excess in ["", ONE, "noise"] {
        let mut client = waiting(&[GET; 3]);
        let mut steps = Vec::new();
        receive(&mut client, LAST.as_bytes(), &mut steps);
        receive(&mut client, excess.as_bytes(), &mut steps);
        assert_eq!(
            steps[2..],
            [done(200, 1, false), Step::Failed(Fault::ClosedIdle)],
            "{excess:?}"
        );
        assert!(!client.has_response_started());
        assert_eq!((client.awaited(), client.eof()), (2, None));
    }
}

#[test]
fn a_response_that_was_not_awaited_fails() {
    // Method: three responses to two requests.
    let (steps, left) = outcome(&[GET; 2], ONE.repeat(3).as_bytes());
    assert_eq!(steps.last(), Some(&Step::Failed(Fault::Unasked)));
    assert_eq!((steps.len(), left), (7, 0));
}

#[test]
#[should_panic(expected = "from a broken connection")]
fn nothing_can_be_awaited_from_a_broken_connection() {
    // Method: noise, then one more request.
    let mut client = waiting(&[GET]);
    receive(&mut client, b"noise\r\n\r\n", &mut Vec::new());
    client.expect(GET);
}

#[test]
fn a_body_is_skipped_before_the_next_response() {
    // Method: the caller skips the first of two bodies.
    let mut client = waiting(&[GET; 2]);
    let mut steps = Vec::new();
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n";
    receive(&mut client, bytes, &mut steps);
    client.skip(client.body_ahead());
    receive(&mut client, ONE.as_bytes(), &mut steps);
    assert_eq!(steps[1], done(200, 9, true));
    assert_eq!(steps[4], done(200, 1, true));
}

/// A response's bytes, the kind of its request, and the events that it must give.
fn response() -> impl Strategy<Value = (ResponseKind, Vec<u8>, Vec<Step>)> {
    let body = prop::collection::vec(any::<u8>(), 0..300);
    (0..5, body).prop_map(|(form, body)| {
        let status = if form == 3 { 304 } else { 200 };
        let sized = format!(
            "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let (kind, bytes, body) = match form {
            0 => (GET, [sized.as_bytes(), &body].concat(), body),
            1 => {
                let mut bytes = chunked.as_bytes().to_vec();
                for part in body.chunks(70) {
                    bytes.extend(format!("{:x}\r\n", part.len()).bytes());
                    bytes.extend(part);
                    bytes.extend(b"\r\n");
                }
                bytes.extend(b"0\r\n\r\n");
                (GET, bytes, body)
            }
            2 => (HEAD, sized.into_bytes(), Vec::new()),
            3 => (GET, sized.into_bytes(), Vec::new()),
            _ => {
                let interim = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
                let bytes = [interim.as_bytes(), sized.as_bytes(), &body].concat();
                (GET, bytes, body)
            }
        };
        let mut steps = vec![Step::Head(status)];
        let end = done(status, body.len() as u64, true);
        if !body.is_empty() {
            steps.push(Step::Body(body));
        }
        steps.push(end);
        (kind, bytes, steps)
    })
}

proptest! {
    #[test]
    fn any_split_of_any_responses_gives_the_same_events(
        responses in prop::collection::vec(response(), 1..12),
        cuts in prop::collection::vec(1_usize..400, 1..40),
    ) {
        // Method: random sized, chunked, empty, HEAD, 304 and interim responses, all awaited at
        // once and cut anywhere; the events are the same as of each response alone.
        let kinds: Vec<_> = responses.iter().map(|(kind, ..)| *kind).collect();
        let bytes: Vec<u8> = responses.iter().flat_map(|(_, bytes, _)| bytes.clone()).collect();
        let expected: Vec<_> = responses.iter().flat_map(|(.., steps)| steps.clone()).collect();
        let mut client = waiting(&kinds);
        let mut steps = Vec::new();
        let mut rest = bytes.as_slice();
        for cut in cuts.iter().cycle() {
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            receive(&mut client, piece, &mut steps);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(steps, expected);
        prop_assert_eq!((client.awaited(), client.eof()), (0, None));
    }
}
