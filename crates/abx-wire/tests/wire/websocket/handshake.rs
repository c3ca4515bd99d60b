//! The opening handshake of both sides.

use abx_wire::http1::{self, HEAD_BYTES_MAX, INTERIM_MAX, ServerEvent};
use abx_wire::websocket::{
    Client, Fault, MessageKind, NotOpen, Offer, OfferFault, OpeningError, Server, SizeLimits,
};

use super::support::{
    ACCEPT, FIN, NONCE, Step, TEXT, agreement, client_steps, opening, options, plain,
};

/// A client that offers the subprotocols `a` and `b`, and its events after a response.
fn responded(response: &str) -> (Client, Vec<Step>) {
    let opening = opening(&["a", "b"]).encode().unwrap();
    let mut client = Client::open(
        options(SizeLimits::default()),
        &opening,
        NONCE,
        &mut Vec::new(),
    );
    let (steps, out) = client_steps(&mut client, response.as_bytes());
    assert_eq!(out, b"", "nothing may be sent before the handshake is done");
    (client, steps)
}

#[test]
fn the_handshake_is_written_as_the_standard_requires() {
    // Method: all of its bytes; the key is the standard's own example.
    let mut out = Vec::new();
    let mut wanted = opening(&["a", "b"]);
    wanted
        .headers
        .push(("Origin".to_owned(), "http://o".to_owned()));
    let _ = Client::open(
        options(SizeLimits::default()),
        &wanted.encode().unwrap(),
        NONCE,
        &mut out,
    );
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!(
        "GET /echo HTTP/1.1\r\nHost: h:1\r\nUser-Agent: abx/{version}\r\nAccept: */*\r\n\
         Upgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Protocol: a, b\r\nOrigin: http://o\r\n\r\n"
    );
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn an_opening_that_cannot_be_sent_is_refused_by_name() {
    // Method: one opening per rule.
    let with_header = |name: &str| {
        let mut wanted = opening(&[]);
        wanted.headers.push((name.to_owned(), "x".to_owned()));
        wanted.encode().unwrap_err()
    };
    for name in [
        "Sec-WebSocket-Extensions",
        "sec-websocket-key",
        "upgrade",
        "CONNECTION",
    ] {
        assert_eq!(with_header(name), OpeningError::Header(name.to_owned()));
    }
    for protocol in ["", "a b", "a,b"] {
        let error = opening(&[protocol]).encode().unwrap_err();
        assert_eq!(error, OpeningError::Protocol(protocol.to_owned()));
    }
    let mut wanted = opening(&[]);
    wanted.target = "echo".to_owned();
    assert!(matches!(wanted.encode(), Err(OpeningError::Request(_))));
}

#[test]
fn an_agreement_opens_the_client_and_frames_may_follow_at_once() {
    // Method: with and without a subprotocol, in other letter case, and after an interim response.
    // A message follows in the same bytes.
    let usual = agreement("");
    let cases = [
        (usual.clone(), None),
        (agreement("Sec-WebSocket-Protocol: b\r\n"), Some("b")),
        (
            usual
                .replace("websocket", "WebSocket")
                .replace("Connection: Upgrade", "connection: keep-alive, upgrade"),
            None,
        ),
        (
            format!("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n{usual}"),
            None,
        ),
    ];
    for (response, protocol) in cases {
        let opening = opening(&["a", "b"]).encode().unwrap();
        let mut client = Client::open(
            options(SizeLimits::default()),
            &opening,
            NONCE,
            &mut Vec::new(),
        );
        assert_eq!(
            client.send(MessageKind::Text, b"early", &mut Vec::new()),
            Err(NotOpen)
        );
        let bytes = [response.as_bytes(), &plain(FIN | TEXT, b"hi")].concat();
        let (steps, _) = client_steps(&mut client, &bytes);
        let message = Step::Message(MessageKind::Text, 2, 1, b"hi".to_vec());
        assert_eq!(
            steps,
            [Step::Open, Step::Data(b"hi".to_vec()), message],
            "{response}"
        );
        assert_eq!(client.protocol(), protocol);
        assert!(client.is_open());
    }
}

#[test]
fn more_than_32_interim_heads_refuse_the_handshake() {
    // Method: as many as allowed before an agreement, and one more.
    let early = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    let most = INTERIM_MAX as usize;
    let steps_of =
        |interim: usize| responded(&format!("{}{}", early.repeat(interim), agreement(""))).1;
    assert_eq!(steps_of(most), [Step::Open]);
    assert_eq!(steps_of(most + 1), [Step::Failed(Fault::TooManyInterim)]);
}

#[test]
fn every_invalid_response_fails_with_its_fault() {
    // Method: one response per rule.
    let usual = agreement("");
    let cases = [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned(),
            Fault::Refused(200),
        ),
        ("HTTP/1.1 426 U\r\n\r\n".to_owned(), Fault::Refused(426)),
        ("SSH-2.0\r\n".to_owned(), Fault::Malformed),
        (usual.replace("websocket", "h2c"), Fault::NotUpgraded),
        (
            usual.replace("Connection: Upgrade", "Connection: close"),
            Fault::NotUpgraded,
        ),
        (usual.replace("s3pPLM", "S3pPLM"), Fault::WrongAccept),
        (
            usual.replace("Sec-WebSocket-Accept", "X"),
            Fault::WrongAccept,
        ),
        (
            agreement(&format!("Sec-WebSocket-Accept: {ACCEPT}\r\n")),
            Fault::WrongAccept,
        ),
        (
            agreement("Sec-WebSocket-Extensions: permessage-deflate\r\n"),
            Fault::UnaskedExtension,
        ),
        (
            agreement("Sec-WebSocket-Protocol: c\r\n"),
            Fault::UnaskedProtocol,
        ),
        (
            agreement("Sec-WebSocket-Protocol: a\r\nSec-WebSocket-Protocol: b\r\n"),
            Fault::UnaskedProtocol,
        ),
        (
            format!("HTTP/1.1 101 S\r\nX: {}", "x".repeat(HEAD_BYTES_MAX)),
            Fault::HeadTooLarge,
        ),
    ];
    for (response, fault) in cases {
        let (mut client, steps) = responded(&response);
        assert_eq!(steps, [Step::Failed(fault)], "{response}");
        assert!(!client.is_open() && client.eof().is_none());
    }
    let (mut client, steps) = responded(&usual[..usual.len() - 2]);
    assert_eq!(steps, []);
    assert_eq!(
        client.eof().map(Step::from),
        Some(Step::Failed(Fault::ClosedEarly))
    );
}

/// The subprotocol that a server reads from these request headers, if they are a handshake.
fn offered(line: &str, headers: &str) -> Result<Option<Option<String>>, OfferFault> {
    let request = format!("{line}\r\nHost: h\r\n{headers}\r\n");
    let mut requests = http1::Server::new();
    let mut input = request.as_bytes();
    let Some(ServerEvent::Head(head)) = requests.receive(&mut input) else {
        panic!("no head: {request}");
    };
    let offer = Offer::read(&head)?;
    Ok(offer.map(|offer| offer.protocol.map(str::to_owned)))
}

#[test]
fn a_server_distinguishes_handshakes_from_other_and_invalid_requests() {
    // Method: the standard's request, then one change at a time.
    let usual = "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n\
                 Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";
    let get = "GET /chat HTTP/1.1";
    assert_eq!(offered(get, usual), Ok(Some(None)));
    let with_protocols = format!("{usual}Sec-WebSocket-Protocol: mqtt , b\r\n");
    assert_eq!(
        offered(get, &with_protocols),
        Ok(Some(Some("mqtt".to_owned())))
    );
    assert_eq!(offered(get, "Accept: */*\r\n"), Ok(None));
    assert_eq!(offered("POST / HTTP/1.1", usual), Ok(None));
    assert_eq!(offered("GET / HTTP/1.0", usual), Ok(None));
    for (from, to, expected) in [
        ("websocket", "h2c", Ok(None)),
        (", Upgrade", "", Ok(None)),
        ("13", "8", Err(OfferFault::OtherVersion)),
        ("Sec-WebSocket-Version", "X", Err(OfferFault::OtherVersion)),
        ("Sec-WebSocket-Key", "X", Err(OfferFault::BadKey)),
        ("dGhl", "", Err(OfferFault::BadKey)),
        ("ZQ==", "ZWU=", Err(OfferFault::BadKey)),
        ("dGhl", "dG!l", Err(OfferFault::BadKey)),
    ] {
        assert_eq!(
            offered(get, &usual.replace(from, to)),
            expected,
            "{from} -> {to}"
        );
    }
}

#[test]
fn a_server_accepts_and_refuses_as_the_standard_requires() {
    // Method: all bytes of the three responses.
    let mut requests = http1::Server::new();
    let mut request = Vec::new();
    let opening = opening(&["a", "b"]).encode().unwrap();
    let _ = Client::open(
        options(SizeLimits::default()),
        &opening,
        NONCE,
        &mut request,
    );
    let mut input = request.as_slice();
    let Some(ServerEvent::Head(head)) = requests.receive(&mut input) else {
        panic!("no head");
    };
    let offer = Offer::read(&head).unwrap().unwrap();
    let mut out = Vec::new();
    let _ = Server::accept(&offer, SizeLimits::default(), &mut out);
    let expected = agreement("Sec-WebSocket-Protocol: a\r\n");
    assert_eq!(String::from_utf8(out).unwrap(), expected);

    let refusal = |fault: OfferFault| {
        let mut out = Vec::new();
        fault.response(&mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(
        refusal(OfferFault::BadKey),
        "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    );
    assert_eq!(
        refusal(OfferFault::OtherVersion),
        "HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Connection: Upgrade, close\r\nContent-Length: 0\r\n\r\n"
    );
}
