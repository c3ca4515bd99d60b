//! Connects, echoes, ends, failures and closes.

use std::collections::HashSet;
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use abx_sys::{Received, RingEvent};

use super::peer::{echo, nobody, pattern, serve};
use super::{BOTH, Got, connect, options, pull, pull_until, ring, until};

#[test]
fn bytes_go_there_and_back_many_times() {
    // Method: 300 requests of growing length on one connection, echoed.
    for receiving in BOTH {
        let Some(mut ring) = ring(options(receiving)) else {
            return;
        };
        let (address, served) = serve(1, echo);
        connect(&mut ring, 1, address);
        for length in 1..300 {
            let bytes = pattern(7, length);
            let request = ring.register(bytes.clone());
            assert_eq!(ring.send(1, request, 0).unwrap(), length);
            assert_eq!(pull_until(&mut ring, 1, length as u64).bytes, bytes);
        }
        drop(ring);
        assert_eq!(served.join().unwrap(), [300 * 299 / 2]);
    }
}

#[test]
fn five_hundred_connections_get_their_own_answers() {
    // Method: all connect in one batch and send something of their own in three
    // rounds; more of them than entries, completions or buffers.
    for receiving in BOTH {
        let Some(mut ring) = ring(options(receiving)) else {
            return;
        };
        let (address, served) = serve(500, echo);
        for token in 0..500 {
            let source = format!("127.0.0.{}", 2 + token % 5).parse().unwrap();
            ring.connect(token, address, Some(source)).unwrap();
        }
        let mut standing = 0;
        until(&mut ring, |_, happening| {
            assert!(matches!(happening, RingEvent::Connected(_)));
            standing += 1;
            standing == 500
        });
        for round in 0..3 {
            let mut got: Vec<Got> = (0..500).map(|_| Got::default()).collect();
            for token in 0..500 {
                let request = ring.register(pattern(token * 31 + round, 200));
                assert_eq!(ring.send(token, request, 0).unwrap(), 200);
            }
            let mut whole = HashSet::new();
            until(&mut ring, |ring, happening| {
                let token = happening.token();
                let got = &mut got[usize::try_from(token).unwrap()];
                pull(ring, token, got);
                if got.bytes.len() >= 200 {
                    assert_eq!(got.bytes, pattern(token * 31 + round, 200));
                    whole.insert(token);
                }
                whole.len() == 500
            });
        }
        drop(ring);
        assert_eq!(served.join().unwrap(), [600; 500]);
    }
}

#[test]
fn the_peers_end_comes_after_its_bytes() {
    // Method: a peer that speaks first and closes at once.
    for receiving in BOTH {
        let Some(mut ring) = ring(options(receiving)) else {
            return;
        };
        let (address, served) = serve(1, |mut stream| {
            stream.write_all(b"goodbye").unwrap();
        });
        connect(&mut ring, 3, address);
        let got = pull_until(&mut ring, 3, u64::MAX);
        assert_eq!(got.bytes, b"goodbye");
        assert!(got.ended);
        assert!(matches!(ring.receive(3), Received::Ended));
        served.join().unwrap();
    }
}

#[test]
fn a_reset_is_a_failure() {
    // Method: a peer that closes with bytes unread, which the kernel answers with
    // a reset. A part of the bytes has been seen by the peer, so it cannot be early.
    for receiving in BOTH {
        let Some(mut ring) = ring(options(receiving)) else {
            return;
        };
        let (address, served) = serve(1, |mut stream| {
            stream.read_exact(&mut [0; 1]).unwrap();
        });
        connect(&mut ring, 3, address);
        let request = ring.register(vec![0; 1000]);
        ring.send(3, request, 0).unwrap();
        let got = pull_until(&mut ring, 3, u64::MAX);
        assert_eq!(got.failed, Some(ErrorKind::ConnectionReset));
        served.join().unwrap();
    }
}

#[test]
fn sends_after_the_peers_end_do_not_change_it() {
    // Method: the end is pulled, then ten sends, which the peer answers with a
    // reset and the kernel with an error.
    let Some(mut ring) = ring(options(BOTH[0])) else {
        return;
    };
    let (address, served) = serve(1, drop);
    connect(&mut ring, 3, address);
    served.join().unwrap();
    assert!(pull_until(&mut ring, 3, u64::MAX).ended);
    let request = ring.register(vec![0; 1000]);
    for _ in 0..10 {
        ring.send(3, request, 0).unwrap();
        let mut happenings = Vec::new();
        ring.wait(Some(abx_sys::Nanos(1_000_000)), &mut happenings)
            .unwrap();
    }
    assert!(matches!(ring.receive(3), Received::Ended));
}

#[test]
fn nobody_listening_is_refused_and_the_place_is_free_again() {
    // Method: the same token twice to a port that was bound a moment ago, then
    // its successor to a peer.
    let Some(mut ring) = ring(options(BOTH[0])) else {
        return;
    };
    let empty = nobody();
    for _ in 0..2 {
        ring.connect(5, empty, None).unwrap();
        until(&mut ring, |_, happening| match happening {
            RingEvent::Unconnected(5, error) => {
                assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
                true
            }
            other => panic!("{other:?}"),
        });
    }
    let (address, served) = serve(1, echo);
    connect(&mut ring, 5 | 1 << 32, address);
    drop(ring);
    served.join().unwrap();
}

#[test]
fn a_foreign_source_address_is_an_error_at_once() {
    // Method: an address of the documentation's range, which no machine has.
    let Some(mut ring) = ring(options(BOTH[0])) else {
        return;
    };
    let source = Some("192.0.2.1".parse().unwrap());
    let error = ring.connect(0, nobody(), source).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrNotAvailable);
    ring.connect(0, nobody(), None).unwrap();
}

#[test]
fn a_close_reaches_the_peer_whatever_is_under_way() {
    // Method: closes while a receive is armed and with a send in the same batch:
    // both peers must see their end. Before them a connect that is not handed in yet.
    for receiving in BOTH {
        let Some(mut ring) = ring(options(receiving)) else {
            return;
        };
        let idle = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        ring.connect(0, idle.local_addr().unwrap(), None).unwrap();
        ring.close(0);
        let (address, served) = serve(2, echo);
        connect(&mut ring, 1 << 32, address);
        ring.close(1 << 32);
        connect(&mut ring, 2 << 32, address);
        let request = ring.register(b"last words".to_vec());
        ring.send(2 << 32, request, 0).unwrap();
        ring.close(2 << 32);
        // The ends are seen while the ring lives: it is not its drop that closes.
        let mut happenings = Vec::new();
        let deadline = std::time::Instant::now() + super::PATIENCE;
        while !served.is_finished() {
            assert!(std::time::Instant::now() < deadline);
            ring.wait(Some(abx_sys::Nanos(1_000_000)), &mut happenings)
                .unwrap();
            assert!(happenings.is_empty(), "{happenings:?}");
        }
    }
}

#[test]
fn nothing_of_a_closed_connection_reaches_its_successor() {
    // Method: a peer that answers late; the connection is closed meanwhile and
    // its place taken by another, whose peer answers something else.
    for receiving in BOTH {
        let Some(mut ring) = ring(options(receiving)) else {
            return;
        };
        let (slow, slow_served) = serve(100, |mut stream| {
            let mut request = [0; 4];
            if stream.read_exact(&mut request).is_ok() {
                let _ = stream.write_all(b"LATE");
            }
        });
        let (address, served) = serve(100, echo);
        let request = ring.register(b"ping".to_vec());
        for generation in 0..100_u64 {
            let first = 7 | (2 * generation) << 32;
            connect(&mut ring, first, slow);
            ring.send(first, request, 0).unwrap();
            if generation % 2 == 0 {
                ring.flush().unwrap();
            }
            ring.close(first);
            let second = 7 | (2 * generation + 1) << 32;
            connect(&mut ring, second, address);
            ring.send(second, request, 0).unwrap();
            assert_eq!(pull_until(&mut ring, second, 4).bytes, b"ping");
            ring.close(second);
        }
        drop(ring);
        slow_served.join().unwrap();
        served.join().unwrap();
    }
}

/// Where a peer listens, the word that it reads after, and what it then has read.
type Listener = (SocketAddr, Sender<()>, JoinHandle<Vec<Vec<u8>>>);

/// A peer that reads so many bytes, but only after a word.
fn listener(count: usize) -> Listener {
    let (word, listens) = std::sync::mpsc::channel::<()>();
    let listens = Arc::new(Mutex::new(listens));
    let (address, served) = serve(1, move |mut stream| {
        let listens = listens.lock().unwrap();
        listens.recv_timeout(Duration::from_secs(30)).unwrap();
        let mut all = vec![0; count];
        stream.read_exact(&mut all).unwrap();
        all
    });
    (address, word, served)
}

#[test]
fn of_a_large_request_only_what_has_left_is_counted() {
    // Method: 10 MB to a peer that reads only after a word from here, so that the
    // socket takes a part; there is no word of more room before, and then all arrives.
    for receiving in BOTH {
        let Some(mut ring) = ring(options(receiving)) else {
            return;
        };
        let (address, word, served) = listener(10_000_000);
        connect(&mut ring, 0, address);
        let body = pattern(0, 10_000_000);
        let request = ring.register(body.clone());
        let mut sent = ring.send(0, request, 0).unwrap();
        assert!(0 < sent && sent < 10_000_000, "{sent}");
        assert_eq!(ring.send(0, request, sent).unwrap(), 0);
        let mut happenings = Vec::new();
        ring.wait(Some(abx_sys::Nanos(0)), &mut happenings).unwrap();
        assert!(happenings.is_empty(), "{happenings:?}");
        word.send(()).unwrap();
        until(&mut ring, |ring, happening| {
            assert!(matches!(happening, RingEvent::MaySend(0)), "{happening:?}");
            sent += ring.send(0, request, sent).unwrap();
            sent == 10_000_000
        });
        assert!(served.join().unwrap().pop().unwrap() == body);
    }
}

#[test]
fn a_small_request_that_does_not_fit_the_socket_is_sent_on() {
    // Method: requests of 16,000 bytes, taken whole, to a peer that reads only
    // after a word from here, until one is refused since the one before is not
    // done; behind the word all of them arrive, in order.
    const BYTES: usize = 16_000;
    const COUNT: usize = 1_000;
    for receiving in BOTH {
        let Some(mut ring) = ring(options(receiving)) else {
            return;
        };
        let (address, word, served) = listener(BYTES * COUNT);
        connect(&mut ring, 0, address);
        let body = pattern(0, BYTES);
        let request = ring.register(body.clone());
        let mut happenings = Vec::new();
        let mut sent = 0;
        while ring.send(0, request, 0).unwrap() == BYTES {
            sent += 1;
            assert!(sent < COUNT, "the socket takes everything");
            ring.wait(Some(abx_sys::Nanos(0)), &mut happenings).unwrap();
            assert!(happenings.is_empty(), "{happenings:?}");
        }
        word.send(()).unwrap();
        until(&mut ring, |ring, happening| {
            if matches!(happening, RingEvent::MaySend(0)) && sent < COUNT {
                assert_eq!(ring.send(0, request, 0).unwrap(), BYTES);
                sent += 1;
                // Asks for the next word.
                ring.send(0, request, 0).unwrap();
            }
            matches!(happening, RingEvent::Receivable(0))
        });
        let all = served.join().unwrap().pop().unwrap();
        assert!(all.chunks(BYTES).all(|one| one == body));
    }
}

#[test]
fn a_second_send_in_a_batch_waits_for_the_next() {
    // Method: two sends without a wait between them; the second follows the word.
    let Some(mut ring) = ring(options(BOTH[0])) else {
        return;
    };
    let (address, served) = serve(1, echo);
    connect(&mut ring, 0, address);
    let request = ring.register(b"once".to_vec());
    assert_eq!(ring.send(0, request, 0).unwrap(), 4);
    assert_eq!(ring.send(0, request, 0).unwrap(), 0);
    until(&mut ring, |_, happening| {
        matches!(happening, RingEvent::MaySend(0))
    });
    assert_eq!(ring.send(0, request, 2).unwrap(), 2);
    assert_eq!(pull_until(&mut ring, 0, 6).bytes, b"oncece");
    drop(ring);
    served.join().unwrap();
}
