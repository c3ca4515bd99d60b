//! The server's side: requests in, heads of responses out.

use abx_wire::http1::{
    Client, Event, Fault, Http1ResponseHead, Method, RequestHead, Server, ServerEvent, Version,
    response_head,
};

/// The heads of all complete requests in `bytes`, or the first fault.
fn requests(bytes: &str) -> Result<Vec<(Method, String, bool)>, Fault> {
    let mut server = Server::new();
    let mut input = bytes.as_bytes();
    let mut begun = None;
    let mut complete = Vec::new();
    while let Some(event) = server.receive(&mut input) {
        match event {
            ServerEvent::Head(head) => {
                begun = Some((head.method, head.target.to_owned(), head.keep_alive));
            }
            ServerEvent::Done => complete.extend(begun.take()),
            ServerEvent::Failed(fault) => return Err(fault),
        }
    }
    Ok(complete)
}

#[test]
fn requests_are_read_in_order_and_bodies_skipped() {
    // Method: four requests with every framing in one go, and the beginning of a fifth.
    let bytes = "GET /a?b=c HTTP/1.1\r\nHost: h\r\n\r\n\
        POST /d HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nGET\r\n\
        PUT /e HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n\
        HEAD * HTTP/1.0\r\n\r\n\
        GET /half HTTP/1.1\r\n";
    let expected = [
        (Method::Get, "/a?b=c", true),
        (Method::Post, "/d", true),
        (Method::Other, "/e", true),
        (Method::Head, "*", false),
    ]
    .map(|(method, target, keep_alive)| (method, target.to_owned(), keep_alive));
    assert_eq!(requests(bytes), Ok(expected.to_vec()));
}

#[test]
fn the_connection_is_kept_by_version_and_header() {
    // Method: both versions without, with `close` and with `keep-alive`.
    let cases = [
        ("1.1", "", true),
        ("1.1", "Connection: close\r\n", false),
        ("1.1", "Connection: keep-alive, close\r\n", false),
        ("1.0", "", false),
        ("1.0", "Connection: Keep-Alive\r\n", true),
    ];
    for (version, header, keep_alive) in cases {
        let bytes = format!("GET / HTTP/{version}\r\nHost: h\r\n{header}\r\n");
        let expected = vec![(Method::Get, "/".to_owned(), keep_alive)];
        assert_eq!(requests(&bytes), Ok(expected), "{bytes:?}");
    }
}

#[test]
fn every_broken_request_fails_with_its_fault() {
    // Method: one request per fault.
    let cases = [
        ("GET / HTTP/1.1\r\n\r\n", Fault::Malformed),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            Fault::Malformed,
        ),
        ("GET /\r\n\r\n", Fault::Malformed),
        ("\x16\x03\x01", Fault::Malformed),
        (
            "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n",
            Fault::Malformed,
        ),
        (
            "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n",
            Fault::BadContentLength,
        ),
        (
            "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            Fault::BadContentLength,
        ),
        (
            "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n",
            Fault::UnknownTransferEncoding,
        ),
        (
            "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
            Fault::UnknownTransferEncoding,
        ),
        (
            "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nx",
            Fault::BadChunk,
        ),
    ];
    for (bytes, fault) in cases {
        assert_eq!(requests(bytes), Err(fault), "{bytes:?}");
    }
    let too_large = format!("GET /{} HTTP/1.1\r\n", "a".repeat(256 * 1024));
    assert_eq!(requests(&too_large), Err(Fault::HeadTooLarge));
}

#[test]
fn a_head_in_parts_is_returned_complete() {
    // Method: the last part also holds the body; the client waits for permission to send it.
    let mut server = Server::new();
    let head =
        "POST /path HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n";
    let mut input: &[u8] = b"POST /path HTT";
    assert_eq!(server.receive(&mut input), None);
    let mut input: &[u8] =
        b"P/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx";
    let expected = RequestHead {
        method: Method::Post,
        target: "/path",
        version: Version::Http11,
        keep_alive: true,
        expects_continue: true,
        bytes: head.as_bytes(),
    };
    assert_eq!(
        server.receive(&mut input),
        Some(ServerEvent::Head(expected))
    );
    assert_eq!(server.receive(&mut input), Some(ServerEvent::Done));
    assert_eq!(server.receive(&mut input), None);
}

#[test]
fn a_response_head_is_read_back_by_the_client() {
    // Method: both versions, kept and not, through our own parser.
    for (version, keep_alive) in [
        (Version::Http10, false),
        (Version::Http10, true),
        (Version::Http11, false),
        (Version::Http11, true),
    ] {
        let mut bytes = Vec::new();
        let head = Http1ResponseHead {
            status: 405,
            content_length: 1,
            content_type: "text/plain",
            version,
            keep_alive,
        };
        response_head(&head, &mut bytes);
        bytes.push(b'x');
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(
            text.starts_with("HTTP/1.1 405 Method Not Allowed\r\n"),
            "{text}"
        );
        assert!(text.contains("\r\nContent-Type: text/plain\r\n"), "{text}");
        assert!(text.contains("\r\nAllow: GET, HEAD, POST\r\n"), "{text}");
        let mut client = Client::new();
        client.expect(abx_wire::http1::ResponseKind::WithBody);
        let mut input = bytes.as_slice();
        let events = std::iter::from_fn(|| client.receive(&mut input));
        let last = events.last();
        assert!(matches!(last, Some(Event::Done(done)) if done.reusable == keep_alive));
    }
}
