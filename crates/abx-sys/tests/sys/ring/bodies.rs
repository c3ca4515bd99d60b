//! Large bodies, few buffers, and bytes that are skipped.

use abx_sys::{Nanos, Received, Receiving, Ring, RingEvent, RingOptions};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::peer::{giver, pattern, serve};
use super::{BOTH, Got, connect, options, pull, pull_until, ring, until};

fn ask(ring: &mut Ring, token: u64, count: u64) {
    let request = ring.register(count.to_le_bytes().to_vec());
    assert_eq!(ring.send(token, request, 0).unwrap(), 8);
}

#[test]
fn a_large_body_comes_byte_for_byte() {
    // Method: 10 MB through 16 buffers of 16 KiB, twice on one connection.
    for receiving in BOTH {
        let Some(mut ring) = ring(options(receiving)) else {
            return;
        };
        let (address, served) = serve(1, giver);
        connect(&mut ring, 0, address);
        for _ in 0..2 {
            ask(&mut ring, 0, 10_000_000);
            let got = pull_until(&mut ring, 0, 10_000_000);
            assert!(got.bytes == pattern(0, 10_000_000));
        }
        drop(ring);
        served.join().unwrap();
    }
}

#[test]
fn many_connections_share_too_few_buffers() {
    // Method: 50 bodies of 300 kB at the same time through two buffers of 4 KiB.
    for receiving in BOTH {
        let few = RingOptions {
            buffer_count: 2,
            buffer_bytes: 4096,
            ..options(receiving)
        };
        let Some(mut ring) = ring(few) else { return };
        let (address, served) = serve(50, giver);
        for token in 0..50 {
            connect(&mut ring, token, address);
        }
        for token in 0..50 {
            ask(&mut ring, token, 300_000);
        }
        let mut got: Vec<Got> = (0..50).map(|_| Got::default()).collect();
        let mut whole = 0;
        until(&mut ring, |ring, happening| {
            let got = &mut got[usize::try_from(happening.token()).unwrap()];
            pull(ring, happening.token(), got);
            if got.bytes.len() == 300_000 {
                whole += 1;
            }
            whole == 50
        });
        assert!(got.iter().all(|got| got.bytes == pattern(0, 300_000)));
        drop(ring);
        served.join().unwrap();
    }
}

#[test]
fn bytes_that_nobody_pulls_block_no_wait_and_get_not_lost() {
    // Method: one connection's bytes take all buffers and are left there; a wait
    // must then end by its limit, and not turn in circles. Pulled later, they are whole.
    for receiving in BOTH {
        let few = RingOptions {
            buffer_count: 1,
            buffer_bytes: 4096,
            ..options(receiving)
        };
        let Some(mut ring) = ring(few) else { return };
        let (address, served) = serve(1, giver);
        connect(&mut ring, 0, address);
        ask(&mut ring, 0, 100_000);
        until(&mut ring, |_, happening| {
            matches!(happening, RingEvent::Receivable(0))
        });
        let mut happenings = Vec::new();
        let mut whole = 0;
        for _ in 0..20 {
            let start = Nanos::now();
            ring.wait(Some(Nanos(1_000_000)), &mut happenings).unwrap();
            let is_whole = Nanos::now().since(start) >= Nanos(1_000_000);
            whole += u32::from(happenings.is_empty() && is_whole);
        }
        assert!(whole >= 15, "{whole} of 20 waits lasted until their limit");
        let got = pull_until(&mut ring, 0, 100_000);
        assert!(got.bytes == pattern(0, 100_000));
        drop(ring);
        served.join().unwrap();
    }
}

/// Asks for a body, reads `head` bytes or a little more of it, skips up to
/// `skip_to`, and reads the rest.
fn read_but_for(ring: &mut Ring, token: u64, body: u64, head: u64, skip_to: u64) -> Got {
    ask(ring, token, body);
    let mut got = Got::default();
    let mut is_asked = false;
    let mut rest_from = None;
    until(ring, |ring, happening| {
        if happening.token() != token {
            return false;
        }
        loop {
            match ring.receive(token) {
                Received::Bytes(bytes) => {
                    if is_asked && rest_from.is_none() {
                        rest_from = Some(got.bytes.len());
                    }
                    got.bytes.extend_from_slice(bytes);
                }
                Received::Skipped(count) => {
                    assert!(is_asked && rest_from.is_none(), "skipped bytes come first");
                    got.skipped += count;
                }
                Received::Nothing => break,
                other => panic!("{other:?}"),
            }
            let read = got.bytes.len() as u64;
            if !is_asked && read >= head {
                is_asked = true;
                if skip_to > read {
                    ring.skip(token, skip_to - read);
                }
            }
        }
        got.bytes.len() as u64 + got.skipped == body
    });
    let head_len = rest_from.unwrap_or(got.bytes.len());
    let rest_at = head_len as u64 + got.skipped;
    assert!(got.bytes[..head_len] == pattern(0, head_len));
    assert!(got.bytes[head_len..] == pattern(rest_at, got.bytes.len() - head_len));
    got
}

#[test]
fn skipped_bytes_are_exactly_those_asked_for() {
    // Method: bodies, heads and ends of skips drawn at random, the same connection
    // used on, so that one byte too many or too few would spoil all that follows.
    let mut random = ChaCha8Rng::seed_from_u64(20_261_121);
    for receiving in BOTH {
        let Some(mut ring) = ring(options(receiving)) else {
            return;
        };
        let (address, served) = serve(1, giver);
        connect(&mut ring, 0, address);
        for _ in 0..150 {
            let largest = [300_u64, 20_000, 500_000, 3_000_000][random.random_range(0..4)];
            let body = random.random_range(1..=largest);
            let head = random.random_range(1..=body.min(5000));
            let skip_to = random.random_range(head..=body);
            ring.limit_receive(0, [0, 4096][random.random_range(0..2)]);
            read_but_for(&mut ring, 0, body, head, skip_to);
        }
        drop(ring);
        served.join().unwrap();
    }
}

#[test]
fn most_of_a_skipped_body_is_not_copied() {
    // Method: 10 MB after a head of at most 4096 bytes; pulls say how they came.
    for receiving in BOTH {
        let Some(mut ring) = ring(options(receiving)) else {
            return;
        };
        let (address, served) = serve(1, giver);
        connect(&mut ring, 0, address);
        ring.limit_receive(0, 4096);
        let got = read_but_for(&mut ring, 0, 10_000_000, 1, 10_000_000);
        assert_eq!(got.bytes.len() as u64 + got.skipped, 10_000_000);
        if receiving == Receiving::Single {
            assert!(got.bytes.len() <= 4096, "{}", got.bytes.len());
        }
        drop(ring);
        served.join().unwrap();
    }
}

#[test]
fn the_end_of_the_peer_ends_a_skip() {
    // Method: a peer that closes after 200,000 of the 10 MB that are to be skipped.
    for receiving in BOTH {
        let Some(mut ring) = ring(options(receiving)) else {
            return;
        };
        let (address, served) = serve(1, |mut stream| {
            std::io::Write::write_all(&mut stream, &pattern(0, 200_000)).unwrap();
        });
        connect(&mut ring, 0, address);
        ring.skip(0, 10_000_000);
        let got = pull_until(&mut ring, 0, u64::MAX);
        assert!(got.ended && got.bytes.is_empty());
        assert_eq!(got.skipped, 200_000);
        drop(ring);
        served.join().unwrap();
    }
}
