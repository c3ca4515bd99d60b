//! Correct responses in all their forms.

use super::*;

#[test]
fn responses_are_matched_to_their_streams_in_any_order() {
    // Method: three requests; responses from the last to the first, two of them interleaved.
    let mut talk = Talk::begun(3);
    let bytes = [
        head(5, END_STREAM, OK),
        head(3, 0, OK_5),
        head(1, 0, OK),
        data(3, 0, b"hel"),
        data(1, 0, b"ab"),
        data(3, END_STREAM, b"lo"),
        data(1, END_STREAM, b""),
    ];
    let expected = "5 head 200\n5 done 200 0\n3 head 200 of 5\n1 head 200\n3 body hel\n1 body ab\n\
                    3 body lo\n3 done 200 5\n1 done 200 2";
    assert_eq!(talk.read(&bytes.concat()), expected);
    assert!(talk.out.is_empty());
}

#[test]
fn padding_priorities_and_cut_blocks_change_nothing() {
    // Method: the same response plain, with padding and a priority, and with a cut block.
    let plain = [head(1, 0, OK_5), data(1, END_STREAM, b"hello")].concat();
    let padded_block = [&[3, 0, 0, 0, 0, 9][..], OK_5, &[0; 3]].concat();
    let padded = [
        head(1, PADDED | PRIORITY, &padded_block),
        frame(DATA, PADDED | END_STREAM, 1, b"\x02hello\0\0"),
    ];
    let cut = [
        frame(HEADERS, 0, 1, &OK_5[..1]),
        frame(CONTINUATION, 0, 1, &OK_5[1..3]),
        frame(CONTINUATION, 0, 1, b""),
        frame(CONTINUATION, END_HEADERS, 1, &OK_5[3..]),
        data(1, 0, b"hello"),
        data(1, END_STREAM, b""),
    ];
    let expected = "1 head 200 of 5\n1 body hello\n1 done 200 5";
    for bytes in [plain, padded.concat(), cut.concat()] {
        assert_eq!(Talk::begun(1).read(&bytes), expected);
    }
}

#[test]
fn interim_heads_and_trailers_give_no_events() {
    // Method: 100 and 103 before the head, and a trailer that ends the response.
    let mut talk = Talk::begun(1);
    let bytes = [
        head(1, 0, &field(":status", "100")),
        head(
            1,
            0,
            &[field(":status", "103"), field("link", "</a>")].concat(),
        ),
        head(1, 0, OK),
        data(1, 0, b"x"),
        head(1, END_STREAM, &field("grpc-status", "0")),
    ];
    assert!(!talk.client.has_begun(1));
    assert_eq!(talk.read(&bytes[0]), "");
    assert!(talk.client.has_begun(1));
    let rest = talk.read(&bytes[1..].concat());
    assert_eq!(rest, "1 head 200\n1 body x\n1 done 200 1");
    assert!(!talk.client.has_begun(1));
}

#[test]
fn responses_without_a_body_may_have_a_content_length() {
    // Method: HEAD with a length; GET with a 304 that has a length, and with a 204.
    let mut talk = Talk::begun(0);
    for method in ["HEAD", "GET", "GET"] {
        talk.begin(&encoded(method, b""));
    }
    let length = field("content-length", "5");
    let not_modified = [&[0x8b][..], &length].concat();
    let bytes = [
        head(1, END_STREAM, OK_5),
        head(3, END_STREAM, &not_modified),
        head(5, 0, &[0x89]),
        data(5, END_STREAM, b""),
    ];
    let expected = "1 head 200 of 5\n1 done 200 0\n3 head 304 of 5\n3 done 304 0\n5 head 204\n\
                    5 done 204 0";
    assert_eq!(talk.read(&bytes.concat()), expected);
}

#[test]
fn a_repeated_block_is_decoded_anew_when_the_table_has_changed() {
    // Method: a block that names an entry of the table, twice; then another entry takes its
    // place, and the same block has another meaning.
    let mut talk = Talk::begun(4);
    talk.client.keep_heads();
    let put = |status: &str| [&[0x48, 3][..], status.as_bytes()].concat();
    assert_eq!(talk.read(&head(1, 0, &put("201"))), "1 head 201");
    let same = [0xbe];
    assert_eq!(talk.read(&head(3, 0, &same)), "3 head 201");
    assert_eq!(talk.read(&head(5, 0, &same)), "5 head 201");
    let other = [&same[..], &[0x40, 1, b'a', 1, b'b']].concat();
    assert_eq!(talk.read(&head(7, 0, &other)), "7 head 201");
    assert_eq!(talk.client.head_text(), b"HTTP/1.1 201\r\na: b\r\n\r\n");
    // The entry `a: b` is the newest now, and no status.
    talk.begin(&encoded("GET", b""));
    let failed = talk.read(&head(9, 0, &same));
    assert_eq!(failed, "9 failed: a head has no status");
}

#[test]
fn a_load_keeps_only_the_head_fields_that_it_reads() {
    // Method: a head with two fields, read as by a load and as by a probe.
    let fields = [field("server-timing", "db;dur=5"), field("server", "s")];
    let block = [OK, &fields.concat()].concat();
    for (keeps_all, expected) in [
        (false, "HTTP/1.1 200\r\nserver-timing: db;dur=5\r\n\r\n"),
        (
            true,
            "HTTP/1.1 200\r\nserver-timing: db;dur=5\r\nserver: s\r\n\r\n",
        ),
    ] {
        let mut talk = Talk::begun(1);
        if keeps_all {
            talk.client.keep_heads();
        }
        talk.read(&head(1, 0, &block));
        assert_eq!(talk.client.head_text(), expected.as_bytes());
    }
}

#[test]
fn streams_up_to_the_last_one_of_a_goaway_are_finished() {
    // Method: three streams, and a GOAWAY that names the second as the last.
    let mut talk = Talk::begun(3);
    let last = [&3_u32.to_be_bytes()[..], &0_u32.to_be_bytes(), b"bye"].concat();
    assert_eq!(
        talk.read(&frame(GOAWAY, 0, 0, &last)),
        "go away behind 3: 0"
    );
    assert!(talk.client.is_leaving() && !talk.client.is_over());
    assert_eq!(talk.begin(&encoded("GET", b"")), None);
    talk.read(&head(1, END_STREAM, OK));
    assert!(!talk.client.is_over());
    talk.read(&head(3, END_STREAM, OK));
    assert!(talk.client.is_over());
}

#[test]
fn settings_and_pings_are_acknowledged_at_once() {
    // Method: the bytes written after each; an acknowledgement causes none.
    let mut talk = Talk::open();
    talk.out.clear();
    assert!(!talk.client.is_open());
    assert_eq!(talk.read(&settings(&[(9, 1)])), "open");
    talk.read(&frame(PING, 0, 0, b"12345678"));
    talk.read(&frame(SETTINGS, 1, 0, b""));
    talk.read(&frame(PING, 1, 0, b"12345678"));
    assert_eq!(talk.written(), [(SETTINGS, 1, 0, 0), (PING, 1, 0, 8)]);
    assert!(talk.out.ends_with(b"12345678"));
    assert!(talk.client.is_open());
}

#[test]
fn the_window_is_enlarged_when_half_of_it_is_used() {
    // Method: a body of 1.5 GiB in frames of 16 KiB, with windows of 1 GiB; each half is
    // given back once, to the stream and to the connection.
    let mut talk = Talk::begun(1);
    talk.read(&head(1, 0, OK));
    let (frames, payload) = (3 << 15, [0; 1 << 14]);
    let frame_bytes = data(1, 0, &payload);
    let mut bytes = 0_u64;
    for _ in 0..frames {
        let mut input = &frame_bytes[..];
        while let Some(event) = talk.client.receive(&mut input, &mut talk.out) {
            let Event::Body { bytes: part, .. } = event else {
                panic!("{event:?}");
            };
            bytes += part.len() as u64;
        }
    }
    assert_eq!(bytes, 3 << 29);
    let written = talk.written();
    for stream in [0, 1] {
        let updates = written.iter().filter(|parts| parts.2 == stream);
        assert_eq!(updates.count(), 3, "{written:?}");
    }
}
