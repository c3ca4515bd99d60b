//! Requests as they go over the wire, and those that are refused.

use abx_wire::http1::{Method, Persistence, Request, RequestError, Server, ServerEvent, Version};

fn request() -> Request {
    Request {
        method: "GET".to_owned(),
        target: "/a?b".to_owned(),
        host: "localhost:80".to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
        version: Version::Http11,
        connection: Persistence::KeepAlive,
    }
}

fn text(request: &Request) -> String {
    let bytes = request.encode().expect("the request is correct");
    String::from_utf8(bytes).expect("the request is text")
}

#[test]
fn a_plain_request_has_the_usual_headers() {
    // Method: the complete text.
    let agent = concat!("abx/", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        text(&request()),
        format!(
            "GET /a?b HTTP/1.1\r\nHost: localhost:80\r\nUser-Agent: {agent}\r\nAccept: */*\r\n\r\n"
        )
    );
}

#[test]
fn the_connection_header_follows_version_and_persistence() {
    // Method: all four pairs.
    let cases = [
        (Version::Http11, Persistence::KeepAlive, None),
        (Version::Http11, Persistence::Close, Some("close")),
        (Version::Http10, Persistence::KeepAlive, Some("Keep-Alive")),
        (Version::Http10, Persistence::Close, None),
    ];
    for (version, connection, expected) in cases {
        let text = text(&Request {
            version,
            connection,
            ..request()
        });
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix("Connection: "));
        assert_eq!(value, expected, "{text}");
    }
}

#[test]
fn a_custom_header_replaces_the_default() {
    // Method: all four defaults in another case; each name appears once.
    let names = ["host", "USER-AGENT", "accept", "Connection"];
    let text = text(&Request {
        headers: names
            .map(|name| (name.to_owned(), "own".to_owned()))
            .to_vec(),
        connection: Persistence::Close,
        ..request()
    });
    assert_eq!(text.lines().count(), 6, "{text}");
    assert_eq!(text.matches(": own\r\n").count(), 4, "{text}");
}

#[test]
fn a_body_and_the_absence_of_one_are_announced() {
    // Method: our own server reads the request back; POST without a body sends a length of zero.
    let with_body = Request {
        method: "PUT".to_owned(),
        body: b"body".to_vec(),
        ..request()
    };
    let bytes = with_body.encode().unwrap();
    let mut server = Server::new();
    let mut input = bytes.as_slice();
    let Some(ServerEvent::Head(head)) = server.receive(&mut input) else {
        panic!("no head in {bytes:?}");
    };
    assert_eq!((head.method, head.target), (Method::Other, "/a?b"));
    assert_eq!(input, b"body");
    assert_eq!(server.receive(&mut input), Some(ServerEvent::Done));

    let without = text(&Request {
        method: "POST".to_owned(),
        ..request()
    });
    assert!(without.contains("Content-Length: 0\r\n"), "{without}");
}

#[test]
fn invalid_parts_of_a_request_are_refused() {
    // Method: one request for each part, mostly with injected line ends.
    let method = |method: &str| Request {
        method: method.to_owned(),
        ..request()
    };
    let target = |target: &str| Request {
        target: target.to_owned(),
        ..request()
    };
    let host = |host: &str| Request {
        host: host.to_owned(),
        ..request()
    };
    let header = |name: &str, value: &str| Request {
        headers: vec![(name.to_owned(), value.to_owned())],
        ..request()
    };
    for bad in ["", "GET /", "G\r\n"] {
        assert!(matches!(method(bad).encode(), Err(RequestError::Method(_))));
    }
    for bad in ["", "a", "/a b", "/a\r\nX: y", "/\0", "/ä", "/a#b"] {
        assert!(
            matches!(target(bad).encode(), Err(RequestError::Target(_))),
            "{bad:?}"
        );
    }
    for bad in ["", "a b", "a\r\nX: y"] {
        assert!(matches!(host(bad).encode(), Err(RequestError::Host(_))));
    }
    for bad in ["", "A B", "A:", "A\r\n"] {
        assert!(matches!(
            header(bad, "x").encode(),
            Err(RequestError::HeaderName(_))
        ));
    }
    for bad in ["a\r\nX: y", "a\nb", "\0"] {
        assert!(matches!(
            header("A", bad).encode(),
            Err(RequestError::HeaderValue { .. })
        ));
    }
    for (name, value) in [("Content-Length", "5"), ("transfer-encoding", "chunked")] {
        assert!(matches!(
            header(name, value).encode(),
            Err(RequestError::Framing { .. })
        ));
    }
    for close in ["close", "Close", "x-other, close"] {
        let error = header("connection", close).encode().unwrap_err();
        assert_eq!(error, RequestError::Close(close.to_owned()));
        assert!(error.to_string().contains("--no-keepalive"), "{error}");
        let mut once = header("Connection", close);
        once.connection = Persistence::Close;
        assert!(once.encode().is_ok(), "{close}");
    }
    assert!(header("Connection", "keep-alive").encode().is_ok());
    for good in ["*", "/", "http://a/b", "/%20?q=[1]"] {
        assert!(target(good).encode().is_ok(), "{good}");
    }
    assert!(header("Content-Length", "0").encode().is_ok());
    assert!(header("X", "ä\tb").encode().is_ok());
}
