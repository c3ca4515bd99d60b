//! Every way to frame a response, and every check of it.

use abx_evidence::{ExpectedStatus, Outcome};

use crate::peers::peer::{Peer, wait_ms};
use crate::{HELLO, identity, load, outcomes, requests, run};

#[test]
fn every_framing_is_counted_to_the_byte() {
    // Method: the same response ten times on one connection; the counts of bytes and body bytes
    // must be exact multiples of those of the response.
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nTrailer: 1\r\n\r\n";
    let interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\
        HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let none = b"HTTP/1.1 204 No Content\r\n\r\n";
    let unchanged = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n";
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    let cases: [(&str, u16, &[u8], &[u8]); 6] = [
        ("GET", 200, HELLO, b"hello"),
        ("GET", 200, chunked, b"hello"),
        ("GET", 200, interim, b"hello"),
        ("GET", 204, none, b""),
        ("GET", 304, unchanged, b""),
        ("HEAD", 200, head, b""),
    ];
    for (method, status, response, body) in cases {
        let peer = Peer::responding(response);
        let mut plan = load(peer.address(), 1);
        plan.requests[0].request.method = method.to_owned();
        plan.requests[0].expect.status = ExpectedStatus::exactly(status);
        plan.requests[0].expect.body = Some(identity(body));
        let slice = run(1, &plan, &requests(10));

        assert_eq!(outcomes(&slice), [(Outcome::Ok, 10)], "{method} {status}");
        assert_eq!(slice.tally.bytes, 10 * response.len() as u64);
        assert_eq!(slice.tally.body_bytes, 10 * body.len() as u64);
        assert_eq!((slice.tally.hashed, slice.tally.connects), (10, 0));
        assert_eq!(peer.requests(), 10);
    }
}

#[test]
fn a_body_may_end_with_the_connection() {
    // Method: responses without a length and without chunks, each followed by a close. The pool's
    // first connection is made before the slice, the other nine in it.
    let response = b"HTTP/1.1 200 OK\r\n\r\nhello";
    let peer = Peer::start(|mut connection| {
        if connection.read_request() {
            connection.send(b"HTTP/1.1 200 OK\r\n\r\nhello");
        }
    });
    let slice = run(1, &load(peer.address(), 1), &requests(10));

    assert_eq!(outcomes(&slice), [(Outcome::Ok, 10)]);
    assert_eq!(slice.tally.bytes, 10 * response.len() as u64);
    assert_eq!(slice.tally.body_bytes, 50);
    assert_eq!(slice.tally.connects, 9);
}

#[test]
fn a_response_may_come_in_any_two_pieces() {
    // Method: one request for every place at which a chunked response can be split.
    let response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let peer = Peer::start(|mut connection| {
        for place in 1..response.len() {
            if connection.read_request() {
                connection.send_split(response, place);
            }
        }
        connection.hold();
    });
    let count = response.len() as u64 - 1;
    let slice = run(1, &load(peer.address(), 1), &requests(count));

    assert_eq!(outcomes(&slice), [(Outcome::Ok, count)]);
    assert_eq!(slice.tally.bytes, count * response.len() as u64);
    assert_eq!(slice.tally.body_bytes, count * 5);
}

#[test]
fn a_response_may_come_byte_by_byte() {
    // Method: a peer that sends each byte by one system call, with and without a pause in between.
    let peer = Peer::start(|mut connection| {
        for pause in [0, 1, 0] {
            if connection.read_request() {
                for byte in HELLO {
                    connection.send(&[*byte]);
                    wait_ms(pause);
                }
            }
        }
        connection.hold();
    });
    let slice = run(1, &load(peer.address(), 1), &requests(3));

    assert_eq!(outcomes(&slice), [(Outcome::Ok, 3)]);
    assert_eq!(slice.tally.bytes, 3 * HELLO.len() as u64);
}

#[test]
fn a_large_body_is_hashed_to_its_last_byte() {
    // Method: bodies of 5 MB, twenty times the receive buffer: a correct one, and one with a wrong
    // last byte.
    let mut body: Vec<u8> = (0..5_000_000_u32)
        .map(|place| (place % 251) as u8)
        .collect();
    let expected = identity(&body);
    for outcome in [Outcome::Ok, Outcome::WrongBody] {
        let mut response = b"HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n".to_vec();
        response.extend_from_slice(&body);
        let peer = Peer::responding(&response);
        let mut plan = load(peer.address(), 1);
        plan.requests[0].expect.body = Some(expected);
        let slice = run(1, &plan, &requests(2));

        assert_eq!(outcomes(&slice), [(outcome, 2)]);
        assert_eq!(slice.tally.body_bytes, 10_000_000);
        assert_eq!(slice.tally.bytes, 2 * response.len() as u64);
        body[4_999_999] ^= 1;
    }
}

#[test]
fn another_status_is_never_ok() {
    // Method: every other response is a 500 with the right body.
    let peer = Peer::start(|mut connection| {
        while connection.read_request() {
            connection.send(HELLO);
            if connection.read_request() {
                connection.send(b"HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nhello");
            }
        }
    });
    let slice = run(1, &load(peer.address(), 1), &requests(10));

    assert_eq!(
        outcomes(&slice),
        [(Outcome::Ok, 5), (Outcome::WrongStatus, 5)]
    );
    assert_eq!(slice.tally.outcomes.completed(), 10);
}

#[test]
fn another_length_is_never_ok() {
    // Method: a body that is too short, with nothing hashed.
    let peer = Peer::responding(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell");
    let mut plan = load(peer.address(), 1);
    plan.verify_every = 0;
    let slice = run(1, &plan, &requests(10));

    assert_eq!(outcomes(&slice), [(Outcome::WrongLength, 10)]);
    assert_eq!(slice.tally.hashed, 0);
}

#[test]
fn another_body_is_seen_as_often_as_bodies_are_hashed() {
    // Method: wrong bodies of the correct length, with every response hashed, one in a hundred, or
    // none.
    let peer = Peer::responding(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhallo");
    let mut plan = load(peer.address(), 2);
    let slice_tally = run(1, &plan, &requests(50));
    assert_eq!(outcomes(&slice_tally), [(Outcome::WrongBody, 50)]);

    plan.verify_every = 100;
    let some = run(1, &plan, &requests(2000));
    let hashed = some.tally.hashed;
    assert!((1..200).contains(&hashed), "{hashed} of 2000 hashed");
    assert_eq!(
        outcomes(&some),
        [(Outcome::Ok, 2000 - hashed), (Outcome::WrongBody, hashed)]
    );

    plan.requests[0].expect.body = None;
    plan.verify_every = 1;
    let none = run(1, &plan, &requests(50));
    assert_eq!(outcomes(&none), [(Outcome::Ok, 50)]);
    assert_eq!(none.tally.hashed, 0);
}

#[test]
fn bytes_that_are_not_http_are_malformed() {
    // Method: a correct response, then noise, on each connection.
    let peer = Peer::start(|mut connection| {
        if connection.read_request() {
            connection.send(HELLO);
        }
        if connection.read_request() {
            connection.send(b"220 mail.example ESMTP\r\n\r\n");
        }
        connection.hold();
    });
    let slice = run(1, &load(peer.address(), 1), &requests(10));

    assert_eq!(
        outcomes(&slice),
        [(Outcome::Ok, 5), (Outcome::Malformed, 5)]
    );
}
