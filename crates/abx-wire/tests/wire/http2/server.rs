//! Correct requests in all their forms, and how responses are sent.

use super::*;

/// The header block of a response.
fn responded(status: &[u8], length: &str) -> Vec<u8> {
    let server = concat!("abx/", env!("CARGO_PKG_VERSION"));
    let known = |index: u8, value: &str| {
        let mut bytes = vec![0x0f, index - 15, u8::try_from(value.len()).unwrap()];
        bytes.extend(value.bytes());
        bytes
    };
    [
        status.to_vec(),
        known(54, server),
        known(28, length),
        known(31, "text/plain"),
    ]
    .concat()
}

#[test]
fn a_connection_begins_with_our_settings() {
    // Method: the bytes themselves: streams, room and heads as announced.
    let served = Served::begun();
    let room = (1_u32 << 30) - 1;
    let more = (room - 65_535).to_be_bytes();
    let expected = [
        settings(&[(3, 1000), (4, room), (6, 256 << 10)]),
        frame(WINDOW_UPDATE, 0, 0, &more),
    ];
    assert_eq!(served.out, expected.concat());
}

#[test]
fn requests_are_matched_to_their_streams_and_bodies_skipped() {
    // Method: a request without a body between the parts of one with a body.
    let mut served = Served::open(&[]);
    let length = field("content-length", "5");
    let bytes = [
        head(1, 0, &[POST, &length].concat()),
        data(1, 0, b"hel"),
        get(3, &[]),
        data(1, END_STREAM, b"lo"),
    ];
    let expected = "1 Post /\n3 Get /\n3 done\n1 done";
    assert_eq!(served.read(&bytes.concat()), expected);
    assert!(served.out.is_empty());
}

#[test]
fn padding_priorities_and_cut_blocks_change_nothing_for_a_server() {
    // Method: the same request plain, with padding and a priority, cut, and with a trailer.
    let block = [POST, &field("content-length", "5")].concat();
    let plain = [head(1, 0, &block), data(1, END_STREAM, b"hello")].concat();
    let padded_block = [&[3, 0, 0, 0, 0, 9][..], &block, &[0; 3]].concat();
    let padded = [
        head(1, PADDED | PRIORITY, &padded_block),
        frame(DATA, PADDED | END_STREAM, 1, b"\x02hello\0\0"),
    ];
    let cut = [
        frame(HEADERS, 0, 1, &block[..1]),
        frame(CONTINUATION, 0, 1, &block[1..3]),
        frame(CONTINUATION, 0, 1, b""),
        frame(CONTINUATION, END_HEADERS, 1, &block[3..]),
        data(1, 0, b"hello"),
        head(1, END_STREAM, &field("x-trailer", "0")),
    ];
    for bytes in [plain, padded.concat(), cut.concat()] {
        assert_eq!(Served::open(&[]).read(&bytes), "1 Post /\n1 done");
    }
}

#[test]
fn a_repeated_block_is_decoded_anew_when_the_table_has_changed() {
    // Method: a block that names an entry of the table, twice; then another entry takes its
    // place, and the same block has another meaning. Finally a trailer's entry takes its place,
    // which is no path.
    let mut served = Served::open(&[]);
    let path = |path: &str| [&[0x44, 2][..], path.as_bytes()].concat();
    let first = [&GET[..2], &path("/a")].concat();
    let same = [&GET[..2], &[0xbe]].concat();
    assert_eq!(
        served.read(&head(1, END_STREAM, &first)),
        "1 Get /a\n1 done"
    );
    assert_eq!(served.read(&head(3, END_STREAM, &same)), "3 Get /a\n3 done");
    assert_eq!(served.read(&head(5, END_STREAM, &same)), "5 Get /a\n5 done");
    let second = [&GET[..2], &path("/b")].concat();
    assert_eq!(
        served.read(&head(7, END_STREAM, &second)),
        "7 Get /b\n7 done"
    );
    assert_eq!(served.read(&head(9, END_STREAM, &same)), "9 Get /b\n9 done");
    served.read(&head(11, 0, POST));
    let message = served.read(&head(13, END_STREAM, &same));
    assert_eq!(message, "13 Get /b\n13 done");
    let trailer = head(11, END_STREAM, &[0x40, 1, b'a', 1, b'b']);
    assert_eq!(served.read(&trailer), "11 done");
    assert_eq!(served.read(&head(15, END_STREAM, &same)), "");
}

#[test]
fn heads_have_their_methods_and_targets() {
    // Method: HEAD, another method on everything, CONNECT, and one that waits for a 100.
    let with = |method: &str, more: &[Vec<u8>]| {
        [&field(":method", method)[..], &GET[1..], &more.concat()].concat()
    };
    let connect = [field(":method", "CONNECT"), field(":authority", "h:1")].concat();
    let waits = with("PUT", &[field("expect", "100-continue")]);
    let bytes = [
        &field(":method", "OPTIONS")[..],
        &[0x86],
        &field(":path", "*"),
    ]
    .concat();
    for (block, expected) in [
        (with("HEAD", &[]), "1 Head /"),
        (bytes, "1 Other *"),
        (connect, "1 Other h:1"),
        (waits, "1 Other / waits"),
        (with("POST", &[field("te", "trailers")]), "1 Post /"),
    ] {
        let mut served = Served::open(&[]);
        assert_eq!(served.read(&head(1, 0, &block)), expected);
    }
}

#[test]
fn a_response_is_written_with_the_static_table_only() {
    // Method: the bytes of three responses; the first declares that there is no table, and the last
    // names the allowed methods.
    let mut served = Served::open(&[]);
    served.read(&[get(1, &[]), get(3, &[]), get(5, &[]), head(7, 0, POST)].concat());
    served.server.invite(7, &mut served.out);
    served.respond(3, 200, 5);
    served.server.send(3, b"hello", true, &mut served.out);
    served.respond(1, 404, 0);
    served.respond(5, 405, 0);
    let refused = [responded(&[0x08, 3, b'4', b'0', b'5'], "0"), {
        let mut allow = vec![0x0f, 22 - 15, 15];
        allow.extend(b"GET, HEAD, POST");
        allow
    }];
    let expected = [
        head(7, 0, &[0x20, 0x08, 3, b'1', b'0', b'0']),
        head(3, 0, &responded(&[0x88], "5")),
        data(3, END_STREAM, b"hello"),
        head(1, END_STREAM, &responded(&[0x8d], "0")),
        head(5, END_STREAM, &refused.concat()),
    ];
    assert_eq!(served.out, expected.concat());
}

#[test]
fn a_body_is_sent_as_far_as_there_is_room() {
    // Method: a window of 10 bytes for streams; more for one of them, less by new settings,
    // then more than the connection has.
    let mut served = Served::open(&[(4, 10)]);
    served.read(&[get(1, &[]), get(3, &[])].concat());
    served.respond(1, 200, 100_000);
    assert_eq!(served.server.room(1), 10);
    served.server.send(1, &[7; 10], false, &mut served.out);
    assert_eq!((served.server.room(1), served.server.room(3)), (0, 10));
    served.read(&frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 5]));
    assert_eq!(served.server.room(1), 5);
    served.read(&settings(&[(4, 2)]));
    assert_eq!((served.server.room(1), served.server.room(3)), (0, 2));
    served.read(&settings(&[(4, 1 << 20)]));
    assert_eq!(served.server.room(1), 65_525);
    assert_eq!(served.server.room_of_all(), 65_525);
    served.out.clear();
    served.server.send(1, &[7; 40_000], false, &mut served.out);
    let lengths: Vec<usize> = served.written().iter().map(|parts| parts.3.len()).collect();
    assert_eq!(lengths, [16_384, 16_384, 7_232]);
    served.read(&frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 9]));
    assert_eq!(served.server.room(3), 25_534);
}

#[test]
fn settings_and_pings_are_acknowledged_at_once_by_a_server() {
    // Method: the bytes written after each. Acknowledgements, priorities, a client that leaves,
    // room on a stream that has ended and unknown frames cause none.
    let mut served = Served::open(&[]);
    served.read(&get(1, &[]));
    served.respond(1, 200, 0);
    served.out.clear();
    let quiet = [
        frame(SETTINGS, 1, 0, b""),
        frame(PING, 1, 0, b"12345678"),
        frame(2, 0, 9, &[0; 5]),
        frame(GOAWAY, 0, 0, &[0; 8]),
        frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 1]),
        frame(RST_STREAM, 0, 1, &[0; 4]),
        frame(0xee, 0xff, 77, b"what"),
        settings(&[(9, 1), (2, 1), (1, 0)]),
        frame(PING, 0, 0, b"12345678"),
    ];
    assert_eq!(served.read(&quiet.concat()), "");
    let expected = [frame(SETTINGS, 1, 0, b""), frame(PING, 1, 0, b"12345678")];
    assert_eq!(served.out, expected.concat());
}

#[test]
fn a_reset_stream_is_reported_and_nothing_more_is_sent_on_it() {
    // Method: a reset in the middle of a response; what is sent afterwards is not written.
    let mut served = Served::open(&[]);
    served.read(&get(1, &[]));
    served.respond(1, 200, 10);
    assert_eq!(
        served.read(&frame(RST_STREAM, 0, 1, &[0, 0, 0, 8])),
        "1 gone"
    );
    served.out.clear();
    assert_eq!(served.server.room(1), 0);
    served.server.send(1, b"0123456789", true, &mut served.out);
    served.respond(1, 200, 0);
    served.server.give_up(1, &mut served.out);
    served.server.invite(1, &mut served.out);
    assert!(served.out.is_empty());
}

#[test]
fn a_leaving_server_finishes_only_the_streams_begun() {
    // Method: two streams, a GOAWAY that names the second, and a third that is ignored,
    // although its table entry counts.
    let mut served = Served::open(&[]);
    served.read(&[get(1, &[]), head(3, 0, POST)].concat());
    served.server.leave(&mut served.out);
    served.server.leave(&mut served.out);
    assert_eq!(served.out, frame(GOAWAY, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 0]));
    served.out.clear();
    let late = [GET, &[0x40, 1, b'a', 1, b'b']].concat();
    assert_eq!(served.read(&head(5, 0, &late)), "");
    assert_eq!(served.read(&data(5, END_STREAM, b"late")), "");
    assert!(served.out.is_empty());
    served.respond(1, 200, 0);
    assert!(!served.server.is_over());
    let trailer = head(3, END_STREAM, &[0xbe]);
    assert_eq!(served.read(&trailer), "3 done");
    served.respond(3, 200, 0);
    assert!(served.server.is_over());
}

#[test]
fn a_server_enlarges_the_window_when_half_of_it_is_used() {
    // Method: a body of 1.5 GiB in frames of 16 KiB, with windows of 1 GiB; each half is
    // given back once, to the stream and to the connection.
    let mut served = Served::open(&[]);
    served.read(&head(1, 0, POST));
    let bytes = data(1, 0, &[0; 1 << 14]);
    for _ in 0..3 << 15 {
        let mut input = &bytes[..];
        assert!(served.server.receive(&mut input, &mut served.out).is_none());
    }
    let written = served.written();
    for stream in [0, 1] {
        let updates = written.iter().filter(|parts| parts.2 == stream);
        assert_eq!(updates.count(), 3);
    }
}
