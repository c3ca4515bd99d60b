//! A generator that is paused, in virtual time.

use std::sync::atomic::AtomicBool;

use abx_sys::Nanos;
use abx_twin::{Network, Service};

use crate::loads::{MS, SECOND, plan, pool, run};

const BODY: &[u8] = b"hello";

/// The pauses in the tally of a second of load whose thread is paused between these two moments,
/// in ms after its start, if each request takes `service`.
fn paused_ns(service: Nanos, [from_ms, until_ms]: [u64; 2]) -> u64 {
    let mut network = Network::faultless(1);
    network.service = Service::Constant(service);
    let mut pool = pool(network, plan(5, BODY, 1), BODY);
    pool.connect_all(&AtomicBool::new(false));
    let start = pool.now();
    let at = |ms: u64| start.plus(Nanos(ms * MS));
    pool.io.pauses(at(from_ms), at(until_ms));
    run(&mut pool, SECOND, 0);
    pool.tally().paused_ns
}

#[test]
fn a_pause_of_the_generator_is_counted_however_fast_the_subject_is() {
    // Method: a pause of 3 s that begins within a slice of 1 s, with responses after 100 us, 40 ms
    // and 20 s. A wait that is in progress then would end at most 50 ms later.
    for service_us in [100, 40_000, 20_000_000] {
        let paused = paused_ns(Nanos(1_000 * service_us), [500, 3_500]);
        let off = paused.abs_diff(3_000 * MS);
        assert!(off <= 50 * MS, "{service_us}: {paused}");
    }
}

#[test]
fn a_slow_subject_and_a_long_drain_are_no_pause() {
    // Method: no pause, but a response after 30 s for which the slice waits; then a pause that is
    // too short to count.
    assert_eq!(paused_ns(Nanos(30 * SECOND), [0, 0]), 0);
    assert_eq!(paused_ns(Nanos(100_000), [500, 700]), 0);
}
