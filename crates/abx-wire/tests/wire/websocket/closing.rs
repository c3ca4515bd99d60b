//! The closing handshake.

use abx_wire::websocket::{Close, CloseCode, Fault, MessageKind, NotOpen, SizeLimits};

use super::support::{
    CLOSE, FIN, PING, Step, TEXT, client_steps, close_payload, masked, open_client, open_server,
    plain, server_steps,
};

#[test]
fn a_close_is_returned_with_its_code_and_ends_the_connection() {
    // Method: closes from the server with and without a code and a reason. Bytes after them are
    // ignored, and the end of the connection is no fault.
    for (payload, code, reason, response) in [
        (
            close_payload(1000, b"done"),
            Some(1000),
            "done",
            close_payload(1000, b""),
        ),
        (
            close_payload(4999, b""),
            Some(4999),
            "",
            close_payload(4999, b""),
        ),
        (Vec::new(), None, "", Vec::new()),
    ] {
        let bytes = [plain(FIN | CLOSE, &payload), plain(FIN | TEXT, b"late")].concat();
        let mut client = open_client(SizeLimits::default());
        let (steps, out) = client_steps(&mut client, &bytes);
        assert_eq!(steps, [Step::Close(code, reason.to_owned())]);
        assert_eq!(out, masked(FIN | CLOSE, &response));
        assert!(client.is_closed() && !client.is_open());
        assert_eq!(
            client.send(MessageKind::Text, b"", &mut Vec::new()),
            Err(NotOpen)
        );
        assert!(client.eof().is_none());
    }
}

#[test]
fn messages_still_arrive_until_the_other_side_has_closed_too() {
    // Method: the client closes; a message and a ping cross its close, and no
    // pong may follow it; then the server's close comes, and gets no response.
    let mut client = open_client(SizeLimits::default());
    let mut out = Vec::new();
    let close = Close {
        code: Some(CloseCode::GOING_AWAY),
        reason: "enough",
    };
    client.close(close, &mut out).unwrap();
    assert_eq!(out, masked(FIN | CLOSE, &close_payload(1001, b"enough")));
    assert_eq!(client.close(close, &mut out), Err(NotOpen));
    assert_eq!(client.ping(b"", &mut out), Err(NotOpen));
    let bytes = [plain(FIN | TEXT, b"a"), plain(FIN | PING, b"b")].concat();
    let (steps, out) = client_steps(&mut client, &bytes);
    let message = Step::Message(MessageKind::Text, 1, 1, b"a".to_vec());
    assert_eq!(
        steps,
        [
            Step::Data(b"a".to_vec()),
            message,
            Step::Ping(b"b".to_vec())
        ]
    );
    assert_eq!(out, b"");
    assert!(!client.is_closed());
    let (steps, out) = client_steps(&mut client, &plain(FIN | CLOSE, &close_payload(1001, b"")));
    assert_eq!(
        (steps, out),
        (vec![Step::Close(Some(1001), String::new())], Vec::new())
    );
    assert!(client.is_closed() && client.eof().is_none());
}

#[test]
fn both_sides_close_each_other() {
    // Method: the server closes, the client responds, the server takes the response.
    let mut server = open_server(SizeLimits::default());
    let mut client = open_client(SizeLimits::default());
    let mut out = Vec::new();
    let close = Close {
        code: Some(CloseCode::POLICY),
        reason: "slow",
    };
    server.close(close, &mut out).unwrap();
    let (steps, response) = client_steps(&mut client, &out);
    assert_eq!(steps, [Step::Close(Some(1008), "slow".to_owned())]);
    let (steps, out) = server_steps(&mut server, &response);
    assert_eq!(steps, [Step::Close(Some(1008), String::new())]);
    assert!(out.is_empty() && server.is_closed() && client.is_closed());
}

#[test]
fn an_end_without_a_close_is_reported_once() {
    // Method: the end on an open connection, inside a frame, and after our own
    // close only.
    for part in [&b""[..], b"\x81", b"\x81\x05ab"] {
        let mut client = open_client(SizeLimits::default());
        let _ = client_steps(&mut client, part);
        assert_eq!(
            client.eof().map(Step::from),
            Some(Step::Failed(Fault::ClosedEarly))
        );
        assert!(client.eof().is_none() && !client.is_open() && !client.is_closed());
    }
    let mut server = open_server(SizeLimits::default());
    let close = Close {
        code: None,
        reason: "",
    };
    server.close(close, &mut Vec::new()).unwrap();
    assert_eq!(
        server.eof().map(Step::from),
        Some(Step::Failed(Fault::ClosedEarly))
    );
}

#[test]
fn only_the_codes_of_the_standard_may_be_sent() {
    // Method: every number, against the ranges of section 7.4 and the register
    // of codes at the time of writing.
    let allowed = |number: u16| match number {
        1004..=1006 | 1015 => false,
        1000..=1014 | 3000..=4999 => true,
        _ => false,
    };
    for number in 0..=u16::MAX {
        assert_eq!(
            CloseCode::new(number).is_some(),
            allowed(number),
            "{number}"
        );
    }
}
