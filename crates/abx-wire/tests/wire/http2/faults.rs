//! Responses and connections that break a rule.

use abx_wire::http2::UNREAD_REPLIES_BYTES_MAX;

use super::*;

type Case = (Vec<u8>, &'static str);

/// Invalid heads, and streams that are reset.
fn wrong_heads() -> Vec<Case> {
    let with = |fields: &[Vec<u8>]| head(1, 0, &[OK, &fields.concat()].concat());
    vec![
        (
            frame(RST_STREAM, 0, 1, &[0, 0, 0, 7]),
            "the server reset the stream: REFUSED_STREAM",
        ),
        (
            frame(RST_STREAM, 0, 1, &[1, 0, 0, 0]),
            "the server reset the stream: an unknown code",
        ),
        (head(1, 0, &field("a", "b")), "a head has no status"),
        (
            head(1, 0, &field(":status", "20")),
            "a status is not a number of three digits",
        ),
        (
            head(1, 0, &field(":status", "+20")),
            "a status is not a number of three digits",
        ),
        (
            with(&[field(":status", "200")]),
            "a head has a pseudo-header field other than :status",
        ),
        (
            with(&[field("Server", "s")]),
            "a field's name is not a lower-case token",
        ),
        (
            with(&[field("a b", "s")]),
            "a field's name is not a lower-case token",
        ),
        (
            with(&[field("a", "b\nc")]),
            "a field's value contains a line break or a NUL",
        ),
        (
            with(&[field("connection", "close")]),
            "a field is connection-specific, which HTTP/2 forbids",
        ),
        (
            with(&[field("content-length", "5"), field("content-length", "6")]),
            "content-length is not a number, or several values differ",
        ),
        (
            with(&[field("content-length", "+5")]),
            "content-length is not a number, or several values differ",
        ),
    ]
}

/// Bodies and trailers that contradict their heads, and too many heads.
fn wrong_bodies() -> Vec<Case> {
    vec![
        (
            [head(1, 0, OK_5), data(1, 0, b"hello!")].concat(),
            "a body is longer than its content-length",
        ),
        (
            [head(1, 0, OK_5), data(1, END_STREAM, b"hell")].concat(),
            "a body is shorter than its content-length",
        ),
        (
            head(1, END_STREAM, OK_5),
            "a body is shorter than its content-length",
        ),
        (
            [head(1, 0, &[0x89]), data(1, 0, b"x")].concat(),
            "a response has a body where none is allowed",
        ),
        (data(1, 0, b"x"), "a body comes before its head"),
        (
            [head(1, 0, OK), head(1, 0, OK)].concat(),
            "a trailer has a pseudo-header field",
        ),
        (
            [head(1, 0, OK), head(1, 0, &field("a", "b"))].concat(),
            "a second head came that does not end the response",
        ),
        (
            head(1, END_STREAM, &field(":status", "100")),
            "an interim response (1xx) ends the stream",
        ),
        (
            head(1, 0, &field(":status", "101")),
            "an interim response (1xx) ends the stream",
        ),
        (
            head(1, 0, &field(":status", "100")).repeat(33),
            "more than 32 interim responses (1xx) came",
        ),
        (
            frame(WINDOW_UPDATE, 0, 1, &[0; 4]),
            "a WINDOW_UPDATE has an increment of 0 or exceeds the window limit",
        ),
    ]
}

#[test]
fn a_wrong_response_fails_only_its_own_stream() {
    // Method: each wrong response on the first of two streams; its stream is reset unless the
    // server did that, and the other gets its response.
    for (bytes, why) in wrong_heads().iter().chain(&wrong_bodies()) {
        let mut talk = Talk::begun(2);
        let message = talk.read(bytes);
        let last = message.lines().last().unwrap_or_default();
        assert!(last.starts_with("1 failed: "), "{why}: {message}");
        assert!(last.ends_with(why), "{why}: {message}");
        let resets = usize::from(!why.contains("the server reset"));
        let written = talk.written();
        let ours = written.iter().filter(|parts| parts.0 == RST_STREAM);
        assert_eq!(ours.count(), resets, "{why}");
        // Frames that were under way when we gave the stream up are skipped.
        if resets > 0 {
            assert_eq!(talk.read(&data(1, END_STREAM, b"late")), "", "{why}");
        }
        assert_eq!(
            talk.read(&head(3, END_STREAM, OK)),
            "3 head 200\n3 done 200 0",
            "{why}"
        );
    }
}

/// Frames that are wrong by themselves.
fn wrong_frames() -> Vec<Case> {
    vec![
        (frame(PING, 0, 0, &[0; 9]), "a frame has a wrong length"),
        (
            vec![0, 0x40, 1, 0, 0, 0, 0, 0, 1],
            "a frame has a wrong length",
        ),
        (frame(SETTINGS, 0, 0, &[0; 5]), "a frame has a wrong length"),
        (frame(SETTINGS, 1, 0, &[0; 6]), "a frame has a wrong length"),
        (
            frame(RST_STREAM, 0, 1, &[0; 3]),
            "a frame has a wrong length",
        ),
        (frame(GOAWAY, 0, 0, &[0; 7]), "a frame has a wrong length"),
        (frame(DATA, PADDED, 1, b""), "a frame has a wrong length"),
        (frame(2, 0, 1, &[0; 4]), "a frame has a wrong length"),
        (settings(&[(4, 1 << 31)]), "flow control was violated"),
        (
            frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff]),
            "flow control was violated",
        ),
        (
            frame(WINDOW_UPDATE, 0, 0, &[0; 4]),
            "flow control was violated",
        ),
        (
            settings(&[(5, 16_383)]),
            "SETTINGS_MAX_FRAME_SIZE is out of range",
        ),
        (settings(&[(2, 1)]), "a server sent SETTINGS_ENABLE_PUSH 1"),
        (
            frame(SETTINGS, 0, 1, b""),
            "a connection-level frame has a stream identifier other than 0",
        ),
        (
            frame(PING, 0, 1, &[0; 8]),
            "a connection-level frame has a stream identifier other than 0",
        ),
    ]
}

/// Frames that are wrong in their place.
fn wrong_places() -> Vec<Case> {
    let none = "a frame is on a stream that was never opened";
    vec![
        (head(5, 0, OK), none),
        (head(2, 0, OK), none),
        (data(0, 0, b"x"), none),
        (frame(RST_STREAM, 0, 7, &[0; 4]), none),
        (
            [head(1, END_STREAM, OK), data(1, 0, b"x")].concat(),
            "a response continues after its end",
        ),
        (
            frame(5, END_HEADERS, 1, &[0, 0, 0, 2]),
            "a PUSH_PROMISE came, which abx forbids",
        ),
        (
            frame(CONTINUATION, END_HEADERS, 1, OK),
            "a CONTINUATION frame continues no header block",
        ),
        (
            [frame(HEADERS, 0, 1, OK), data(1, 0, b"x")].concat(),
            "a header block is interrupted",
        ),
        (
            [
                frame(HEADERS, 0, 1, OK),
                frame(CONTINUATION, END_HEADERS, 3, b""),
            ]
            .concat(),
            "a header block is interrupted",
        ),
        (
            head(1, PADDED, &[9, 0x88]),
            "padding is longer than its frame",
        ),
        (
            frame(DATA, PADDED, 1, &[9, 0]),
            "padding is longer than its frame",
        ),
        (head(1, 0, &[0x80]), "a header block cannot be decompressed"),
        (head(1, 0, &[0xff]), "a header block cannot be decompressed"),
    ]
}

#[test]
fn a_broken_connection_is_reported_once_with_its_reason() {
    // Method: each fault after the settings and two requests; afterwards nothing is read.
    for (bytes, why) in wrong_frames().iter().chain(&wrong_places()) {
        let mut talk = Talk::begun(2);
        let message = talk.read(bytes);
        assert_eq!(
            message.lines().last(),
            Some(format!("failed: {why}").as_str())
        );
        assert_eq!(
            talk.written().last().map(|parts| parts.0),
            Some(GOAWAY),
            "{why}"
        );
        assert_eq!(talk.read(&head(1, 0, OK)), "", "{why}");
    }
}

#[test]
fn other_protocols_are_recognized_by_their_first_byte() {
    // Method: how servers of HTTP/1 and TLS respond to a preface, by one byte and more; and
    // frames that do not begin with settings.
    let first = |bytes: &[u8]| Talk::open().read(bytes);
    for bytes in [&b"H"[..], b"HTTP/1.1 400 Bad Request\r\n\r\n"] {
        assert!(
            first(bytes).contains("it is HTTP/1, not HTTP/2"),
            "{}",
            first(bytes)
        );
    }
    assert!(first(&[0x15, 3, 1, 0, 2, 2, 22]).contains("it is TLS, not HTTP/2"));
    let not = "failed: the server did not begin with a SETTINGS frame";
    assert_eq!(first(&frame(PING, 0, 0, &[0; 8])), not);
    assert_eq!(first(&frame(SETTINGS, 1, 0, b"")), not);
    assert_eq!(
        first(b"<html></html>"),
        "failed: a frame has a wrong length"
    );
}

#[test]
fn floods_end_the_connection() {
    // Method: more of each frame that a peer may repeat than allowed: pings, settings, empty parts
    // of a body, unknown frames, window updates, and a header block without end.
    let begun = [settings(&[]), head(1, 0, OK)].concat();
    let floods = [
        frame(PING, 1, 0, &[0; 8]),
        frame(PING, 0, 0, &[0; 8]),
        settings(&[]),
        data(1, 0, b""),
        frame(0xfa, 0, 0, b"x"),
        frame(2, 0, 1, &[0; 5]),
        frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]),
        frame(GOAWAY, 0, 0, &[0; 8]),
    ];
    for bytes in floods {
        let mut talk = Talk::open();
        talk.begin(&encoded("GET", b""));
        talk.read(&begun);
        let message = talk.read(&bytes.repeat(10_001));
        assert!(
            message.ends_with("failed: 10,000 frames came that belong to no request or response"),
            "{bytes:?}"
        );
    }
    let too_large = "a head is longer than 256 KiB or has more than 256 header fields";
    let mut talk = Talk::begun(1);
    talk.read(&frame(HEADERS, 0, 1, OK));
    let message = talk.read(&frame(CONTINUATION, 0, 1, &[0; 16_384]).repeat(17));
    assert_eq!(message, format!("failed: {too_large}"));
    let mut talk = Talk::begun(1);
    talk.read(&frame(HEADERS, 0, 1, OK));
    let message = talk.read(&frame(CONTINUATION, 0, 1, b"").repeat(10_001));
    assert_eq!(
        message,
        "failed: 10,000 frames came that belong to no request or response"
    );
}

#[test]
fn replies_that_the_peer_does_not_read_end_the_connection() {
    // Method: pings and settings between parts of a body, so that they are no flood. Any number
    // of replies may be sent; unsent ones reach 1 MiB and end the connection.
    for quiet in [frame(PING, 0, 0, &[0; 8]), settings(&[])] {
        let round = [quiet.repeat(1_000), data(1, 0, b"x")].concat();
        let mut reading = Talk::begun(1);
        reading.read(&head(1, 0, OK));
        for _ in 0..200 {
            assert_eq!(reading.read(&round), "1 body x");
            reading.out.clear();
        }
        let mut deaf = Talk::begun(1);
        deaf.read(&head(1, 0, OK));
        let last = (0..200)
            .map(|_| deaf.read(&round))
            .find(|message| message.contains("failed"));
        let last = last.expect("the replies pile up");
        assert!(last.contains("it reads none of them"), "{last}");
        assert!(
            deaf.out.len() < UNREAD_REPLIES_BYTES_MAX + 100,
            "{}",
            deaf.out.len()
        );
    }
}

#[test]
fn responses_make_up_for_quiet_frames() {
    // Method: 9,000 pings before each of five responses are no flood.
    let mut talk = Talk::begun(5);
    for stream in [1, 3, 5, 7, 9] {
        talk.read(&frame(PING, 1, 0, &[0; 8]).repeat(9_000));
        let message = talk.read(&head(stream, END_STREAM, OK));
        assert!(message.ends_with("done 200 0"), "{message}");
    }
}
