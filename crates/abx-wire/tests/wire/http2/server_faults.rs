//! Requests and connections that break a rule, by the sections of RFC 9113.

use abx_wire::http2::{STREAMS_MAX, UNACKNOWLEDGED_MAX};

use super::*;

const PROTOCOL_ERROR: u32 = 1;
const FLOW_CONTROL_ERROR: u32 = 3;
const STREAM_CLOSED: u32 = 5;
const FRAME_SIZE_ERROR: u32 = 6;
const REFUSED_STREAM: u32 = 7;
const COMPRESSION_ERROR: u32 = 9;
const ENHANCE_YOUR_CALM: u32 = 11;

/// Kind, stream and code of each reset, and kind, last stream and code of each GOAWAY.
fn ends(served: &mut Served) -> Vec<(u8, u32, u32)> {
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
    let written = served.written().into_iter();
    let ends = written.filter_map(|(kind, _, stream, payload)| match kind {
        RST_STREAM => Some((kind, stream, number(&payload))),
        GOAWAY => Some((kind, number(&payload[..4]), number(&payload[4..8]))),
        _ => None,
    });
    ends.collect()
}

/// Invalid heads (section 8).
fn wrong_heads() -> Vec<Vec<u8>> {
    let of = |fields: &[(&str, &str)]| {
        let fields: Vec<Vec<u8>> = fields.iter().map(|(n, v)| field(n, v)).collect();
        fields.concat()
    };
    let with = |name: &str, value: &str| [GET, &field(name, value)].concat();
    vec![
        // 8.3.1: pseudo-headers that are missing, empty, repeated, unknown, or after other fields.
        of(&[(":method", "GET"), (":scheme", "http")]),
        of(&[(":method", "GET"), (":path", "/")]),
        of(&[(":scheme", "http"), (":path", "/")]),
        of(&[(":method", "GET"), (":scheme", "http"), (":path", "")]),
        of(&[(":method", ""), (":scheme", "http"), (":path", "/")]),
        of(&[(":method", "GET"), (":scheme", "http"), (":path", "a")]),
        of(&[(":method", "GET"), (":scheme", "http"), (":path", "/a b")]),
        of(&[
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "/\u{7f}"),
        ]),
        of(&[
            ("a", "b"),
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "/"),
        ]),
        with(":method", "GET"),
        with(":path", "/"),
        with(":scheme", "http"),
        with(":status", "200"),
        with(":protocol", "websocket"),
        [GET, &of(&[(":authority", "a"), (":authority", "a")])].concat(),
        [GET, &of(&[(":authority", "a"), ("host", "b")])].concat(),
        [GET, &of(&[("host", "a"), ("host", "a")])].concat(),
        // 8.2.1: names and values.
        with("Server", "s"),
        with("a b", "s"),
        with("", "s"),
        with("a", "b\nc"),
        with("a", " b"),
        with("a", "b\t"),
        // 8.2.2: connection headers.
        with("connection", "close"),
        with("upgrade", "h2c"),
        with("transfer-encoding", "chunked"),
        with("te", "gzip"),
        // 8.1.1: lengths.
        with("content-length", "+5"),
        [
            GET,
            &of(&[("content-length", "5"), ("content-length", "6")]),
        ]
        .concat(),
        with("content-length", "5"),
        // 8.5: CONNECT.
        of(&[(":method", "CONNECT")]),
        of(&[
            (":method", "CONNECT"),
            (":authority", "h:1"),
            (":path", "/"),
        ]),
        of(&[
            (":method", "CONNECT"),
            (":scheme", "http"),
            (":authority", "h:1"),
        ]),
    ]
}

#[test]
fn a_wrong_head_resets_only_its_own_stream() {
    // Method: each on the first of two streams; it is not reported, its stream is reset, frames
    // under way are skipped, and the second is served.
    for block in wrong_heads() {
        let mut served = Served::open(&[]);
        assert_eq!(served.read(&head(1, END_STREAM, &block)), "", "{block:?}");
        assert_eq!(
            ends(&mut served),
            [(RST_STREAM, 1, PROTOCOL_ERROR)],
            "{block:?}"
        );
        assert_eq!(served.read(&data(1, END_STREAM, b"late")), "", "{block:?}");
        assert_eq!(served.read(&get(3, &[])), "3 Get /\n3 done", "{block:?}");
        assert!(served.out.is_empty());
    }
}

#[test]
fn a_broken_rule_on_a_stream_ends_only_that_stream() {
    // Method: each after the head of a request on the first of two streams.
    let length = field("content-length", "5");
    let sized = head(1, 0, &[POST, &length].concat());
    let open = head(1, 0, POST);
    let whole = get(1, &[]);
    for (before, bytes, code) in [
        // 8.1.1: bodies of another length than announced.
        (&sized, data(1, 0, b"hello!"), PROTOCOL_ERROR),
        (&sized, data(1, END_STREAM, b"hell"), PROTOCOL_ERROR),
        (
            &sized,
            head(1, END_STREAM, &field("a", "b")),
            PROTOCOL_ERROR,
        ),
        // 8.1: trailers.
        (&open, head(1, 0, &field("a", "b")), PROTOCOL_ERROR),
        (&open, head(1, END_STREAM, GET), PROTOCOL_ERROR),
        // 5.1: frames after the end of a request.
        (&whole, data(1, 0, b"x"), STREAM_CLOSED),
        (&whole, head(1, END_STREAM, &field("a", "b")), STREAM_CLOSED),
        // 6.9: room.
        (&whole, frame(WINDOW_UPDATE, 0, 1, &[0; 4]), PROTOCOL_ERROR),
        (
            &whole,
            frame(WINDOW_UPDATE, 0, 1, &[0x7f, 0xff, 0xff, 0xff]),
            FLOW_CONTROL_ERROR,
        ),
    ] {
        let mut served = Served::open(&[]);
        served.read(before);
        assert_eq!(served.read(&bytes), "1 gone", "{bytes:?}");
        assert_eq!(ends(&mut served), [(RST_STREAM, 1, code)], "{bytes:?}");
        assert_eq!(served.read(&head(1, END_STREAM, &field("a", "b"))), "");
        assert_eq!(served.read(&get(3, &[])), "3 Get /\n3 done", "{bytes:?}");
    }
}

/// Frames that are wrong by themselves (section 6), and their codes.
fn wrong_frames() -> Vec<(Vec<u8>, u32)> {
    vec![
        (vec![0, 0x40, 1, 0, 0, 0, 0, 0, 1], FRAME_SIZE_ERROR),
        (frame(DATA, 0, 0, b"x"), PROTOCOL_ERROR),
        (frame(DATA, PADDED, 1, b""), FRAME_SIZE_ERROR),
        (frame(DATA, PADDED, 1, &[9, 0]), PROTOCOL_ERROR),
        (head(0, 0, GET), PROTOCOL_ERROR),
        (head(4, 0, GET), PROTOCOL_ERROR),
        (head(5, PADDED, &[9, 0x82]), PROTOCOL_ERROR),
        (head(5, PADDED, b""), FRAME_SIZE_ERROR),
        (head(5, PRIORITY, &[0; 4]), FRAME_SIZE_ERROR),
        (frame(2, 0, 1, &[0; 4]), FRAME_SIZE_ERROR),
        (frame(2, 0, 0, &[0; 5]), PROTOCOL_ERROR),
        (frame(RST_STREAM, 0, 1, &[0; 3]), FRAME_SIZE_ERROR),
        (frame(RST_STREAM, 0, 0, &[0; 4]), PROTOCOL_ERROR),
        (frame(RST_STREAM, 0, 5, &[0; 4]), PROTOCOL_ERROR),
        (frame(SETTINGS, 0, 1, b""), PROTOCOL_ERROR),
        (frame(SETTINGS, 0, 0, &[0; 5]), FRAME_SIZE_ERROR),
        (frame(SETTINGS, 1, 0, &[0; 6]), FRAME_SIZE_ERROR),
        (settings(&[(2, 2)]), PROTOCOL_ERROR),
        (settings(&[(4, 1 << 31)]), FLOW_CONTROL_ERROR),
        (settings(&[(5, 16_383)]), PROTOCOL_ERROR),
        (settings(&[(5, 1 << 24)]), PROTOCOL_ERROR),
        (frame(5, END_HEADERS, 1, &[0, 0, 0, 2]), PROTOCOL_ERROR),
        (frame(PING, 0, 0, &[0; 9]), FRAME_SIZE_ERROR),
        (frame(PING, 0, 1, &[0; 8]), PROTOCOL_ERROR),
        (frame(GOAWAY, 0, 0, &[0; 7]), FRAME_SIZE_ERROR),
        (frame(GOAWAY, 0, 1, &[0; 8]), PROTOCOL_ERROR),
        (frame(WINDOW_UPDATE, 0, 0, &[0; 3]), FRAME_SIZE_ERROR),
        (frame(WINDOW_UPDATE, 0, 0, &[0; 4]), PROTOCOL_ERROR),
        (frame(WINDOW_UPDATE, 0, 5, &[0, 0, 0, 1]), PROTOCOL_ERROR),
        (
            frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff]),
            FLOW_CONTROL_ERROR,
        ),
        (frame(CONTINUATION, END_HEADERS, 1, GET), PROTOCOL_ERROR),
    ]
}

/// Frames that are wrong in their place (sections 4.3, 5.1 and 6.2).
fn wrong_places() -> Vec<(Vec<u8>, u32)> {
    vec![
        (data(3, 0, b"x"), PROTOCOL_ERROR),
        (
            [frame(HEADERS, 0, 3, GET), get(5, &[])].concat(),
            PROTOCOL_ERROR,
        ),
        (
            [
                frame(HEADERS, 0, 3, GET),
                frame(CONTINUATION, END_HEADERS, 5, b""),
            ]
            .concat(),
            PROTOCOL_ERROR,
        ),
        ([get(7, &[]), get(5, &[])].concat(), PROTOCOL_ERROR),
        (
            [frame(RST_STREAM, 0, 1, &[0; 4]), get(1, &[])].concat(),
            STREAM_CLOSED,
        ),
        (get(3, &[vec![0x80]]), COMPRESSION_ERROR),
        (get(3, &[vec![0xff]]), COMPRESSION_ERROR),
        (
            [settings(&[(4, (1 << 31) - 1)]), get(3, &[]), {
                let most = 0x7fff_ffff_u32.to_be_bytes();
                frame(WINDOW_UPDATE, 0, 0, &most)
            }]
            .concat(),
            FLOW_CONTROL_ERROR,
        ),
    ]
}

#[test]
fn a_broken_connection_is_reported_once_with_its_code() {
    // Method: each fault after the head of a request with a body; then nothing more is read.
    for (bytes, code) in wrong_frames().iter().chain(&wrong_places()) {
        let mut served = Served::open(&[]);
        served.read(&head(1, 0, POST));
        let message = served.read(bytes);
        assert!(
            message.lines().last().unwrap().starts_with("failed: "),
            "{bytes:?}"
        );
        let last = *ends(&mut served).last().unwrap();
        assert_eq!((last.0, last.2), (GOAWAY, *code), "{bytes:?}");
        assert_eq!(served.read(&get(9, &[])), "");
        assert!(served.out.is_empty());
    }
}

#[test]
fn a_connection_with_a_wrong_beginning_is_refused() {
    // Method: no preface, a preface with a wrong last byte, and one without settings after it.
    let wrong = [PREFACE[..23].to_vec(), b"X".to_vec()].concat();
    let mute = [&PREFACE[..], &get(1, &[])].concat();
    let response = [&PREFACE[..], &frame(SETTINGS, 1, 0, b"")].concat();
    for bytes in [b"GET / HTTP/1.1\r\n".to_vec(), wrong, mute, response] {
        let mut served = Served::begun();
        let message = served.read(&bytes);
        assert!(message.starts_with("failed: "), "{message}");
        assert_eq!(ends(&mut served), [(GOAWAY, 0, PROTOCOL_ERROR)]);
    }
}

#[test]
fn data_after_a_response_resets_its_stream_and_a_head_ends_the_connection() {
    // Method: DATA after a response resets the stream, once; a head there ends the connection.
    let mut served = Served::open(&[]);
    served.read(&get(1, &[]));
    served.respond(1, 200, 0);
    served.out.clear();
    assert_eq!(served.read(&data(1, 0, b"x")), "");
    assert_eq!(ends(&mut served), [(RST_STREAM, 1, STREAM_CLOSED)]);
    assert_eq!(served.read(&data(1, 0, b"x")), "");
    assert_eq!(ends(&mut served), []);
    served.read(&get(3, &[]));
    served.respond(3, 200, 0);
    assert!(served.read(&get(3, &[])).starts_with("failed: "));
    assert_eq!(
        *ends(&mut served).last().unwrap(),
        (GOAWAY, 3, STREAM_CLOSED)
    );
}

#[test]
fn streams_above_their_limit_are_refused() {
    // Method: one more than allowed; after a response another one is accepted.
    let mut served = Served::open(&[]);
    let most = u32::try_from(STREAMS_MAX).unwrap();
    for place in 0..most {
        served.read(&get(2 * place + 1, &[]));
    }
    served.out.clear();
    let next = 2 * most + 1;
    assert_eq!(served.read(&get(next, &[])), "");
    assert_eq!(ends(&mut served), [(RST_STREAM, next, REFUSED_STREAM)]);
    served.respond(5, 200, 0);
    let message = served.read(&get(next + 2, &[]));
    assert!(message.ends_with("done"), "{message}");
}

#[test]
fn floods_end_the_connection() {
    // Method: each limit is reached without harm, and the next one ends the connection: frames
    // that request nothing, requests that are given up, streams that are refused, heads that never
    // end, and heads that are short only as long as they are compressed.
    let quiet = frame(PING, 1, 0, &[0; 8]).repeat(10_000);
    let empty = data(1, 0, b"").repeat(10_000);
    let resets: Vec<u8> = (0..UNACKNOWLEDGED_MAX)
        .flat_map(|place| {
            let number = 2 * place + 3;
            [get(number, &[]), frame(RST_STREAM, 0, number, &[0; 4])].concat()
        })
        .collect();
    let after = 2 * UNACKNOWLEDGED_MAX + 3;
    let one_reset = [get(after, &[]), frame(RST_STREAM, 0, after, &[0; 4])].concat();
    let wrong: Vec<u8> = (0..UNACKNOWLEDGED_MAX)
        .flat_map(|place| get(2 * place + 3, &[field("A", "b")]))
        .collect();
    let endless = [
        frame(HEADERS, 0, 3, GET),
        frame(CONTINUATION, 0, 3, &[0; 1 << 14]).repeat(15),
    ];
    let small = frame(CONTINUATION, 0, 3, b"").repeat(9_998);
    for (most, one_more) in [
        (quiet, frame(PING, 0, 0, &[0; 8])),
        (empty, data(1, 0, b"")),
        (resets, one_reset),
        (wrong, get(after, &[field("A", "b")])),
        (endless.concat(), frame(CONTINUATION, 0, 3, &[0; 1 << 14])),
        (
            [frame(HEADERS, 0, 3, GET), small].concat(),
            frame(CONTINUATION, 0, 3, b"").repeat(3),
        ),
        (Vec::new(), get(3, &[vec![0x82; 257]])),
    ] {
        let mut served = Served::open(&[]);
        served.read(&head(1, 0, POST));
        assert!(!served.read(&most).contains("failed"));
        let message = served.read(&one_more);
        assert!(message.contains("failed: "), "{message}");
        let last = *ends(&mut served).last().unwrap();
        assert_eq!((last.0, last.2), (GOAWAY, ENHANCE_YOUR_CALM), "{message}");
    }
}

#[test]
fn regular_resets_between_served_requests_are_no_flood() {
    // Method: every second request is given up, far more often than the limit.
    let mut served = Served::open(&[]);
    for place in 0..3 * UNACKNOWLEDGED_MAX {
        let number = 4 * place + 1;
        served.read(&[get(number, &[]), get(number + 2, &[])].concat());
        let message = served.read(&frame(RST_STREAM, 0, number, &[0; 4]));
        assert_eq!(message, format!("{number} gone"));
        served.respond(number + 2, 200, 0);
        served.out.clear();
    }
}
