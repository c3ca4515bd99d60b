//! The workers of one slice. Each worker keeps up its part of the load until all of them have
//! settled, or no worker gets responses any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;

use abx_evidence::Interval;
use abx_sys::Nanos;
use serde::{Deserialize, Serialize};

/// The responses that the end of a slice waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AwaitedResponses {
    /// Connections with a request in flight that has no response yet.
    pub connections: u64,
    /// How long the first of them has waited, in ns.
    pub waited_ns: u64,
    /// The longest wait, in ns.
    pub at_most_ns: u64,
}

/// One worker's measurements in an interval of a slice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedInterval {
    /// The number of the interval, from zero.
    pub number: usize,
    #[serde(rename = "stretch")]
    pub interval: Interval,
}

/// The state that the workers of one slice share.
#[derive(Debug)]
pub struct SharedSlice {
    /// Workers that still need the load.
    unsettled: AtomicUsize,
    /// Workers with connections whose subject has not fallen silent.
    responded: AtomicUsize,
    /// Connections that the end of the slice waits for.
    awaited: AtomicU64,
    /// Since when the first of them has waited.
    awaited_since_ns: AtomicU64,
    timeout_ns: AtomicU64,
    listener: Option<Sender<ReportedInterval>>,
}

impl SharedSlice {
    /// A slice of this many workers, of which `with_connections` have connections.
    pub fn new(workers: usize, with_connections: usize) -> Arc<SharedSlice> {
        SharedSlice::with_listener(None, workers, with_connections)
    }

    /// A slice with a listener for its intervals.
    pub fn with_listener(
        listener: Option<Sender<ReportedInterval>>,
        workers: usize,
        with_connections: usize,
    ) -> Arc<SharedSlice> {
        Arc::new(SharedSlice {
            listener,
            unsettled: AtomicUsize::new(workers),
            responded: AtomicUsize::new(with_connections),
            awaited: AtomicU64::new(0),
            awaited_since_ns: AtomicU64::new(u64::MAX),
            timeout_ns: AtomicU64::new(0),
        })
    }

    pub fn awaited(&self, now: Nanos) -> Option<AwaitedResponses> {
        let connections = self.awaited.load(Ordering::Relaxed);
        let since = Nanos(self.awaited_since_ns.load(Ordering::Relaxed));
        (connections > 0).then(|| AwaitedResponses {
            connections,
            waited_ns: now.since(since).0,
            at_most_ns: self.timeout_ns.load(Ordering::Relaxed),
        })
    }
}

/// Whether a worker has connections of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Connections,
    Nothing,
}

/// One worker's membership, which ends with the slice at the latest.
pub struct SliceParticipants {
    shared: Arc<SharedSlice>,
    has_left: bool,
    /// Whether the worker is counted as getting responses.
    has_response: bool,
    /// The awaited connections that the worker last reported.
    awaited: u64,
}

impl SliceParticipants {
    pub fn alone() -> SliceParticipants {
        SliceParticipants::of(&SharedSlice::new(1, 1), Part::Connections)
    }

    /// One of the workers that `shared` counts.
    pub fn of(shared: &Arc<SharedSlice>, part: Part) -> SliceParticipants {
        SliceParticipants {
            shared: Arc::clone(shared),
            has_left: false,
            has_response: part == Part::Connections,
            awaited: 0,
        }
    }

    /// Notes that this worker no longer needs the load.
    pub fn leave(&mut self) {
        if !std::mem::replace(&mut self.has_left, true) {
            self.shared.unsettled.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether no worker needs the load any more.
    pub fn is_over(&self) -> bool {
        self.shared.unsettled.load(Ordering::Relaxed) == 0
    }

    /// Sets whether this worker's connections get responses.
    pub(crate) fn has_response(&mut self, has_response: bool) {
        if std::mem::replace(&mut self.has_response, has_response) == has_response {
            return;
        }
        let responded = &self.shared.responded;
        if has_response {
            responded.fetch_add(1, Ordering::Relaxed)
        } else {
            responded.fetch_sub(1, Ordering::Relaxed)
        };
    }

    /// Reports that this worker waits for this many connections, for the first of them since
    /// `since`, and for each for at most a timeout.
    pub(super) fn reports_awaited(&mut self, connections: u64, since: Nanos, timeout: Nanos) {
        let shared = &*self.shared;
        shared.timeout_ns.fetch_max(timeout.0, Ordering::Relaxed);
        let first = &shared.awaited_since_ns;
        first.fetch_min(since.0, Ordering::Relaxed);
        let before = std::mem::replace(&mut self.awaited, connections);
        // A difference below zero wraps around to the right sum.
        let more = connections.wrapping_sub(before);
        shared.awaited.fetch_add(more, Ordering::Relaxed);
    }

    pub(super) fn reports_interval(&self, number: usize, interval: Interval) {
        if let Some(listener) = &self.shared.listener {
            // The listener may be gone.
            let _ = listener.send(ReportedInterval { number, interval });
        }
    }

    /// Whether no worker's connections get responses. Workers that have ended get none.
    pub(crate) fn is_silent(&self) -> bool {
        self.shared.responded.load(Ordering::Relaxed) == 0
    }

    pub fn end(&mut self) {
        self.leave();
        self.has_response(false);
        self.reports_awaited(0, Nanos::MAX, Nanos(0));
    }
}

impl Drop for SliceParticipants {
    /// Other workers must not wait for a worker that has exited.
    fn drop(&mut self) {
        self.end();
    }
}
