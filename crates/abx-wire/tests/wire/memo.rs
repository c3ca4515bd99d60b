//! A memo of heads gives the same events as parsing, and is used only for the same bytes.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

use abx_wire::http1::{Client, Event, HeadMemo, ResponseKind};

/// The events of these bytes, response after response, as text.
fn events(mut memo: Option<&mut HeadMemo>, kinds: &[ResponseKind], bytes: &[u8]) -> Vec<String> {
    let mut client = Client::new();
    kinds.iter().for_each(|kind| client.expect(*kind));
    let mut input = bytes;
    let mut events = Vec::new();
    loop {
        let event = match memo.as_deref_mut() {
            Some(memo) => client.receive_with(memo, &mut input),
            None => client.receive(&mut input),
        };
        match event {
            Some(Event::Body(body)) => events.push(String::from_utf8_lossy(body).into_owned()),
            Some(event) => events.push(format!("{event:?}")),
            None => return events,
        }
    }
}

/// The number of responses that are taken at once, and the events without heads.
fn at_once(memo: &mut HeadMemo, kinds: &[ResponseKind], bytes: &[u8]) -> (usize, Vec<String>) {
    let mut client = Client::new();
    kinds.iter().for_each(|kind| client.expect(*kind));
    let (mut input, mut count, mut events) = (bytes, 0, Vec::new());
    loop {
        let before = input;
        if let Some((done, body)) = client.receive_whole(memo, &mut input) {
            count += 1;
            if !body.is_empty() {
                events.push(String::from_utf8_lossy(body).into_owned());
            }
            events.push(format!("{:?}", Event::Done(done)));
            continue;
        }
        assert_eq!(before, input, "bytes are taken without a response");
        match client.receive_with(memo, &mut input) {
            Some(Event::Head { .. }) => {}
            Some(Event::Body(body)) => events.push(String::from_utf8_lossy(body).into_owned()),
            Some(event) => events.push(format!("{event:?}")),
            None => return (count, events),
        }
    }
}

#[test]
fn recalled_heads_give_the_same_events_as_parsed_ones() {
    // Method: pairs of responses through one memo. The second is equal to the first, differs in
    // one letter or in its kind, or is only the beginning of a longer head.
    let sized = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
    let responses = [
        sized,
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 404 OK\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: y\r\n\r\nab",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nab",
    ];
    let kinds = [ResponseKind::WithBody, ResponseKind::HeadOnly];
    for first in responses {
        for second in responses {
            for kind in kinds {
                let both = [first, second].concat();
                let mut memo = HeadMemo::default();
                let awaited = [ResponseKind::WithBody, kind];
                let plain = events(None, &awaited, both.as_bytes());
                for _ in 0..2 {
                    let recalled = events(Some(&mut memo), &awaited, both.as_bytes());
                    assert_eq!(plain, recalled, "{first:?} {second:?} {kind:?}");
                    let (_, at_once) = at_once(&mut memo, &awaited, both.as_bytes());
                    let without_heads = plain.iter().filter(|event| !event.starts_with("Head"));
                    assert!(
                        without_heads.eq(&at_once),
                        "{first:?} {second:?} {kind:?}: {at_once:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_whole_response_with_a_known_head_is_taken_at_once_and_no_other() {
    // Method: three equal responses through a memo that knows their head; then responses that are
    // cut anywhere, have another kind or framing, or follow an interim head.
    let sized = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
    let interim = "HTTP/1.1 103 Early Hints\r\nContent-Length: 0\r\n\r\n";
    let body = ResponseKind::WithBody;
    let mut memo = HeadMemo::default();
    let count = |memo: &mut HeadMemo, kinds: &[ResponseKind], bytes: &str| {
        at_once(memo, kinds, bytes.as_bytes()).0
    };
    // The first head is parsed.
    assert_eq!(count(&mut memo, &[body; 3], &sized.repeat(3)), 2);
    assert_eq!(count(&mut memo, &[body; 3], &sized.repeat(3)), 3);
    for cut in 0..sized.len() {
        assert_eq!(count(&mut memo, &[body], &sized[..cut]), 0, "{cut}");
    }
    assert_eq!(count(&mut memo, &[ResponseKind::HeadOnly], sized), 0);
    for other in [chunked, chunked, interim, interim] {
        assert_eq!(count(&mut memo, &[body], other), 0, "{other}");
    }
}

#[test]
fn a_long_head_is_parsed_each_time() {
    // Method: a head too long for a memo, after one that fits.
    let long = format!(
        "HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 1\r\n\r\na",
        "y".repeat(3000)
    );
    let short = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let both = [short, &long, &long, short].concat();
    let awaited = [ResponseKind::WithBody; 4];
    let mut memo = HeadMemo::default();
    let plain = events(None, &awaited, both.as_bytes());
    assert_eq!(plain.len(), 4 * 2 + 2);
    assert_eq!(plain, events(Some(&mut memo), &awaited, both.as_bytes()));
}
