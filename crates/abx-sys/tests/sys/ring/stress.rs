//! Everything at once, by a seed.

use std::collections::HashMap;

use abx_sys::{Received, Ring, RingEvent, RingOptions};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::peer::{giver, pattern, serve};
use super::{BOTH, options, ring, until};

/// One connection's request: how much of the body has been seen, and what is next.
struct Want {
    body: u64,
    seen: u64,
    skip_at: u64,
}

#[test]
fn random_sizes_skips_and_closes_never_mix_up_bytes() {
    // Method: 40 places ask for bodies of random length, read, skip or close in
    // the middle, and go on with the next connection; every byte that comes is
    // checked by its place in the body. The seed is in the message of a failure.
    for receiving in BOTH {
        for (seed, buffer_bytes) in [(1, 512), (2, 4096), (3, 16 * 1024), (4, 64 * 1024)] {
            let sizes = RingOptions {
                entries: 8,
                buffer_count: 8,
                buffer_bytes,
                ..options(receiving)
            };
            let Some(ring) = ring(sizes) else { return };
            stress(ring, seed);
        }
    }
}

fn stress(mut ring: Ring, seed: u64) {
    const PLACES: u64 = 40;
    const CONNECTIONS: u64 = 400;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let usable = usize::try_from(CONNECTIONS).unwrap();
    let (address, served) = serve(usable, giver);
    let mut wants: HashMap<u64, Want> = HashMap::new();
    let mut opened = 0;
    for place in 0..PLACES {
        ring.connect(place, address, None).unwrap();
        opened += 1;
    }
    let mut closed = 0;
    until(&mut ring, |ring, happening| {
        let token = happening.token();
        match happening {
            RingEvent::Connected(_) => ask(ring, token, &mut wants, &mut random),
            RingEvent::Receivable(_) if wants.contains_key(&token) => {
                let stays = take(ring, token, &mut wants, &mut random, seed);
                if !stays {
                    ring.close(token);
                    wants.remove(&token);
                    closed += 1;
                    if opened < CONNECTIONS {
                        ring.connect(token + (1 << 32), address, None).unwrap();
                        opened += 1;
                    }
                }
            }
            // Of a connection that was closed earlier in the same list.
            RingEvent::Receivable(_) => {}
            other => panic!("seed {seed}: {other:?}"),
        }
        closed == CONNECTIONS
    });
    drop(ring);
    served.join().unwrap();
}

fn ask(ring: &mut Ring, token: u64, wants: &mut HashMap<u64, Want>, random: &mut ChaCha8Rng) {
    let largest = [200_u64, 5_000, 100_000, 1_000_000][random.random_range(0..4)];
    let body = random.random_range(1..=largest);
    let request = ring.register(body.to_le_bytes().to_vec());
    assert_eq!(ring.send(token, request, 0).unwrap(), 8);
    let skip_at = random.random_range(0..=body);
    wants.insert(
        token,
        Want {
            body,
            seen: 0,
            skip_at,
        },
    );
}

/// Pulls what is there; answers whether the connection is to live on.
fn take(
    ring: &mut Ring,
    token: u64,
    wants: &mut HashMap<u64, Want>,
    random: &mut ChaCha8Rng,
    seed: u64,
) -> bool {
    loop {
        let want = wants.get_mut(&token).unwrap();
        match ring.receive(token) {
            Received::Bytes(bytes) => {
                let expected = pattern(want.seen, bytes.len());
                assert!(
                    bytes == expected,
                    "seed {seed}, token {token}, at {}",
                    want.seen
                );
                want.seen += bytes.len() as u64;
            }
            Received::Skipped(count) => want.seen += count,
            Received::Nothing => return true,
            other => panic!("seed {seed}: {other:?}"),
        }
        assert!(want.seen <= want.body, "seed {seed}: too many bytes");
        if random.random_ratio(1, 30) {
            return false;
        }
        if want.seen == want.body {
            if random.random_ratio(1, 3) {
                return false;
            }
            // Nothing may be sent twice in one batch; the next connection asks again.
            return ask_again(ring, token, wants, random);
        }
        if want.seen >= want.skip_at {
            want.skip_at = u64::MAX;
            let most = want.body - want.seen;
            ring.skip(token, random.random_range(0..=most));
        }
    }
}

fn ask_again(
    ring: &mut Ring,
    token: u64,
    wants: &mut HashMap<u64, Want>,
    random: &mut ChaCha8Rng,
) -> bool {
    assert!(matches!(ring.receive(token), Received::Nothing));
    ask(ring, token, wants, random);
    true
}
