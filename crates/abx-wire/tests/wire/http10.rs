//! HTTP/1.0 as `ab` and old clients use it, and as servers respond to it.

use abx_wire::http1::{
    Client, Done, Event, Fault, Method, Persistence, Request, ResponseKind, Server, ServerEvent,
    Version,
};

/// How a response ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    /// By its own bytes, while the connection is still open.
    Itself,
    /// Only by the peer's close.
    Close,
}

/// The last event of a response whose connection stays open, and the client that read it.
fn last_event(kind: ResponseKind, bytes: &'static [u8]) -> (Client, Option<Event<'static>>) {
    let mut client = Client::new();
    client.expect(kind);
    let mut input = bytes;
    let mut last = None;
    while let Some(event) = client.receive(&mut input) {
        last = Some(event);
    }
    (client, last)
}

fn request(method: &str, connection: Persistence, body: &[u8]) -> Request {
    Request {
        method: method.to_owned(),
        target: "/x".to_owned(),
        host: "h:81".to_owned(),
        headers: Vec::new(),
        body: body.to_vec(),
        version: Version::Http10,
        connection,
    }
}

#[test]
fn a_request_names_keep_alive_only_if_configured() {
    // Method: the complete text with and without it, and of a request with a body.
    let agent = format!("User-Agent: abx/{}\r\n", env!("CARGO_PKG_VERSION"));
    let start = format!(" /x HTTP/1.0\r\nHost: h:81\r\n{agent}Accept: */*\r\n");
    for (method, connection, body, rest) in [
        ("GET", Persistence::Close, "", "\r\n"),
        (
            "GET",
            Persistence::KeepAlive,
            "",
            "Connection: Keep-Alive\r\n\r\n",
        ),
        (
            "POST",
            Persistence::Close,
            "ab",
            "Content-Length: 2\r\n\r\nab",
        ),
    ] {
        let bytes = request(method, connection, body.as_bytes())
            .encode()
            .unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text, format!("{method}{start}{rest}"));
    }
}

#[test]
fn our_server_reads_back_both_kinds_of_persistence() {
    // Method: our server reads an encoded request of each kind.
    for (connection, keep_alive) in [(Persistence::Close, false), (Persistence::KeepAlive, true)] {
        let bytes = request("GET", connection, b"").encode().unwrap();
        let mut server = Server::new();
        let mut input = bytes.as_slice();
        let Some(ServerEvent::Head(head)) = server.receive(&mut input) else {
            panic!("no head in {bytes:?}");
        };
        assert_eq!((head.method, head.version), (Method::Get, Version::Http10));
        assert_eq!(head.keep_alive, keep_alive);
    }
}

#[test]
fn responses_end_and_keep_the_connection_as_the_standards_require() {
    // Method: each response of the table, first on a connection that stays open, so that a client
    // that waits for a close in vain is noticed; then the connection closes.
    for &(bytes, end, body_bytes, reusable) in RESPONSES {
        let (mut client, last) = last_event(ResponseKind::WithBody, bytes.as_bytes());
        let done = Event::Done(Done {
            status: 200,
            body_bytes,
            reusable,
        });
        let at_close = client.eof();
        match end {
            End::Itself => assert_eq!((last, at_close), (Some(done), None), "{bytes:?}"),
            End::Close => {
                assert!(!matches!(last, Some(Event::Done(_))), "{bytes:?}");
                assert_eq!(at_close, Some(done), "{bytes:?}");
            }
        }
    }
}

#[test]
fn responses_without_a_body_keep_the_connection_if_a_header_requests_it() {
    // Method: HEAD, 204 and 304 in HTTP/1.0, with and without the option. None of them needs a
    // length, because none has a body.
    for (kind, status_line) in [
        (ResponseKind::HeadOnly, "200 OK\r\nContent-Length: 9"),
        (ResponseKind::HeadOnly, "200 OK"),
        (ResponseKind::WithBody, "204 No Content"),
        (
            ResponseKind::WithBody,
            "304 Not Modified\r\nContent-Length: 9",
        ),
    ] {
        for (option, reusable) in [("Connection: keep-alive\r\n", true), ("", false)] {
            let text = format!("HTTP/1.0 {status_line}\r\n{option}\r\n");
            let (_, last) = last_event(kind, text.leak().as_bytes());
            let Some(Event::Done(done)) = last else {
                panic!("{status_line:?} is not done: {last:?}");
            };
            assert_eq!(
                (done.body_bytes, done.reusable),
                (0, reusable),
                "{status_line}"
            );
        }
    }
}

#[test]
fn truncated_responses_and_http_0_9_fail() {
    // Method: a body cut short of its length, a head cut short, and HTTP/0.9.
    for (bytes, fault) in [
        (
            "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nab",
            Fault::ClosedEarly,
        ),
        ("HTTP/1.0 200 OK\r\nServer", Fault::ClosedEarly),
        ("<html>as in 1991</html>\r\n", Fault::Malformed),
    ] {
        let (mut client, last) = last_event(ResponseKind::WithBody, bytes.as_bytes());
        let last = client.eof().or(last);
        assert_eq!(last, Some(Event::Failed(fault)), "{bytes:?}");
    }
}

/// Responses with status 200: what ends them, the length of the body, and whether the connection
/// may be used again.
const RESPONSES: &[(&str, End, u64, bool)] = &[
    // RFC 1945, section 7.2.2: the length if there is one, otherwise the close.
    (
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab",
        End::Itself,
        2,
        false,
    ),
    ("HTTP/1.0 200 OK\r\n\r\nab", End::Close, 2, false),
    ("HTTP/1.0 200 OK\r\n\r\n", End::Close, 0, false),
    (
        "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        End::Itself,
        0,
        false,
    ),
    // RFC 9112, section 9.3: HTTP/1.0 keeps connections only with this header and a length.
    (
        "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nab",
        End::Itself,
        2,
        true,
    ),
    (
        "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n",
        End::Itself,
        0,
        true,
    ),
    (
        "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n\r\nab",
        End::Close,
        2,
        false,
    ),
    (
        "HTTP/1.0 200 OK\r\nConnection: keep-alive, close\r\nContent-Length: 2\r\n\r\nab",
        End::Itself,
        2,
        false,
    ),
    // The header `Keep-Alive` only adds details to `Connection`.
    (
        "HTTP/1.0 200 OK\r\nKeep-Alive: timeout=5\r\nContent-Length: 2\r\n\r\nab",
        End::Itself,
        2,
        false,
    ),
    // RFC 9110, section 2.5: servers respond with their own version.
    (
        "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nab",
        End::Itself,
        2,
        true,
    ),
    (
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab",
        End::Itself,
        2,
        false,
    ),
    (
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nab",
        End::Close,
        2,
        false,
    ),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab",
        End::Itself,
        2,
        true,
    ),
    (
        "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\nab",
        End::Close,
        2,
        false,
    ),
    // RFC 9112, section 6.1: chunks from HTTP/1.0 are read, and the connection is closed.
    (
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
        End::Itself,
        2,
        false,
    ),
    // A server that sends chunks in response to HTTP/1.0 is understood.
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
        End::Itself,
        2,
        true,
    ),
];
