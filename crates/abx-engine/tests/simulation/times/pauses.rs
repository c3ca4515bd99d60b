//! A generator that is paused, in virtual time.

use std::sync::atomic::AtomicBool;

use abx_sys::Nanos;
use abx_twin::{Network, Service};

use crate::loads::{MS, SECOND, plan, pool, run};

const BODY: &[u8] = b"hello";

/// How long a second of load is paused, as its tally shows it, if its thread is paused from
/// `pause[0]` to `pause[1]` ms after its start and each request takes `service`.
fn paused_ns(service: Nanos, pause: [u64; 2]) -> u64 {
    let mut network = Network::faultless(1);
    network.service = Service::Constant(service);
    let mut pool = pool(network, plan(5, BODY, 1), BODY);
    pool.connect_all(&AtomicBool::new(false));
    let start = pool.now();
    let at = |ms: u64| start.plus(Nanos(ms * MS));
    pool.io.pauses(at(pause[0]), at(pause[1]));
    run(&mut pool, SECOND, 0);
    pool.tally().paused_ns
}

#[test]
fn a_pause_of_the_generator_is_counted_however_fast_the_subject_is() {
    // Method: a pause of 3 s within a slice of 1 s, with responses after 100 us, 40 ms and 20 s.
    // A wait is in progress when it begins, and ends 50 ms later at the latest.
    for service_us in [100, 40_000, 20_000_000] {
        let count = paused_ns(Nanos(1_000 * service_us), [500, 3_500]);
        let off = count.abs_diff(3_000 * MS);
        assert!(off <= 50 * MS, "{service_us}: {count}");
    }
}

#[test]
fn a_slow_subject_and_a_long_drain_are_no_pause() {
    // Method: no pause, and a response after 30 s that the slice waits for; then a pause that is
    // too short to count.
    assert_eq!(paused_ns(Nanos(30 * SECOND), [0, 0]), 0);
    assert_eq!(paused_ns(Nanos(100_000), [500, 700]), 0);
}
