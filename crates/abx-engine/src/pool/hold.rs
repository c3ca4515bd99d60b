//! A slice in which nothing is sent: connections are held, and pings answered.

use std::sync::atomic::{AtomicBool, Ordering};

use abx_sys::Nanos;

use super::{Pool, SliceOutcome, WAIT_MAX, WorkerSlice};
use crate::connection::progress::Progress;
use crate::io::{Awaits, Io};
use crate::protocol::Protocol;

impl<I: Io, C: Protocol> Pool<I, C> {
    /// Holds the connections until the slice ends. What is closed stays closed.
    /// A slice without an end in time has none to wait for, and is over at once.
    pub(super) fn hold(&mut self, slice: &WorkerSlice, stop: &AtomicBool) -> SliceOutcome {
        self.begin_tally(slice.start);
        self.progress = Progress::idle();
        let mut now = slice.start;
        while now < slice.end && slice.end < Nanos::MAX && !stop.load(Ordering::Relaxed) {
            now = self.take_ready(slice.end.min(now.plus(WAIT_MAX)), Awaits::Nothing);
        }
        SliceOutcome {
            end: now,
            counted_until: now,
            stopped_answering: false,
        }
    }
}
