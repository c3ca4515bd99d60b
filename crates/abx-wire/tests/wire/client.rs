//! The client's side: cases by table, each as one response of a fresh connection.

use abx_wire::http1::{Client, Done, Event, Fault, INTERIM_MAX, ResponseKind, response_header};

/// The outcome of one response: complete with its body, or the fault.
type Outcome = Result<(Done, Vec<u8>), Fault>;

/// Feeds the response at once and in pieces, and closes at its end.
fn outcome(kind: ResponseKind, bytes: &[u8]) -> Outcome {
    let whole = outcome_in_pieces(kind, bytes, usize::MAX);
    let split = outcome_in_pieces(kind, bytes, 1 + bytes.len() / 64);
    assert_eq!(whole, split);
    whole
}

fn outcome_in_pieces(kind: ResponseKind, bytes: &[u8], piece_bytes: usize) -> Outcome {
    let mut client = Client::new();
    client.expect(kind);
    let mut body = Vec::new();
    let mut last = None;
    for mut input in bytes.chunks(piece_bytes) {
        while let Some(event) = client.receive(&mut input) {
            last = Some(event);
            if let Event::Body(part) = event {
                body.extend_from_slice(part);
            }
        }
    }
    // A complete response awaits nothing, so the close adds no event.
    match client.eof().or(last) {
        Some(Event::Done(done)) => Ok((done, body)),
        Some(Event::Failed(fault)) => Err(fault),
        other => panic!("neither done nor failed: {other:?}"),
    }
}

fn complete(status: u16, body: &str, reusable: bool) -> Outcome {
    let done = Done {
        status,
        body_bytes: body.len() as u64,
        reusable,
    };
    Ok((done, body.as_bytes().to_vec()))
}

#[test]
fn every_framing_ends_where_it_should() {
    // Method: one response for each rule of RFC 9112, section 6.3.
    for &(bytes, status, body, reusable) in FRAMINGS {
        let expected = complete(status, body, reusable);
        assert_eq!(
            outcome(ResponseKind::WithBody, bytes.as_bytes()),
            expected,
            "{bytes:?}"
        );
    }
}

#[test]
fn every_broken_response_fails_with_its_fault() {
    // Method: one response per fault, closed by the peer at its end.
    for &(bytes, fault) in BROKEN {
        assert_eq!(
            outcome(ResponseKind::WithBody, bytes.as_bytes()),
            Err(fault),
            "{bytes:?}"
        );
    }
}

#[test]
fn the_response_to_head_has_no_body_whatever_its_headers_say() {
    // Method: three heads that would announce a body after GET.
    for framing in ["Content-Length: 5", "Transfer-Encoding: chunked", "X: y"] {
        let bytes = format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n");
        assert_eq!(
            outcome(ResponseKind::HeadOnly, bytes.as_bytes()),
            complete(200, "", true)
        );
    }
}

#[test]
fn the_head_event_has_the_content_length() {
    // Method: the first event of a response with a length.
    let mut client = Client::new();
    client.expect(ResponseKind::WithBody);
    let mut input: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    let expected = Event::Head {
        status: 200,
        content_length: Some(5),
    };
    assert_eq!(client.receive(&mut input), Some(expected));
    assert_eq!(client.receive(&mut input), None);
    assert!(client.has_response_started() && !client.is_idle());
}

#[test]
fn interim_heads_are_events_and_more_than_32_end_the_connection() {
    // Method: heads of several sizes and statuses before a final one, at the limit and one
    // above it, whole and in pieces. The next response of the connection counts from zero.
    for early in [
        "HTTP/1.1 100 Continue\r\n\r\n",
        "\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n",
    ] {
        let response = |interim: u32| {
            let early = early.repeat(interim as usize);
            format!("{early}HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na")
        };
        let kind = ResponseKind::WithBody;
        let limit = response(INTERIM_MAX);
        assert_eq!(outcome(kind, limit.as_bytes()), complete(200, "a", true));
        let more = response(INTERIM_MAX + 1);
        assert_eq!(outcome(kind, more.as_bytes()), Err(Fault::TooManyInterim));
        let endless = early.repeat(100_000);
        assert_eq!(
            outcome(kind, endless.as_bytes()),
            Err(Fault::TooManyInterim)
        );

        let twice = limit.repeat(2);
        let mut client = Client::new();
        (0..2).for_each(|_| client.expect(kind));
        let (mut input, mut interim, mut done) = (twice.as_bytes(), 0, 0);
        while let Some(event) = client.receive(&mut input) {
            interim += u32::from(event == Event::Interim);
            done += u32::from(matches!(event, Event::Done(_)));
        }
        assert_eq!((interim, done), (2 * INTERIM_MAX, 2));
    }
}

#[test]
fn limits_hold_for_heads_headers_and_trailers() {
    // Method: each at its limit and just above.
    let head = |value: usize| {
        let start = "HTTP/1.1 204 No Content\r\nX: ";
        format!("{start}{}\r\n\r\n", "a".repeat(value - start.len() - 4))
    };
    assert_eq!(
        outcome(ResponseKind::WithBody, head(256 * 1024).as_bytes()),
        complete(204, "", true)
    );
    let too_large = head(256 * 1024 + 1);
    assert_eq!(
        outcome(ResponseKind::WithBody, too_large.as_bytes()),
        Err(Fault::HeadTooLarge)
    );

    let headers = |count| {
        format!(
            "HTTP/1.1 204 No Content\r\n{}\r\n",
            "A: b\r\n".repeat(count)
        )
    };
    assert_eq!(
        outcome(ResponseKind::WithBody, headers(256).as_bytes()),
        complete(204, "", true)
    );
    let too_many = headers(257);
    assert_eq!(
        outcome(ResponseKind::WithBody, too_many.as_bytes()),
        Err(Fault::TooManyHeaders)
    );

    let empty = |bytes: usize| format!("{}{}", "\r\n".repeat(bytes / 2), head(100));
    assert_eq!(
        outcome(ResponseKind::WithBody, empty(256 * 1024).as_bytes()),
        complete(204, "", true)
    );
    assert_eq!(
        outcome(ResponseKind::WithBody, empty(256 * 1024 + 2).as_bytes()),
        Err(Fault::HeadTooLarge)
    );
    let mut idle = Client::new();
    let lines = "\r\n".repeat(50_000);
    let mut events = (0..10).filter_map(|_| idle.receive(&mut lines.as_bytes()));
    assert_eq!(events.next(), Some(Event::Failed(Fault::Unasked)));

    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0";
    for endless in [
        "0".repeat(270_000),
        format!(";{}", "e".repeat(270_000)),
        format!("\r\n{}", "A: b\r\n".repeat(45_000)),
    ] {
        let bytes = format!("{chunked}{endless}");
        assert_eq!(
            outcome(ResponseKind::WithBody, bytes.as_bytes()),
            Err(Fault::BadChunk)
        );
    }
}

#[test]
fn one_client_reads_many_responses() {
    // Method: a split head, then two more responses with the same client.
    let mut client = Client::new();
    for pieces in [
        vec!["HTTP/1.1 200 OK\r\nConte", "nt-Length: 1\r\n\r", "\na"],
        vec!["HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"],
        vec!["HTTP/1.1 204 No Content\r\n\r\n"],
    ] {
        assert!(client.is_idle());
        client.expect(ResponseKind::WithBody);
        let mut last = None;
        for piece in pieces {
            let mut input = piece.as_bytes();
            while let Some(event) = client.receive(&mut input) {
                last = Some(event);
            }
        }
        assert!(
            matches!(last, Some(Event::Done(done)) if done.reusable),
            "{last:?}"
        );
    }
    assert_eq!(client.eof(), None);
}

#[test]
fn bytes_after_a_fault_are_dropped() {
    // Method: bytes before any request, then more.
    let mut client = Client::new();
    let mut input: &[u8] = b"\r\nx";
    assert_eq!(
        client.receive(&mut input),
        Some(Event::Failed(Fault::Unasked))
    );
    assert_eq!(client.receive(&mut input), None);
    assert!(input.is_empty() && !client.is_idle());
    assert_eq!(client.eof(), None);
}

/// Bytes of a response, its status, its body, and whether the connection can be reused.
const FRAMINGS: &[(&str, u16, &str, bool)] = &[
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab",
        200,
        "ab",
        true,
    ),
    (
        "\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length:2\r\n\r\nab",
        200,
        "ab",
        true,
    ),
    ("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", 200, "", true),
    ("HTTP/1.1 200 OK\nContent-Length: 2\n\nab", 200, "ab", true),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\nContent-Length: 1\r\n\r\na",
        200,
        "a",
        true,
    ),
    (
        "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 1\r\n\r\na",
        200,
        "a",
        true,
    ),
    (
        "HTTP/1.1 404 Not Found\r\nContent-Length: 1\r\nConnection: close\r\n\r\na",
        404,
        "a",
        false,
    ),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x, Close\r\n\r\n",
        200,
        "",
        false,
    ),
    (
        "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na",
        200,
        "a",
        false,
    ),
    (
        "HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: Keep-Alive\r\n\r\na",
        200,
        "a",
        true,
    ),
    (
        "HTTP/1.1 200 OK\r\n\r\nuntil the close",
        200,
        "until the close",
        false,
    ),
    (
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n",
        200,
        "",
        false,
    ),
    ("HTTP/1.1 204 No Content\r\n\r\n", 204, "", true),
    (
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
        304,
        "",
        true,
    ),
    (
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
        200,
        "a",
        true,
    ),
    (
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        101,
        "",
        false,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0002;x=y\r\nde\r\n0\r\n\r\n",
        200,
        "abcde",
        true,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked \r\n\r\n0 \r\nT: v\r\nU: w\r\n\r\n",
        200,
        "",
        true,
    ),
    // Empty elements of a list are ignored.
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: , chunked ,\r\n\r\n1\r\na\r\n0\r\n\r\n",
        200,
        "a",
        true,
    ),
    // Trailers of every legal form: an empty value, white space, bytes above ASCII.
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA:\r\nb-C:\t\u{e9} d \r\n\r\n",
        200,
        "",
        true,
    ),
    // Bytes after the last response of a connection are ignored.
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\naHTTP/1.1 500 No\r\n\r\n",
        200,
        "a",
        false,
    ),
    (
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n\u{1}\u{2}\r\nany bytes",
        101,
        "",
        false,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 7\r\n\r\n1\r\na\r\n0\r\n\r\n",
        200,
        "a",
        false,
    ),
    (
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n1\r\na\r\n0\r\n\r\n",
        200,
        "a",
        false,
    ),
];

/// Bytes of a response, closed by the peer at their end, and their fault.
const BROKEN: &[(&str, Fault)] = &[
    ("", Fault::ClosedIdle),
    ("\r\n", Fault::ClosedIdle),
    ("H", Fault::ClosedEarly),
    ("HTTP/1.1 100 Continue\r\n\r\n", Fault::ClosedEarly),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na",
        Fault::ClosedEarly,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
        Fault::ClosedEarly,
    ),
    ("SSH-2.0-x\r\n", Fault::Malformed),
    ("HTTP/2 200 OK\r\n\r\n", Fault::Malformed),
    ("HTTP/1.1 2x0 OK\r\n\r\n", Fault::Malformed),
    ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", Fault::Malformed),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        Fault::BadContentLength,
    ),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
        Fault::BadContentLength,
    ),
    (
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
        Fault::BadContentLength,
    ),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
        Fault::BadContentLength,
    ),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na",
        Fault::BadContentLength,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        Fault::UnknownTransferEncoding,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        Fault::UnknownTransferEncoding,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        Fault::UnknownTransferEncoding,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
        Fault::BadChunk,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        Fault::BadChunk,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\nab",
        Fault::BadChunk,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab",
        Fault::BadChunk,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n",
        Fault::BadChunk,
    ),
    // An empty list names no coding.
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: ,\r\n\r\n",
        Fault::UnknownTransferEncoding,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: ,\r\n\r\n",
        Fault::UnknownTransferEncoding,
    ),
    // Without the last line end of a response, the next head must not be read as its trailer.
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        Fault::BadChunk,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nno colon\r\n\r\n",
        Fault::BadChunk,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n: no name\r\n\r\n",
        Fault::BadChunk,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: \0\r\n\r\n",
        Fault::BadChunk,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n folded\r\n\r\n",
        Fault::BadChunk,
    ),
    // An incomplete line, and one that is malformed before its end.
    ("HTTP/1.1 200 OK\r\nhalf", Fault::ClosedEarly),
    ("HTTP/1.1 200 OK\r\nX\0", Fault::Malformed),
    // Other protocols: an alert and a handshake of TLS, the settings of HTTP/2.
    ("\x15\x03\x01\0\x02\x02\x46", Fault::Tls),
    ("\x16\x03\x03", Fault::Tls),
    ("\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64", Fault::Http2),
    ("HTTP/1.1 204 No Content\r\n\r\nbody", Fault::Unasked),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        Fault::Unasked,
    ),
];

#[test]
fn a_header_of_a_response_can_be_looked_up() {
    // Method: present in another case, absent, and bytes that are no response.
    let response = b"HTTP/1.1 200 OK\r\nserver:  nginx/1.22.1 \r\nContent-Length: 0\r\n\r\n";
    let text = response_header(response, "Server");
    assert_eq!(text.as_deref(), Some("nginx/1.22.1"));
    assert_eq!(response_header(response, "Via"), None);
    assert_eq!(response_header(b"nonsense\r\n\r\n", "Server"), None);

    // Method: after an interim head that has a header of the same name, and next to a folded one.
    let response = b"HTTP/1.1 103 Early Hints\r\nServer: early\r\n\r\n\
        HTTP/1.1 200 OK\r\nX: a\r\n b\r\nServer: late\r\n\r\n";
    let text = response_header(response, "Server");
    assert_eq!(text.as_deref(), Some("late"));
}
