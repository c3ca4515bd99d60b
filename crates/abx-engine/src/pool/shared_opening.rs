//! The progress of one pool's workers with its connections, for the thread that waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use abx_sys::Nanos;

/// Connections that are being opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AwaitedConnections {
    /// Open connections of the pool.
    pub open: u64,
    pub asked: u64,
    /// How long ago the last connection opened.
    pub silent: Duration,
    /// The opening is given up when `silent` reaches this.
    pub at_most: Duration,
}

/// The progress that workers report while they open connections.
#[derive(Debug, Default)]
pub(crate) struct SharedOpening {
    open: AtomicU64,
    timeout_ns: AtomicU64,
}

pub(crate) struct OpeningPart {
    shared: Arc<SharedOpening>,
    reported: u64,
}

impl OpeningPart {
    pub(crate) fn of(shared: &Arc<SharedOpening>) -> OpeningPart {
        OpeningPart {
            shared: Arc::clone(shared),
            reported: 0,
        }
    }

    /// Reports how many of this worker's connections are open, and the timeout of each connect.
    pub(super) fn reports(&mut self, open: usize, timeout: Nanos) {
        let before = std::mem::replace(&mut self.reported, open as u64);
        // A difference below zero wraps around to the right sum.
        let more = self.reported.wrapping_sub(before);
        self.shared.open.fetch_add(more, Ordering::Relaxed);
        self.shared
            .timeout_ns
            .fetch_max(timeout.0, Ordering::Relaxed);
    }
}

pub(crate) struct OpeningLook<'a> {
    shared: &'a SharedOpening,
    asked: u64,
    most: u64,
    progress_at: Instant,
}

impl OpeningLook<'_> {
    pub(crate) fn at(shared: &SharedOpening, asked: u64) -> OpeningLook<'_> {
        OpeningLook {
            shared,
            asked,
            most: 0,
            progress_at: Instant::now(),
        }
    }

    pub(crate) fn look(&mut self) -> AwaitedConnections {
        let open = self.shared.open.load(Ordering::Relaxed);
        if open > self.most {
            (self.most, self.progress_at) = (open, Instant::now());
        }
        AwaitedConnections {
            open,
            asked: self.asked,
            silent: self.progress_at.elapsed(),
            at_most: Duration::from_nanos(self.shared.timeout_ns.load(Ordering::Relaxed)),
        }
    }
}
