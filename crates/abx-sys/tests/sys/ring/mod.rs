//! `Ring` against blocking peers of the standard library, on loopback.
//!
//! Where the machine forbids io_uring, the tests have nothing to say and pass.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

mod bodies;
mod connections;
mod limits;
mod peer;
mod stress;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use abx_sys::{Nanos, Received, Receiving, Ring, RingEvent, RingOptions};

/// Long enough for a busy machine; no test waits so long unless it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
pub(crate) const BOTH: [Receiving; 2] = [Receiving::Multishot, Receiving::Single];

pub(crate) fn options(receiving: Receiving) -> RingOptions {
    RingOptions {
        entries: 64,
        buffer_count: 16,
        buffer_bytes: 16 * 1024,
        receiving,
    }
}

/// A ring, or nothing where the machine has none for us.
pub(crate) fn ring(options: RingOptions) -> Option<Ring> {
    match Ring::new(options) {
        Ok(ring) => Some(ring),
        Err(abx_sys::RingError::Forbidden | abx_sys::RingError::Absent) => None,
        Err(error) => panic!("{error}"),
    }
}

/// What came on one connection.
#[derive(Debug, Default)]
pub(crate) struct Got {
    pub(crate) bytes: Vec<u8>,
    pub(crate) skipped: u64,
    pub(crate) ended: bool,
    pub(crate) failed: Option<std::io::ErrorKind>,
}

/// Pulls all that is there.
pub(crate) fn pull(ring: &mut Ring, token: u64, got: &mut Got) {
    loop {
        match ring.receive(token) {
            Received::Bytes(bytes) => {
                assert!(!bytes.is_empty());
                got.bytes.extend_from_slice(bytes);
            }
            Received::Skipped(count) => {
                assert!(count > 0);
                got.skipped += count;
            }
            Received::Nothing => return,
            Received::Ended => {
                got.ended = true;
                return;
            }
            Received::Failed(error) => {
                got.failed = Some(error.kind());
                return;
            }
        }
    }
}

/// Waits in turns until `is_done`, which is asked about every happening.
pub(crate) fn until(ring: &mut Ring, mut is_done: impl FnMut(&mut Ring, &RingEvent) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    let mut happenings = Vec::new();
    loop {
        assert!(Instant::now() < deadline, "nothing more happens");
        ring.wait(Some(Nanos(10_000_000)), &mut happenings).unwrap();
        // Valgrind runs one thread at a time, and lets the peer run only here.
        std::thread::yield_now();
        for happening in &happenings {
            if is_done(ring, happening) {
                return;
            }
        }
    }
}

/// Connects and waits until the connection stands.
pub(crate) fn connect(ring: &mut Ring, token: u64, to: SocketAddr) {
    ring.connect(token, to, None).unwrap();
    until(ring, |_, happening| match happening {
        RingEvent::Connected(connected) => *connected == token,
        other => panic!("{other:?}"),
    });
}

/// Pulls until the connection's end, a failure, or `count` bytes and skipped ones.
pub(crate) fn pull_until(ring: &mut Ring, token: u64, count: u64) -> Got {
    let mut got = Got::default();
    let is_enough = |got: &Got| {
        got.ended || got.failed.is_some() || got.bytes.len() as u64 + got.skipped >= count
    };
    pull(ring, token, &mut got);
    if !is_enough(&got) {
        until(ring, |ring, happening| {
            if happening.token() == token {
                pull(ring, token, &mut got);
            }
            is_enough(&got)
        });
    }
    got
}
