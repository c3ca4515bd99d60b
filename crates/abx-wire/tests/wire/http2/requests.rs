//! The bytes that a client writes: the preface, heads, bodies as there is room for them.

use abx_wire::http1::RequestError;

use super::*;

#[test]
fn a_connection_begins_with_the_preface_and_our_settings() {
    // Method: the bytes themselves: no pushes, a room of 1 GiB for each stream and for all.
    let talk = Talk::open();
    let rest = talk
        .out
        .strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .unwrap();
    let room = (1_u32 << 30) - 1;
    let more = (room - 65_535).to_be_bytes();
    let expected = [
        settings(&[(2, 0), (4, room)]),
        frame(WINDOW_UPDATE, 0, 0, &more),
    ];
    assert_eq!(rest, expected.concat());
}

#[test]
fn a_request_is_written_with_the_static_table_only() {
    // Method: the bytes of two requests on one connection; the first declares that there is no
    // table, and both are literal (RFC 7541, section 6.2.2).
    let mut talk = Talk::begun(0);
    let mut request = request("GET", b"");
    request.headers = vec![
        ("X-A".to_owned(), "b".to_owned()),
        ("Host".to_owned(), "i".to_owned()),
    ];
    let request = EncodedRequest::of(&request, "https").unwrap();
    assert_eq!(talk.begin(&request), Some(1));
    assert_eq!(talk.begin(&request), Some(3));
    let agent = concat!("abx/", env!("CARGO_PKG_VERSION"));
    let mut block = vec![0x82, 0x87, 0x01, 1, b'i', 0x04, 2, b'/', b'a'];
    block.extend([0x0f, 58 - 15, u8::try_from(agent.len()).unwrap()]);
    block.extend(agent.bytes());
    block.extend([0x0f, 19 - 15, 3]);
    block.extend(b"*/*");
    block.extend(field("x-a", "b"));
    let first = [&[0x20][..], &block].concat();
    let expected = [head(1, END_STREAM, &first), head(3, END_STREAM, &block)];
    assert_eq!(talk.out, expected.concat());
}

#[test]
fn connection_headers_are_refused() {
    // Method: each of them, in different cases; and a target that is no path.
    for name in ["Connection", "keep-alive", "Proxy-Connection", "UPGRADE"] {
        let mut request = request("GET", b"");
        request.headers = vec![(name.to_owned(), "x".to_owned())];
        let error = EncodedRequest::of(&request, "http").unwrap_err();
        assert_eq!(error, RequestError::OfConnection(name.to_owned()));
    }
    let mut request = request("GET", b"");
    request.target = "http://h/".to_owned();
    let error = EncodedRequest::of(&request, "http").unwrap_err();
    assert_eq!(error, RequestError::Target("http://h/".to_owned()));
}

#[test]
fn a_body_is_sent_as_there_is_room_for_it() {
    // Method: 100,000 bytes with the default window of 65,535; then the window grows for the
    // connection alone, for the stream alone, and for the rest. The last frame ends the stream.
    let mut talk = Talk::begun(0);
    let body: Vec<u8> = (0..100_000).map(|index: u32| (index % 251) as u8).collect();
    let sent = |talk: &mut Talk| {
        let written = talk.written();
        let total: usize = written
            .iter()
            .filter(|parts| parts.0 == DATA)
            .map(|parts| parts.3)
            .sum();
        let ends = written
            .iter()
            .any(|parts| (parts.0, parts.1) == (DATA, END_STREAM));
        talk.out.clear();
        (total, ends)
    };
    talk.begin(&encoded("POST", &body));
    assert_eq!(sent(&mut talk), (65_535, false));
    let room = |stream, bytes: u32| frame(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes());
    talk.read(&room(0, 50_000));
    assert_eq!(sent(&mut talk), (0, false));
    talk.read(&room(1, 10));
    assert_eq!(sent(&mut talk), (10, false));
    talk.read(&room(1, 100_000));
    assert_eq!(sent(&mut talk), (34_455, true));
    assert_eq!(
        talk.read(&head(1, END_STREAM, OK)),
        "1 head 200\n1 done 200 0"
    );
    assert!(talk.out.is_empty());
}

#[test]
fn settings_change_the_room_of_open_streams() {
    // Method: less room than was used already makes it negative; more of it is counted from
    // there. Frames become longer when the server takes longer ones.
    let mut talk = Talk::begun(0);
    talk.read(&frame(WINDOW_UPDATE, 0, 0, &1_000_000_u32.to_be_bytes()));
    talk.begin(&encoded("POST", &[b'x'; 200_000]));
    talk.out.clear();
    talk.read(&settings(&[(4, 0)]));
    talk.read(&frame(WINDOW_UPDATE, 0, 1, &65_535_u32.to_be_bytes()));
    assert!(talk.written().iter().all(|parts| parts.0 == SETTINGS));
    talk.out.clear();
    talk.read(&settings(&[(4, 50_000), (5, 40_000)]));
    let data = |talk: &Talk| -> Vec<usize> {
        let parts = talk.written().into_iter();
        parts
            .filter(|parts| parts.0 == DATA)
            .map(|parts| parts.3)
            .collect()
    };
    assert_eq!(data(&talk), [40_000, 10_000]);
}

#[test]
fn an_early_response_ends_the_request() {
    // Method: half of a body is sent when the response is complete: the stream is cancelled, once,
    // and the next request has all the room of its own stream.
    let mut talk = Talk::begun(0);
    talk.begin(&encoded("POST", &[b'x'; 100_000]));
    talk.out.clear();
    assert_eq!(
        talk.read(&head(1, END_STREAM, OK)),
        "1 head 200\n1 done 200 0"
    );
    assert_eq!(talk.out, frame(RST_STREAM, 0, 1, &8_u32.to_be_bytes()));
    talk.out.clear();
    talk.read(&frame(WINDOW_UPDATE, 0, 0, &1_000_000_u32.to_be_bytes()));
    assert!(talk.out.is_empty());
    assert_eq!(talk.begin(&encoded("POST", b"body")), Some(3));
    assert_eq!(talk.written().last(), Some(&(DATA, END_STREAM, 3, 4)));
}

#[test]
fn no_more_streams_are_begun_than_the_server_allows() {
    // Method: two allowed, then three, then none while three are open.
    let mut talk = Talk::open();
    talk.read(&settings(&[(3, 2)]));
    let get = encoded("GET", b"");
    let begin = |talk: &mut Talk| talk.begin(&get);
    assert_eq!(
        [1, 2, 3].map(|_| begin(&mut talk)),
        [Some(1), Some(3), None]
    );
    talk.read(&settings(&[(3, 3)]));
    assert_eq!([1, 2].map(|_| begin(&mut talk)), [Some(5), None]);
    talk.read(&settings(&[(3, 0)]));
    talk.read(&head(3, END_STREAM, OK));
    assert_eq!(begin(&mut talk), None);
    talk.read(&settings(&[(3, 3)]));
    assert_eq!(begin(&mut talk), Some(7));
}
