//! Several requests in flight on each connection.

use abx_engine::{EngineError, LoadPlan};
use abx_evidence::Outcome;

use crate::peers::peer::{Connection, Peer};
use crate::{HELLO, NOBODY, engine, identity, load, outcomes, requests, run};

const LAST: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";

fn deep(peer: &Peer, connections: u32, depth: u32) -> LoadPlan {
    let mut plan = load(peer.address(), connections);
    plan.pipeline = depth;
    plan
}

/// Reads this many requests; `false` if they do not come.
fn read(connection: &mut Connection, count: usize) -> bool {
    (0..count).all(|_| connection.read_request())
}

#[test]
fn a_whole_window_is_in_flight_at_first_and_more_than_half_afterwards() {
    // Method: a peer that responds only after it has read a full window. From then on it responds
    // to half of it one by one, and waits until it has read one request more than half, byte by
    // byte. With fewer requests in flight no response would ever come.
    for depth in [2, 16] {
        let (window, half) = (depth as usize, depth as usize / 2);
        let peer = Peer::start(move |mut connection| {
            if read(&mut connection, window) {
                connection.send(&HELLO.repeat(window));
            }
            loop {
                for _ in 0..half {
                    if !read(&mut connection, 1) {
                        return;
                    }
                    connection.send(HELLO);
                }
                if read(&mut connection, half + 1) {
                    for byte in HELLO.repeat(half) {
                        connection.send(&[byte]);
                    }
                    connection.send(HELLO);
                }
            }
        });
        // One connection per thread, whose last requests are those that the peer waits for.
        let count = 3 * (window + 40 * (half + half + 1)) as u64;
        let slice = run(3, &deep(&peer, 3, depth), &requests(count));

        assert_eq!(outcomes(&slice), [(Outcome::Ok, count)], "depth {depth}");
        assert_eq!((peer.requests() as u64, peer.connections()), (count, 3));
        assert_eq!(slice.tally.bytes, count * HELLO.len() as u64);
        assert_eq!((slice.tally.hashed, slice.tally.connects), (count, 0));
        assert_eq!(slice.tally.times.response.count(), count);
    }
}

#[test]
fn each_response_is_checked_by_its_own_request() {
    // Method: a GET and a POST with weights 1 and 3 and different responses, sixteen in flight. A
    // response to the wrong request would be incorrect.
    let peer = Peer::start(|mut connection| {
        while let Some(body) = connection.read_body() {
            connection.send(if body.is_empty() {
                HELLO
            } else {
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nanother\r\n0\r\n\r\n"
            });
        }
    });
    let mut plan = deep(&peer, 4, 16);
    let mut post = plan.requests[0].clone();
    post.request.method = "POST".to_owned();
    post.request.body = b"x".to_vec();
    post.expect.body = Some(identity(b"another"));
    post.weight = 3;
    plan.requests.push(post);

    let slice = run(2, &plan, &requests(4_000));
    assert_eq!(outcomes(&slice), [(Outcome::Ok, 4_000)]);
    assert_eq!(slice.tally.hashed, 4_000);
    let posts = (slice.tally.body_bytes - 5 * 4_000) / 2;
    assert!((2_800..3_200).contains(&posts), "{posts}");
}

#[test]
fn large_requests_and_responses_stay_apart() {
    // Method: eight requests of 3 MB in flight, more than any buffer holds, and responses of
    // 100 kB, which are skipped or hashed.
    let body: Vec<u8> = (0..100_000_u32).map(|place| (place % 251) as u8).collect();
    let upload: Vec<u8> = (0..3_000_000_u32)
        .map(|place| (place % 249) as u8)
        .collect();
    let mut response = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n".to_vec();
    response.extend_from_slice(&body);
    let (reply, expected) = (response.clone(), upload.clone());
    let peer = Peer::start(move |mut connection| {
        while let Some(received) = connection.read_body() {
            if received == expected {
                connection.send(&reply)
            } else {
                connection.send(b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n")
            }
        }
    });
    let mut plan = deep(&peer, 1, 8);
    plan.requests[0].request.method = "POST".to_owned();
    plan.requests[0].request.body = upload;
    plan.requests[0].expect.body = Some(identity(&body));
    plan.verify_every = 2;
    let slice = run(1, &plan, &requests(20));

    assert_eq!(outcomes(&slice), [(Outcome::Ok, 20)]);
    assert_eq!(slice.tally.bytes, 20 * response.len() as u64);
    assert_eq!((peer.requests(), peer.connections()), (20, 1));
}

#[test]
fn requests_after_an_announced_close_do_not_fail() {
    // Method: a peer that reads four requests on each connection, sends two responses, the second
    // with `Connection: close`, and leaves the close to the client.
    let peer = Peer::start(|mut connection| {
        // The last connection of the load has two requests only.
        let count = if connection.number() < 19 { 4 } else { 2 };
        if read(&mut connection, count) {
            connection.send(&[HELLO, LAST].concat());
        }
        connection.hold();
    });
    let slice = run(1, &deep(&peer, 1, 4), &requests(40));

    assert_eq!(
        outcomes(&slice),
        [(Outcome::Ok, 40), (Outcome::IdleClose, 19 * 2)]
    );
    assert_eq!((slice.tally.connects, peer.connections()), (19, 20));
}

#[test]
fn requests_after_a_silent_close_are_sent_once_more() {
    // Method: a peer that reads all requests on a connection, sends one response, and closes
    // without notice. No later request goes out a third time.
    let peer = Peer::start(|mut connection| {
        let count = if connection.number() == 0 { 4 } else { 3 };
        if read(&mut connection, count) {
            connection.send(HELLO);
        }
    });
    let slice = run(1, &deep(&peer, 1, 4), &requests(4));

    assert_eq!(
        outcomes(&slice),
        [
            (Outcome::Ok, 2),
            (Outcome::EarlyClose, 2),
            (Outcome::IdleClose, 3)
        ]
    );
    assert_eq!(peer.requests(), 7);
}

#[test]
fn a_plan_has_one_request_in_flight_by_default_and_never_none() {
    // Method: the JSON of a plan without the key, and a plan with zero requests in flight.
    let plan = load(NOBODY, 1);
    let mut json = serde_json::to_value(&plan).unwrap();
    json.as_object_mut().unwrap().remove("pipeline").unwrap();
    let mut read: LoadPlan = serde_json::from_value(json).unwrap();
    assert_eq!(read, plan);
    assert_eq!(read.pipeline, 1);
    read.pipeline = 0;
    let none = engine(1).open(&read);
    let what = "requests in flight";
    assert!(matches!(none, Err(EngineError::Zero { what: zero }) if zero == what));
}
