//! Slices in which nothing is sent: connections are held, and pings get pongs.

use std::sync::atomic::AtomicBool;

use abx_sys::Nanos;

use super::slots::Pool;
use super::worker_slice::{SliceOutcome, WorkerSlice};
use crate::connection::progress::Progress;
use crate::event_loop::{Driver, NextWait, Waiter, event_loop};
use crate::io::{Awaits, Io, Ready};
use crate::protocol::Protocol;

/// A pool that only listens.
struct Listening<'p, I: Io, C: Protocol> {
    pool: &'p mut Pool<I, C>,
    until: Nanos,
}

impl<I: Io, C: Protocol> Driver for Listening<'_, I, C> {
    type Io = I;

    fn waits_with(&mut self) -> (&mut I, &mut Waiter) {
        (&mut self.pool.io, &mut self.pool.waiter)
    }

    fn next_wait(&mut self, now: Nanos, is_stopped: bool) -> Option<NextWait> {
        (now < self.until && !is_stopped).then_some(NextWait {
            until: self.until,
            awaits: Awaits::Nothing,
        })
    }

    fn take(&mut self, ready: &mut Vec<Ready>, now: Nanos) {
        self.pool.take(ready, now);
    }
}

impl<I: Io, C: Protocol> Pool<I, C> {
    /// Handles events until a moment, and returns the last reading of the clock.
    pub fn listen(&mut self, until: Nanos, stop: &AtomicBool) -> Nanos {
        event_loop(&mut Listening { pool: self, until }, stop)
    }

    /// Holds the connections until the slice ends. Closed connections stay closed.
    /// A slice without an end in time has nothing to wait for, and is over at once.
    pub(super) fn hold(&mut self, slice: &WorkerSlice, stop: &AtomicBool) -> SliceOutcome {
        self.begin_tally(slice.start);
        self.progress = Progress::idle();
        let end = match slice.end {
            Nanos::MAX => slice.start,
            _ => self.listen(slice.end, stop),
        };
        self.tally.paused_ns = self.waiter.late_ns();
        SliceOutcome {
            end,
            counted_until: end,
            stopped_responding: false,
        }
    }
}
