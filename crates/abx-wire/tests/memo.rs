//! A memo of heads: the same events with it as without, and only for the same bytes.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

use abx_wire::http1::{AnswerKind, Client, Event, HeadMemo};

/// The events of these bytes, answer after answer, in words.
fn events(memo: Option<&mut HeadMemo>, kinds: &[AnswerKind], bytes: &[u8]) -> Vec<String> {
    let mut client = Client::new();
    kinds.iter().for_each(|kind| client.expect(*kind));
    let mut none = HeadMemo::default();
    let has_memo = memo.is_some();
    let memo = memo.unwrap_or(&mut none);
    let mut input = bytes;
    let mut events = Vec::new();
    loop {
        let event = match has_memo {
            true => client.receive_with(memo, &mut input),
            false => client.receive(&mut input),
        };
        match event {
            Some(Event::Body(body)) => events.push(String::from_utf8_lossy(body).into_owned()),
            Some(event) => events.push(format!("{event:?}")),
            None => return events,
        }
    }
}

#[test]
fn what_is_recalled_is_what_is_parsed() {
    // Method: pairs of answers through one memo; the second differs from the first in
    // nothing, in one letter, in its kind, or is only the beginning of a longer head.
    let sized = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
    let answers = [
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
    let kinds = [AnswerKind::WithBody, AnswerKind::HeadOnly];
    for first in answers {
        for second in answers {
            for kind in kinds {
                let both = [first, second].concat();
                let mut memo = HeadMemo::default();
                let awaited = [AnswerKind::WithBody, kind];
                let plain = events(None, &awaited, both.as_bytes());
                for _ in 0..2 {
                    let recalled = events(Some(&mut memo), &awaited, both.as_bytes());
                    assert_eq!(plain, recalled, "{first:?} {second:?} {kind:?}");
                }
            }
        }
    }
}

#[test]
fn a_long_head_is_parsed_each_time() {
    // Method: a head beyond what a memo keeps, behind one that it has kept.
    let long = format!(
        "HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 1\r\n\r\na",
        "y".repeat(3000)
    );
    let short = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let both = [short, &long, &long, short].concat();
    let awaited = [AnswerKind::WithBody; 4];
    let mut memo = HeadMemo::default();
    let plain = events(None, &awaited, both.as_bytes());
    assert_eq!(plain.len(), 4 * 2 + 2);
    assert_eq!(plain, events(Some(&mut memo), &awaited, both.as_bytes()));
}
