//! Frames and messages in both directions.

use abx_wire::websocket::{
    Event, Fault, FragmentPlace, MessageKind, SizeLimits, masked_message_frame, message_frame,
};

use super::support::{
    BINARY, CLOSE, CONTINUATION, FIN, MASK, PING, PONG, Step, TEXT, client_steps, close_payload,
    masked, open_client, open_server, plain, server_steps,
};

fn message(kind: MessageKind, fragments: u64, payload: &[u8]) -> Step {
    let beginning = payload[..payload.len().min(16)].to_vec();
    Step::Message(kind, payload.len() as u64, fragments, beginning)
}

#[test]
fn messages_of_every_length_form_are_written_and_read() {
    // Method: lengths around each edge of the length's three forms, both ways,
    // against frames put together byte by byte.
    for length in [0, 1, 15, 16, 17, 125, 126, 127, 65_535, 65_536, 70_000] {
        let payload: Vec<u8> = (0..length).map(|place| (place % 251) as u8).collect();
        let mut expected = Vec::new();
        if length > 0 {
            expected.push(Step::Data(payload.clone()));
        }
        expected.push(message(MessageKind::Binary, 1, &payload));

        let mut client = open_client(SizeLimits::default());
        let mut out = Vec::new();
        client
            .send(MessageKind::Binary, &payload, &mut out)
            .unwrap();
        assert!(out == masked(FIN | BINARY, &payload), "{length}");
        let mut server = open_server(SizeLimits::default());
        let (steps, response) = server_steps(&mut server, &out);
        assert!(steps == expected && response.is_empty(), "{length}");

        let mut out = Vec::new();
        server
            .send(MessageKind::Binary, &payload, &mut out)
            .unwrap();
        assert!(out == plain(FIN | BINARY, &payload), "{length}");
        let mut shared = Vec::new();
        message_frame(MessageKind::Binary, &payload, &mut shared);
        assert!(shared == out, "{length}");
        let (steps, response) = client_steps(&mut client, &out);
        assert!(steps == expected && response.is_empty(), "{length}");
    }
}

#[test]
fn fragments_make_one_message_and_control_frames_may_be_inside() {
    // Method: a text in three fragments, cut inside a character, one of them
    // empty, with a ping and a pong between; then a message by itself.
    let bytes = [
        plain(TEXT, b"gr\xC3"),
        plain(FIN | PING, b"?"),
        plain(CONTINUATION, b""),
        plain(FIN | PONG, b"!"),
        plain(FIN | CONTINUATION, b"\xBC\xC3\x9Fe"),
        plain(FIN | BINARY, b"\xFF"),
    ]
    .concat();
    let (steps, out) = client_steps(&mut open_client(SizeLimits::default()), &bytes);
    let expected = [
        Step::Data(b"gr\xC3".to_vec()),
        Step::Ping(b"?".to_vec()),
        Step::Pong(b"!".to_vec()),
        Step::Data(b"\xBC\xC3\x9Fe".to_vec()),
        message(MessageKind::Text, 3, "grüße".as_bytes()),
        Step::Data(b"\xFF".to_vec()),
        message(MessageKind::Binary, 1, b"\xFF"),
    ];
    assert_eq!(steps, expected);
    assert_eq!(out, masked(FIN | PONG, b"?"));
}

#[test]
fn fragments_are_written_with_the_kind_first_and_the_end_last() {
    // Method: two messages in fragments with a ping inside, byte by byte.
    let mut client = open_client(SizeLimits::default());
    let mut out = Vec::new();
    client
        .send_fragment(MessageKind::Text, b"a", FragmentPlace::Inner, &mut out)
        .unwrap();
    client.ping(b"p", &mut out).unwrap();
    client
        .send_fragment(MessageKind::Text, b"b", FragmentPlace::Inner, &mut out)
        .unwrap();
    client
        .send_fragment(MessageKind::Text, b"c", FragmentPlace::Last, &mut out)
        .unwrap();
    client.send(MessageKind::Binary, b"d", &mut out).unwrap();
    let expected = [
        masked(TEXT, b"a"),
        masked(FIN | PING, b"p"),
        masked(CONTINUATION, b"b"),
        masked(FIN | CONTINUATION, b"c"),
        masked(FIN | BINARY, b"d"),
    ];
    assert_eq!(out, expected.concat());
    let (steps, out) = server_steps(&mut open_server(SizeLimits::default()), &out);
    assert!(
        steps.contains(&message(MessageKind::Text, 3, b"abc")),
        "{steps:?}"
    );
    assert_eq!(out, plain(FIN | PONG, b"p"));
}

/// First byte and payload of each frame.
type Frames = Vec<(u8, Vec<u8>)>;

/// Frames that break a rule from either side, with the fault and the code
/// of the close that follows.
fn broken() -> Vec<(Frames, Fault, u16)> {
    let long = vec![b'x'; 126];
    let item = |first: u8, payload: &[u8]| vec![(first, payload.to_vec())];
    vec![
        (item(FIN | 0x40 | TEXT, b"a"), Fault::ReservedBits, 1002),
        (item(FIN | 0x20 | TEXT, b"a"), Fault::ReservedBits, 1002),
        (item(FIN | 0x10 | PING, b"a"), Fault::ReservedBits, 1002),
        (item(FIN | 3, b""), Fault::UnknownOpcode(3), 1002),
        (item(FIN | 11, b""), Fault::UnknownOpcode(11), 1002),
        (item(PING, b""), Fault::FragmentedControl, 1002),
        (item(CLOSE, b""), Fault::FragmentedControl, 1002),
        (item(FIN | PONG, &long), Fault::ControlTooLarge, 1002),
        (item(FIN | CONTINUATION, b"a"), Fault::LooseFragment, 1002),
        (
            vec![(TEXT, b"a".to_vec()), (FIN | BINARY, b"b".to_vec())],
            Fault::UnfinishedMessage,
            1002,
        ),
        (item(FIN | TEXT, b"\xC3"), Fault::InvalidUtf8, 1007),
        (item(FIN | TEXT, b"\xFF"), Fault::InvalidUtf8, 1007),
        (
            vec![
                (TEXT, b"\xC3".to_vec()),
                (FIN | CONTINUATION, b"a".to_vec()),
            ],
            Fault::InvalidUtf8,
            1007,
        ),
        (item(FIN | CLOSE, b"\x03"), Fault::BadClose, 1002),
        (
            item(FIN | CLOSE, &close_payload(1005, b"")),
            Fault::BadCloseCode(1005),
            1002,
        ),
        (
            item(FIN | CLOSE, &close_payload(999, b"")),
            Fault::BadCloseCode(999),
            1002,
        ),
        (
            item(FIN | CLOSE, &close_payload(5000, b"")),
            Fault::BadCloseCode(5000),
            1002,
        ),
        (
            item(FIN | CLOSE, &close_payload(1000, b"\xFF")),
            Fault::InvalidUtf8,
            1007,
        ),
        (item(FIN | BINARY, &[0; 1_001]), Fault::FrameTooLarge, 1009),
        (
            vec![
                (BINARY, vec![0; 1_000]),
                (BINARY & CONTINUATION, vec![0; 600]),
            ],
            Fault::MessageTooLarge,
            1009,
        ),
    ]
}

const LIMITS: SizeLimits = SizeLimits {
    frame_bytes: 1_000,
    message_bytes: 1_500,
};

#[test]
fn a_server_that_breaks_the_protocol_fails_and_gets_a_close() {
    // Method: frames for each fault; a message after them must be ignored.
    for (frames, fault, code) in broken() {
        let mut bytes: Vec<u8> = frames
            .iter()
            .flat_map(|(first, payload)| plain(*first, payload))
            .collect();
        bytes.extend(plain(FIN | TEXT, b"ignored"));
        let mut client = open_client(LIMITS);
        let (steps, out) = client_steps(&mut client, &bytes);
        assert_eq!(steps.last(), Some(&Step::Failed(fault)), "{frames:?}");
        assert_eq!(
            out,
            masked(FIN | CLOSE, &close_payload(code, b"")),
            "{fault:?}"
        );
        assert!(!client.is_open() && client.eof().is_none());
    }
    let (steps, _) = client_steps(&mut open_client(LIMITS), &masked(FIN | TEXT, b"a"));
    assert_eq!(steps, [Step::Failed(Fault::Masked)]);
}

#[test]
fn a_client_that_breaks_the_protocol_fails_and_gets_a_close() {
    // Method: the same frames, masked.
    for (frames, fault, code) in broken() {
        let mut bytes: Vec<u8> = frames
            .iter()
            .flat_map(|(first, payload)| masked(*first, payload))
            .collect();
        bytes.extend(masked(FIN | TEXT, b"ignored"));
        let mut server = open_server(LIMITS);
        let (steps, out) = server_steps(&mut server, &bytes);
        assert_eq!(steps.last(), Some(&Step::Failed(fault)), "{frames:?}");
        assert_eq!(
            out,
            plain(FIN | CLOSE, &close_payload(code, b"")),
            "{fault:?}"
        );
        assert!(!server.is_open() && server.eof().is_none());
    }
    let (steps, _) = server_steps(&mut open_server(LIMITS), &plain(FIN | TEXT, b"a"));
    assert_eq!(steps, [Step::Failed(Fault::Unmasked)]);
}

#[test]
fn a_length_in_a_longer_form_than_needed_is_refused() {
    // Method: 125 in two bytes, 65,535 in eight, and the highest bit set.
    let heads: [&[u8]; 3] = [
        &[0x82, 126, 0, 125],
        &[0x82, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF],
        &[0x82, 127, 0x80, 0, 0, 0, 0, 1, 0, 0],
    ];
    for head in heads {
        let (steps, _) = client_steps(&mut open_client(SizeLimits::default()), head);
        assert_eq!(steps, [Step::Failed(Fault::BadLength)], "{head:?}");
    }
}

#[test]
fn a_message_at_the_limit_is_accepted() {
    // Method: a frame and a message exactly as long as allowed.
    let bytes = [
        plain(BINARY, &[0; 1_000]),
        plain(FIN | CONTINUATION, &[0; 500]),
    ]
    .concat();
    let (steps, _) = client_steps(&mut open_client(LIMITS), &bytes);
    assert_eq!(
        steps.last(),
        Some(&message(MessageKind::Binary, 2, &[0; 1_500]))
    );
}

#[test]
fn payload_bytes_after_the_beginning_may_be_skipped() {
    // Method: a message of 1,000 bytes, of which 20 are received and 980 skipped in two steps.
    // Nothing may be skipped in a text, in a beginning or outside a message.
    let mut client = open_client(SizeLimits::default());
    let payload: Vec<u8> = (0..1_000).map(|place| (place % 251) as u8).collect();
    let frame = plain(FIN | BINARY, &payload);
    let mut out = Vec::new();
    let feed = |client: &mut abx_wire::websocket::Client, bytes: &[u8]| {
        let (steps, _) = client_steps(client, bytes);
        (steps.last().cloned(), client.payload_ahead())
    };
    assert_eq!(client.payload_ahead(), 0);
    assert_eq!(feed(&mut client, &frame[..4 + 15]).1, 0);
    assert_eq!(feed(&mut client, &frame[4 + 15..4 + 20]).1, 980);
    client.skip(900);
    assert_eq!(client.payload_ahead(), 80);
    client.skip(80);
    assert_eq!(client.payload_ahead(), 0);
    let mut nothing: &[u8] = &[];
    let Some(Event::Message(whole)) = client.receive(&mut nothing, &mut out) else {
        panic!("the message is incomplete");
    };
    assert_eq!((whole.bytes, whole.beginning()), (1_000, &payload[..16]));
    let text = plain(FIN | TEXT, &[b'x'; 100]);
    assert_eq!(feed(&mut client, &text[..50]).1, 0);
}

#[test]
fn a_standalone_message_frame_equals_what_a_client_sends() {
    // Method: each length of a head, text and binary, compared with an open client that has the
    // same mask.
    for kind in [MessageKind::Text, MessageKind::Binary] {
        for bytes in [0, 125, 126, 65_536] {
            let payload = vec![b'p'; bytes];
            let mut client = open_client(SizeLimits::default());
            let mut sent = Vec::new();
            client.send(kind, &payload, &mut sent).unwrap();
            let mut frame = Vec::new();
            masked_message_frame(kind, &payload, MASK, &mut frame);
            assert!(frame == sent, "{kind:?} of {bytes} bytes");
        }
    }
}
