//! How many requests are sent, over which connections, and which of them count.

use std::net::IpAddr;

use abx_engine::SlicePlan;
use abx_evidence::{Outcome, Wait};

use crate::peers::peer::{Peer, wait_ms};
use crate::{HELLO, engine_that_waits, identity, load, outcomes, requests, run, span_ms, until};

#[test]
fn exactly_the_requested_number_of_requests_is_sent() {
    // Method: more and fewer requests than connections, and more threads than connections. The peer
    // counts the requests, too.
    for (threads, connections, count) in [
        (1, 1, 1),
        (1, 10, 3),
        (2, 3, 100),
        (3, 10, 101),
        (3, 4, 2),
        (4, 2, 10),
        (4, 1, 7),
    ] {
        let peer = Peer::responding(HELLO);
        let slice = run(
            threads,
            &load(peer.address(), connections),
            &requests(count),
        );

        let case = format!("{threads} threads, {connections} connections, {count} requests");
        assert_eq!(outcomes(&slice), [(Outcome::Ok, count)], "{case}");
        assert_eq!(peer.requests() as u64, count, "{case}");
        until("the last connection", || {
            peer.connections() == connections as usize
        });
        assert_eq!(slice.tally.times.response.count(), count, "{case}");
        assert_eq!(slice.tally.times.service.count(), count, "{case}");
        assert!(!slice.stopped_responding, "{case}");
        let silent = u64::from(connections).saturating_sub(count);
        assert!(slice.tally.silent >= silent, "{case}");
    }
}

#[test]
fn without_keep_alive_every_request_has_a_separate_connection() {
    // Method: a peer that closes after its response, and one that leaves the close to the client.
    let closing = Peer::start(|mut connection| {
        if connection.read_request() {
            connection.send(HELLO);
        }
    });
    let waiting = Peer::start(|mut connection| {
        if connection.read_request() {
            connection.send(HELLO);
        }
        connection.hold();
    });
    for peer in [closing, waiting] {
        let mut plan = load(peer.address(), 3);
        plan.keep_alive = false;
        let slice = run(2, &plan, &requests(60));

        assert_eq!(outcomes(&slice), [(Outcome::Ok, 60)]);
        assert_eq!(slice.tally.connects, 60);
        assert_eq!((peer.connections(), peer.requests()), (60, 60));
    }
}

#[test]
fn a_response_that_ends_its_connection_costs_a_new_one() {
    // Method: a client that would keep the connection, and a response with `Connection: close`.
    let peer =
        Peer::responding(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello");
    let slice = run(1, &load(peer.address(), 1), &requests(10));

    assert_eq!(outcomes(&slice), [(Outcome::Ok, 10)]);
    assert_eq!((slice.tally.connects, peer.connections()), (9, 10));
}

#[test]
fn requests_in_the_discarded_part_do_not_count() {
    // Method: discard more than the slice; then discard a part with at least the first request of
    // each connection.
    let peer = Peer::responding(HELLO);
    let mut slice_plan = requests(20);
    slice_plan.discard_ns = 3_600_000_000_000;
    let slice = run(1, &load(peer.address(), 2), &slice_plan);
    assert_eq!(peer.requests(), 20);
    assert_eq!(outcomes(&slice), []);
    assert_eq!(slice.tally.bytes + slice.tally.connection_ns, 0);
    assert_eq!((slice.tally.silent, slice.measured_ns), (2, 0));

    let peer = Peer::start(|mut connection| {
        while connection.read_request() {
            wait_ms(2);
            connection.send(HELLO);
        }
    });
    let slice = run(1, &load(peer.address(), 2), &span_ms(600, 500));
    let sent = slice.tally.outcomes.sent();
    assert_eq!(slice.tally.outcomes.ok(), sent);
    assert!(peer.requests() as u64 > sent);
    assert_eq!(slice.tally.bytes, sent * HELLO.len() as u64);
    assert!(slice.measured_ns < slice.wall_ns);
}

#[test]
fn waiting_awake_is_counted_separately() {
    // Method: the same load with both kinds of wait; a peer on another thread responds to some of
    // a thousand requests later than at the first poll.
    let peer = Peer::responding(HELLO);
    let slice = |wait| {
        let mut engine = engine_that_waits(1, wait);
        let (pool, _) = engine.open(&load(peer.address(), 2)).unwrap();
        engine.slice(pool, &requests(1_000)).unwrap()
    };
    let (awake, asleep) = (slice(Wait::Awake), slice(Wait::Asleep));
    for slice in [&awake, &asleep] {
        assert_eq!(outcomes(slice), [(Outcome::Ok, 1_000)]);
        assert_eq!(slice.busiest_worker_ns, slice.generator_cpu_ns);
    }
    assert!(awake.waiting_awake_ns > 0 && awake.generator_cpu_ns > 0);
    assert_eq!(asleep.waiting_awake_ns, 0);
}

#[test]
fn connections_come_from_the_given_addresses_in_turn() {
    // Method: three addresses, and seven connections of two threads.
    let peer = Peer::responding(HELLO);
    let mut plan = load(peer.address(), 7);
    plan.sources = ["127.0.0.2", "127.0.0.3", "127.0.0.4"]
        .map(|text| text.parse::<IpAddr>().unwrap())
        .to_vec();
    let slice = run(2, &plan, &requests(70));

    assert_eq!(outcomes(&slice), [(Outcome::Ok, 70)]);
    let seen = peer.sources();
    let counts: Vec<usize> = plan
        .sources
        .iter()
        .map(|source| seen.iter().filter(|ip_addr| *ip_addr == source).count())
        .collect();
    assert_eq!(counts, [3, 2, 2]);
}

#[test]
fn a_request_larger_than_every_buffer_is_sent_whole() {
    // Method: 16 MB, which is more than the kernel's largest send and receive buffers together, to
    // a peer that lets the buffers fill up before it reads.
    let body: Vec<u8> = (0..16_000_000_u32)
        .map(|place| (place % 249) as u8)
        .collect();
    let expected = body.clone();
    let peer = Peer::start(move |mut connection| {
        loop {
            wait_ms(20);
            match connection.read_body() {
                Some(received) if received == expected => connection.send(HELLO),
                Some(_) => connection.send(b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n"),
                None => return,
            }
        }
    });
    let mut plan = load(peer.address(), 1);
    plan.requests[0].request.method = "POST".to_owned();
    plan.requests[0].request.body = body;
    let slice = run(1, &plan, &requests(2));

    assert_eq!(outcomes(&slice), [(Outcome::Ok, 2)]);
    assert_eq!((slice.tally.connects, peer.requests()), (0, 2));
}

#[test]
fn throughput_never_exceeds_what_the_responses_delay_allows() {
    // Method: Little's law. Ten connections and 5 ms per response allow 2000 responses per second,
    // plus 1 % for rounding.
    let peer = Peer::start(|mut connection| {
        while connection.read_request() {
            wait_ms(5);
            connection.send(HELLO);
        }
    });
    let plan = SlicePlan {
        discard_ns: 20_000_000,
        ..requests(400)
    };
    let slice = run(2, &load(peer.address(), 10), &plan);

    let ok = slice.tally.outcomes.ok();
    assert!(ok > 0);
    let throughput = 10.0 * ok as f64 / (slice.tally.connection_ns as f64 / 1e9);
    assert!(throughput <= 1.01 * 2000.0, "{throughput} per second");
}

#[test]
fn a_mix_of_requests_is_sent_by_weight_and_checked_one_by_one() {
    // Method: a GET and a POST with weights 1 and 3. The peer responds to the POST, which has a
    // body, with `other`, so a response to the wrong request would be incorrect.
    let peer = Peer::start(|mut connection| {
        while let Some(body) = connection.read_body() {
            connection.send(if body.is_empty() {
                HELLO
            } else {
                b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nanother"
            });
        }
    });
    let mut plan = load(peer.address(), 4);
    let mut post = plan.requests[0].clone();
    post.request.method = "POST".to_owned();
    post.request.body = b"x".to_vec();
    post.expect.body = Some(identity(b"another"));
    post.weight = 3;
    plan.requests.push(post);

    let slice = run(2, &plan, &requests(4_000));
    assert_eq!(outcomes(&slice), [(Outcome::Ok, 4_000)]);
    // 5 bytes for each GET and 7 for each POST.
    let posts = (slice.tally.body_bytes - 5 * 4_000) / 2;
    assert!((2_800..3_200).contains(&posts), "{posts}");
}
