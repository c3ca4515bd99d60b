//! One request outside of any load.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use abx_engine::{Patience, ProbeError, Response, Stopper, probe};

use crate::peers::peer::Peer;
use crate::{HELLO, NOBODY, identity, load};

fn get(address: SocketAddr) -> Result<Response, ProbeError> {
    probe(
        address,
        None,
        &load(address, 1).requests[0].request,
        Duration::from_secs(30),
    )
}

#[test]
fn a_whole_response_is_known_by_its_hashes() {
    // Method: every way to end a body gives the same identity, and the SHA-256 of
    // `printf hello | sha256sum`.
    let responses: [&[u8]; 3] = [
        HELLO,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\nhello",
    ];
    for response in responses {
        let peer = Peer::start(move |mut connection| {
            if connection.read_request() {
                connection.send_split(response, 20);
            }
        });
        let response = get(peer.address()).unwrap();
        assert_eq!(response.status, 200);
        assert_eq!(response.body, identity(b"hello"));
        assert_eq!(
            response.sha256,
            "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
        );
    }
}

#[test]
fn a_connect_without_a_listener_is_refused() {
    // Method: an address without a listener.
    assert!(matches!(get(NOBODY), Err(ProbeError::Refused)));
}

#[test]
fn no_response_in_time_is_a_timeout() {
    // Method: a listener that never reads, and a response that never ends.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let endless = Peer::start(|mut connection| {
        connection.read_request();
        connection.send(&HELLO[..HELLO.len() - 1]);
        connection.hold();
    });
    let limit = Duration::from_millis(100);
    for address in [silent.local_addr().unwrap(), endless.address()] {
        let response = probe(address, None, &load(address, 1).requests[0].request, limit);
        assert!(matches!(response, Err(ProbeError::Timeout(span)) if span == limit));
    }
}

#[test]
fn a_stop_ends_the_wait_for_a_response() {
    // Method: a listener that never reads; the stop comes once there is a connection.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let stopper = Stopper::default();
    let request = &load(address, 1).requests[0].request;
    let ask = || {
        let patience = Patience {
            timeout: Duration::from_secs(60),
            stopper: Some(&stopper),
            on_wait: None,
        };
        probe(address, None, request, patience)
    };
    std::thread::scope(|scope| {
        let asks = scope.spawn(ask);
        let _connection = silent.accept().unwrap();
        stopper.stop();
        let response = asks.join().unwrap();
        assert!(matches!(response, Err(ProbeError::Stopped)), "{response:?}");
    });
}

#[test]
fn a_reset_breaks_the_connection() {
    // Method: half a response, then a reset.
    let peer = Peer::start(|mut connection| {
        connection.read_request();
        connection.send(&HELLO[..20]);
        connection.reset();
    });
    let response = get(peer.address());
    assert!(
        matches!(response, Err(ProbeError::Broken(_))),
        "{response:?}"
    );
}

#[test]
fn an_incomplete_response_is_a_fault() {
    // Method: nothing, a part of a head, a part of a body, and noise, each followed by a close.
    let responses: [&[u8]; 4] = [b"", &HELLO[..10], &HELLO[..HELLO.len() - 1], b"SSH-2.0\r\n"];
    for response in responses {
        let peer = Peer::start(move |mut connection| {
            connection.read_request();
            connection.send(response);
        });
        let response = get(peer.address());
        assert!(
            matches!(response, Err(ProbeError::Fault(_))),
            "{response:?}"
        );
    }
}

#[test]
fn a_request_that_cannot_be_written_is_not_sent() {
    // Method: a header with a line end in its value.
    let peer = Peer::responding(HELLO);
    let mut request = load(peer.address(), 1).requests[0].request.clone();
    request.headers = vec![("A".to_owned(), "b\r\nC: d".to_owned())];
    let response = probe(peer.address(), None, &request, Duration::from_secs(30));
    assert!(matches!(response, Err(ProbeError::Request(_))));
    assert_eq!(peer.connections(), 0);
}
