//! `FileRing` against blocking peers of the standard library, on loopback.
//!
//! If the machine forbids io_uring, the tests check nothing and pass.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use abx_sys::{Delivery, FilePart, FileRing, RingError, Sent, Socket};

/// Long enough for a busy machine; only a failing test waits this long.
const PATIENCE: Duration = Duration::from_secs(30);

fn ring() -> Option<FileRing> {
    match FileRing::new() {
        Ok(ring) => Some(ring),
        Err(RingError::Forbidden | RingError::Absent) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Our end of a connection, and a peer that blocks.
fn pair() -> (Arc<Socket>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = Socket::connect(listener.local_addr().unwrap().into(), None).unwrap();
    let (peer, _) = listener.accept().unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    (Arc::new(socket), peer)
}

/// Bytes that do not repeat within 251 positions, so that a shift shows.
fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|index| (index * 31 % 251) as u8).collect()
}

fn part(content: &[u8], offset: u64, left: u64) -> FilePart {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content).unwrap();
    FilePart {
        file: file.into(),
        offset,
        left,
    }
}

/// Advances the ring until it reports deliveries.
fn next_deliveries(ring: &mut FileRing) -> Vec<Delivery> {
    let deadline = Instant::now() + PATIENCE;
    let mut deliveries = Vec::new();
    while deliveries.is_empty() {
        ring.advance(&mut deliveries).unwrap();
        assert!(Instant::now() < deadline, "nothing was delivered");
    }
    deliveries
}

#[test]
fn a_part_of_a_file_is_sent_after_its_head() {
    // Method: lengths around the size of a piece, from an offset, with a head. The peer gets the
    // head and exactly that part; the buffer comes back empty.
    let Some(mut ring) = ring() else { return };
    for (number, left) in [1, 4_095, 65_536, 65_537, 300_000].into_iter().enumerate() {
        let (socket, mut peer) = pair();
        let content = pattern(left + 100);
        let reader = std::thread::spawn(move || {
            let mut bytes = vec![0; 4 + left];
            peer.read_exact(&mut bytes).unwrap();
            (bytes, peer)
        });
        let part = part(&content, 70, left as u64);
        ring.start(number, socket, b"head".to_vec(), part).unwrap();
        let buffer = loop {
            match next_deliveries(&mut ring).pop().unwrap() {
                Delivery {
                    number: reported,
                    sent: Sent::Whole(buffer),
                } if reported == number => break buffer,
                Delivery {
                    sent: Sent::Full, ..
                } => ring.resume(number).unwrap(),
                other => panic!("{other:?}"),
            }
        };
        assert!(buffer.is_empty());
        let (bytes, _peer) = reader.join().unwrap();
        assert_eq!(&bytes[..4], b"head");
        assert!(bytes[4..] == content[70..70 + left], "{left} bytes differ");
        assert!(!ring.has_work());
    }
}

#[test]
fn a_peer_that_does_not_read_is_reported_and_others_continue() {
    // Method: 32 MiB to a peer that reads nothing fill the socket, while another connection gets
    // its file; once the first peer reads, it gets all of its file.
    let Some(mut ring) = ring() else { return };
    let content = pattern(32 << 20);
    let [(slow_socket, mut slow), (quick_socket, mut quick)] = [pair(), pair()];
    let total = content.len() as u64;
    ring.start(0, slow_socket, Vec::new(), part(&content, 0, total))
        .unwrap();
    assert!(matches!(
        next_deliveries(&mut ring)[..],
        [Delivery {
            number: 0,
            sent: Sent::Full
        }]
    ));
    ring.start(1, quick_socket, Vec::new(), part(&content, 0, 1000))
        .unwrap();
    assert!(matches!(
        next_deliveries(&mut ring)[..],
        [Delivery {
            number: 1,
            sent: Sent::Whole(_)
        }]
    ));
    let mut bytes = vec![0; 1000];
    quick.read_exact(&mut bytes).unwrap();
    assert!(bytes == content[..1000]);

    let reader = std::thread::spawn(move || {
        let mut bytes = vec![0; 32 << 20];
        slow.read_exact(&mut bytes).unwrap();
        bytes
    });
    loop {
        ring.resume(0).unwrap();
        match next_deliveries(&mut ring).pop().unwrap().sent {
            Sent::Full => {}
            Sent::Whole(_) => break,
            Sent::Failed(error) => panic!("{error}"),
        }
    }
    assert!(reader.join().unwrap() == content);
}

#[test]
fn a_file_shorter_than_its_part_and_a_closed_peer_fail() {
    // Method: a file of 10 bytes of which 20 are requested; then a peer that has closed. The
    // second connection uses the number of the first, which is free again.
    let Some(mut ring) = ring() else { return };
    let (socket, _peer) = pair();
    ring.start(0, socket, Vec::new(), part(&pattern(10), 0, 20))
        .unwrap();
    let deliveries = next_deliveries(&mut ring);
    assert!(
        matches!(
            deliveries[..],
            [Delivery {
                number: 0,
                sent: Sent::Failed(_)
            }]
        ),
        "{deliveries:?}"
    );

    let (socket, peer) = pair();
    drop(peer);
    let content = pattern(8 << 20);
    ring.start(0, socket, Vec::new(), part(&content, 0, 8 << 20))
        .unwrap();
    loop {
        match next_deliveries(&mut ring).pop().unwrap().sent {
            Sent::Full => ring.resume(0).unwrap(),
            Sent::Failed(_) => break,
            Sent::Whole(_) => panic!("8 MB were sent to a closed peer"),
        }
    }
}

#[test]
fn a_dropped_ring_closes_its_connections() {
    // Method: files are being sent over 16 connections when the ring is dropped. Each peer reads
    // a beginning of the file and then the end of the stream.
    let Some(mut ring) = ring() else { return };
    let content = pattern(1 << 20);
    let mut peers = Vec::new();
    for number in 0..16 {
        let (socket, peer) = pair();
        peers.push(peer);
        ring.start(number, socket, Vec::new(), part(&content, 0, 1 << 20))
            .unwrap();
    }
    ring.advance(&mut Vec::new()).unwrap();
    drop(ring);
    for mut peer in peers {
        let mut bytes = Vec::new();
        peer.read_to_end(&mut bytes).unwrap();
        assert!(content.starts_with(&bytes), "{} bytes", bytes.len());
    }
}
