//! Waits with limits, drops in the middle of things, and options at their edges.

use std::io::Read;
use std::net::TcpStream;
use std::time::Instant;

use abx_sys::{Nanos, Ring, RingError, RingEvent, RingOptions};

use super::peer::{echo, giver, nobody, serve};
use super::{BOTH, Got, PATIENCE, connect, options, pull, ring, until};

#[test]
fn a_wait_ends_by_its_limit() {
    // Method: nothing is under way, so that only the limit can end the wait. It
    // may end late but not early.
    let Some(mut ring) = ring(options(BOTH[0])) else {
        return;
    };
    let mut happenings = vec![RingEvent::MaySend(9)];
    for limit in [0, 1_000, 300_000, 20_000_000] {
        let start = Nanos::now();
        ring.wait(Some(Nanos(limit)), &mut happenings).unwrap();
        assert!(Nanos::now().since(start).0 >= limit);
        assert!(happenings.is_empty());
    }
}

#[test]
fn a_wait_without_limit_ends_by_what_happens() {
    // Method: a peer that speaks first. A limit at the end of time must also do.
    for limit in [None, Some(Nanos::MAX)] {
        let Some(mut ring) = ring(options(BOTH[0])) else {
            return;
        };
        ring.connect(0, nobody(), None).unwrap();
        let mut happenings = Vec::new();
        while happenings.is_empty() {
            ring.wait(limit, &mut happenings).unwrap();
        }
        assert!(matches!(happenings[0], RingEvent::Unconnected(0, _)));
    }
}

#[test]
fn a_ring_may_be_dropped_whatever_is_under_way() {
    // Method: connects, receives, a send that is stuck and a skip under way, and
    // bytes that nobody pulled; every peer must then see its connection's end.
    for receiving in BOTH {
        for stage in 0..4 {
            let Some(mut ring) = ring(options(receiving)) else {
                return;
            };
            let (address, served) = serve(10, giver);
            for token in 0..10 {
                connect(&mut ring, token, address);
            }
            let ask = ring.register(1_000_000_u64.to_le_bytes().to_vec());
            // Asks for empty answers, so that the peer reads on.
            let stuck = ring.register(vec![0; 16_000_000]);
            let idle = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            connect(&mut ring, 10, idle.local_addr().unwrap());
            ring.send(10, stuck, 0).unwrap();
            for token in 0..10 {
                ring.send(token, ask, 0).unwrap();
                if token % 2 == 0 {
                    ring.skip(token, 1_000_000);
                }
            }
            let mut happenings = Vec::new();
            for _ in 0..stage {
                ring.wait(Some(Nanos(1_000_000)), &mut happenings).unwrap();
            }
            for token in 20..30 {
                ring.connect(token, nobody(), None).unwrap();
            }
            drop(ring);
            served.join().unwrap();
        }
    }
}

#[test]
fn a_dropped_ring_closes_thousands_of_connections() {
    // Method: each peer must see the end of its connection, whose receive is under
    // way; they are many more than the kernel reports at a time.
    const COUNT: usize = 2_500;
    abx_sys::limits::raise_descriptor_limit().unwrap();
    for receiving in BOTH {
        let wide = RingOptions {
            entries: 4096,
            ..options(receiving)
        };
        let Some(mut ring) = ring(wide) else { return };
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut peers: Vec<TcpStream> = Vec::new();
        for token in 0..COUNT as u64 {
            connect(&mut ring, token, address);
            peers.push(listener.accept().unwrap().0);
        }
        drop(ring);
        for mut peer in peers {
            peer.set_read_timeout(Some(PATIENCE)).unwrap();
            assert_eq!(peer.read(&mut [0]).unwrap(), 0);
        }
    }
}

#[test]
fn an_empty_ring_of_the_smallest_size_works() {
    // Method: one entry, one buffer, and more operations than entries.
    for receiving in BOTH {
        let Some(mut ring) = ring(RingOptions {
            entries: 1,
            buffer_count: 1,
            buffer_bytes: 64,
            receiving,
        }) else {
            return;
        };
        let (address, served) = serve(20, echo);
        let request = ring.register(vec![b'x'; 100]);
        for token in 0..20 {
            ring.connect(token, address, None).unwrap();
        }
        let mut standing = 0;
        until(&mut ring, |_, happening| {
            standing += u32::from(matches!(happening, RingEvent::Connected(_)));
            standing == 20
        });
        for token in 0..20 {
            assert_eq!(ring.send(token, request, 0).unwrap(), 100);
        }
        let mut got: Vec<Got> = (0..20).map(|_| Got::default()).collect();
        until(&mut ring, |ring, happening| {
            let place = usize::try_from(happening.token()).unwrap();
            pull(ring, happening.token(), &mut got[place]);
            got.iter().all(|got| got.bytes == [b'x'; 100])
        });
        drop(ring);
        served.join().unwrap();
    }
}

#[test]
fn what_cannot_be_made_is_an_error_and_not_a_panic() {
    // Method: a ring without entries, which no kernel makes.
    let refused = Ring::new(RingOptions {
        entries: 0,
        ..options(BOTH[0])
    });
    assert!(matches!(
        refused.err(),
        Some(RingError::Lacks(_) | RingError::Forbidden | RingError::Absent)
    ));
}

#[test]
fn an_unpulled_ring_can_go_on() {
    // Method: a token that never had a connection is closed, one is closed twice.
    let Some(mut ring) = ring(options(BOTH[0])) else {
        return;
    };
    let (address, served) = serve(1, echo);
    ring.close(77);
    connect(&mut ring, 1, address);
    ring.close(1);
    ring.close(1);
    let start = Instant::now();
    let mut happenings = Vec::new();
    while !served.is_finished() {
        assert!(start.elapsed() < super::PATIENCE);
        ring.wait(Some(Nanos(1_000_000)), &mut happenings).unwrap();
    }
}
