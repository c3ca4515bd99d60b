//! How a slice runs on a pool: what is due, what is out of time, when it ends.

use std::sync::atomic::{AtomicBool, Ordering};

use abx_evidence::Outcome;
use abx_sys::Nanos;

use super::{Pool, WAIT_MAX};
use crate::connection::flights::Flight;
use crate::connection::progress::Progress;
use crate::connection::slot::Phase;
use crate::io::Io;
use crate::protocol::Protocol;
use crate::schedule::Share;

/// A subject has stopped answering after this many failures per connection in a
/// row, or when every connection timed out, without one whole answer in between.
const FAILURES_PER_SLOT_MAX: usize = 3;

/// One worker's part of a slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerSlice {
    pub(crate) start: Nanos,
    /// Nothing is sent from here on.
    pub(crate) end: Nanos,
    /// What is sent from here on counts.
    pub(crate) counted_from: Nanos,
    /// At most this many requests are sent.
    pub(crate) requests_max: u64,
    /// Which part of the schedule this worker has.
    pub(crate) share: Share,
}

/// How a slice ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SliceOutcome {
    /// The last outcome's time.
    pub(crate) end: Nanos,
    /// The end of the time over which answers are counted.
    pub(crate) counted_until: Nanos,
    /// It ended early because no connection got an answer any more.
    pub(crate) stopped_answering: bool,
}

impl<I: Io, C: Protocol> Pool<I, C> {
    /// Loads the subject for one slice and waits for what is in flight.
    pub(crate) fn run(&mut self, slice: WorkerSlice, stop: &AtomicBool) -> SliceOutcome {
        if self.plan.shape.hold_ns().is_some() {
            return self.hold(&slice, stop);
        }
        self.tally.clear();
        self.progress = Progress {
            open: true,
            end: slice.end,
            counted_from: slice.counted_from,
            requests_left: slice.requests_max,
            ..Progress::idle()
        };
        self.slices += 1;
        let seed = self.plan.seed.wrapping_add(self.slices);
        self.dispatcher
            .begin(&slice, &self.plan.pacing, seed, self.slots.len());
        for index in 0..self.slots.len() {
            let now = self.io.now();
            self.slots[index].start_slice(slice.start);
            self.freed(index, now);
        }
        let mut stopped_answering = false;
        let mut now = self.io.now();
        let mut sent_until = slice.end;
        loop {
            if self.progress.open && !self.progress.may_send(now) {
                self.progress.open = false;
                self.count_unsent(slice.end);
            }
            if self.has_stopped_answering() {
                stopped_answering = true;
                sent_until = now;
                self.progress.open = false;
                self.count_unsent(now);
            }
            if self.progress.in_flight == 0 && !self.has_more() {
                break;
            }
            if stop.load(Ordering::Relaxed) {
                sent_until = sent_until.min(now);
                self.abandon();
                break;
            }
            now = self.turn(&slice, now);
        }
        let end = self.close_clocks(slice.start);
        let is_timed = self.dispatcher.is_open() && slice.end < Nanos::MAX;
        SliceOutcome {
            end,
            counted_until: if is_timed { sent_until } else { end },
            stopped_answering,
        }
    }

    /// Waits once, handles what is ready and sends what is due. Answers the time
    /// that all of this had.
    fn turn(&mut self, slice: &WorkerSlice, before: Nanos) -> Nanos {
        let due = if self.progress.open {
            let sends = slice.end.min(self.dispatcher.wakes());
            sends.min(self.progress.next_check)
        } else {
            self.progress.next_check
        };
        let now = self.take_ready(due.min(before.plus(WAIT_MAX)));
        self.progress.acted = now;
        self.check_due(now);
        self.dispatch(now);
        if now >= self.progress.counted_from {
            self.tally
                .loop_lag
                .record_ns(self.progress.acted.since(now).0);
        }
        now
    }

    /// Whether anything may be sent although nothing is in flight.
    fn has_more(&self) -> bool {
        self.progress.open && (self.progress.resting > 0 || self.dispatcher.has_more())
    }

    fn has_stopped_answering(&self) -> bool {
        let slots = self.slots.len();
        self.progress.open
            && (self.progress.failures >= FAILURES_PER_SLOT_MAX * slots
                || self.progress.timeouts >= slots)
    }

    /// Sums the connections' clocks and answers when the last outcome was.
    fn close_clocks(&mut self, start: Nanos) -> Nanos {
        let mut end = start;
        for slot in &self.slots {
            match slot.clock.span() {
                Some(span) => self.tally.connection_ns += span.0,
                None => self.tally.silent += 1,
            }
            end = end.max(slot.clock.last());
        }
        end
    }

    /// Gives a slot that has room its next request, due at `intended`: in a closed
    /// loop now, as its connection has room now. [`Pool::go`] then sends it. Only
    /// while [`Progress::may_send`] says so.
    #[inline(always)]
    pub(super) fn begin(&mut self, index: usize, intended: Nanos, now: Nanos) {
        self.progress.requests_left -= 1;
        self.progress.in_flight += 1;
        let deadline = now.plus(Nanos(self.plan.timeout_ns));
        self.progress.next_check = self.progress.next_check.min(deadline);
        let counted = intended >= self.progress.counted_from;
        let request = self.chooser.draw();
        // A body that is not known beforehand cannot be compared.
        let is_known = self.plan.requests[request].expect.body.is_some();
        let sampled = self.sampler.draw();
        let slot = &mut self.slots[index];
        if counted {
            slot.clock.starts(intended);
            self.tally.queued += u64::from(slot.free_since > intended);
        }
        slot.calls += 1;
        slot.flights.push(Flight {
            intended,
            possible: intended.max(slot.free_since),
            begun: now,
            sent: None,
            counted,
            request,
            sampled,
            hashed: sampled && is_known,
            retried: false,
        });
    }

    /// Ends the first flight of a slot, if it has one, with its outcome.
    pub(super) fn finish(&mut self, index: usize, outcome: Outcome, now: Nanos) {
        let slot = &mut self.slots[index];
        if let Some(flight) = slot.flights.first() {
            self.progress.in_flight -= 1;
            flight.record(&mut self.tally, outcome, now);
            slot.complete(self.window, now);
        }
    }

    /// Ends all flights of a slot.
    pub(super) fn finish_all(&mut self, index: usize, outcome: Outcome, now: Nanos) {
        for _ in 0..self.slots[index].flights.len() {
            self.finish(index, outcome, now);
        }
    }

    /// Ends requests that are out of time and rests that are over.
    fn check_due(&mut self, now: Nanos) {
        if now < self.progress.next_check {
            return;
        }
        self.progress.next_check = Nanos::MAX;
        // Rare enough for a list of its own.
        let mut free = Vec::new();
        for index in 0..self.slots.len() {
            if let Some(due) = self.due(index)
                && due <= now
            {
                if self.slots[index].flights.is_empty() {
                    self.close(index);
                    self.progress.resting -= 1;
                } else {
                    self.timed_out(index, now);
                }
                free.push(index);
            }
            // What was sent again has a time of its own.
            if let Some(due) = self.due(index) {
                self.progress.next_check = self.progress.next_check.min(due);
            }
        }
        // When all of them timed out the slice ends here, not after another timeout.
        if !self.has_stopped_answering() {
            for index in free {
                self.freed(index, now);
            }
        }
    }

    /// When the oldest request of a slot is out of time, or its rest is over.
    fn due(&self, index: usize) -> Option<Nanos> {
        let slot = &self.slots[index];
        match (slot.flights.first(), slot.phase) {
            (Some(flight), _) => Some(flight.begun.plus(Nanos(self.plan.timeout_ns))),
            (None, Phase::Resting(until)) => Some(until),
            (None, _) => None,
        }
    }

    /// Gives up what is in flight: interrupted.
    fn abandon(&mut self) {
        let now = self.io.now();
        self.count_unsent(now);
        for index in 0..self.slots.len() {
            if !self.slots[index].flights.is_empty() {
                self.close(index);
                self.finish_all(index, Outcome::Unfinished, now);
            }
        }
    }
}
