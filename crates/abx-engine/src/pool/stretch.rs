//! How a slice runs on a pool: what is due, what is out of time, when it ends.

use std::sync::atomic::{AtomicBool, Ordering};

use abx_evidence::Outcome;
use abx_sys::Nanos;

use super::{Pool, WAIT_MAX};
use crate::io::Io;
use crate::slot::{Clock, Flight, Phase};

/// A subject has stopped answering after this many failures per connection in a
/// row, or when every connection timed out, without one whole answer in between.
const FAILURES_PER_SLOT_MAX: usize = 3;

/// One worker's part of a slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    pub(crate) start: Nanos,
    /// Nothing is sent from here on.
    pub(crate) end: Nanos,
    /// What is sent from here on counts.
    pub(crate) counted_from: Nanos,
    /// At most this many requests are sent.
    pub(crate) requests_max: u64,
}

/// How a stretch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ran {
    /// The last outcome's time.
    pub(crate) end: Nanos,
    /// It ended early because no connection got an answer any more.
    pub(crate) stopped_answering: bool,
}

/// The progress of the slice that runs now.
pub(super) struct Progress {
    open: bool,
    counted_from: Nanos,
    requests_left: u64,
    pub(super) in_flight: usize,
    resting: usize,
    /// Failures and timeouts since the last whole answer.
    pub(super) failures: usize,
    timeouts: usize,
    /// Before this moment no timeout and no end of a rest is due.
    next_check: Nanos,
}

impl Progress {
    pub(super) fn idle() -> Progress {
        Progress {
            open: false,
            counted_from: Nanos::MAX,
            requests_left: 0,
            in_flight: 0,
            resting: 0,
            failures: 0,
            timeouts: 0,
            next_check: Nanos::MAX,
        }
    }

    /// A slot rests until then, since its connect failed.
    pub(super) fn rests(&mut self, until: Nanos) {
        self.resting += 1;
        self.failures += 1;
        self.next_check = self.next_check.min(until);
    }

    /// A whole answer came.
    pub(super) fn answered(&mut self) {
        self.failures = 0;
        self.timeouts = 0;
    }
}

impl<I: Io> Pool<I> {
    /// Loads the subject for one stretch and waits for what is in flight.
    pub(crate) fn run(&mut self, stretch: Stretch, stop: &AtomicBool) -> Ran {
        self.tally.clear();
        self.progress = Progress {
            open: true,
            counted_from: stretch.counted_from,
            requests_left: stretch.requests_max,
            ..Progress::idle()
        };
        for index in 0..self.slots.len() {
            let slot = &mut self.slots[index];
            slot.clock = Clock::default();
            if let Phase::Resting(_) = slot.phase {
                // A rest ends with its slice.
                slot.phase = Phase::Closed;
            }
            let now = self.io.now();
            self.begin(index, now);
        }
        let mut stopped_answering = false;
        let mut now = self.io.now();
        loop {
            self.progress.open &= now < stretch.end && self.progress.requests_left > 0;
            if self.has_stopped_answering() {
                stopped_answering = true;
                self.progress.open = false;
            }
            if self.progress.in_flight == 0 && !(self.progress.open && self.progress.resting > 0) {
                break;
            }
            if stop.load(Ordering::Relaxed) {
                self.abandon();
                break;
            }
            let due = if self.progress.open {
                stretch.end.min(self.progress.next_check)
            } else {
                self.progress.next_check
            };
            now = self.take_ready(due.min(now.plus(WAIT_MAX)));
            self.check_due(now);
        }
        Ran {
            end: self.close_clocks(stretch.start),
            stopped_answering,
        }
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

    /// Starts the next request of a slot: due now, as its connection is free now.
    pub(super) fn begin(&mut self, index: usize, now: Nanos) {
        if !self.progress.open || self.progress.requests_left == 0 {
            return;
        }
        self.progress.requests_left -= 1;
        self.progress.in_flight += 1;
        let deadline = now.plus(Nanos(self.plan.timeout_ns));
        self.progress.next_check = self.progress.next_check.min(deadline);
        let counted = now >= self.progress.counted_from;
        let request = self.chooser.draw();
        // A body that is not known beforehand cannot be compared.
        let is_known = self.plan.requests[request].expect.body.is_some();
        let hashed = is_known && self.sampler.draw();
        let slot = &mut self.slots[index];
        if counted {
            slot.clock.starts(now);
        }
        if hashed {
            slot.hasher.get_or_insert_with(|| self.hashers.take());
        }
        slot.flight = Some(Flight {
            intended: now,
            sent: None,
            counted,
            request,
            hashed,
            retried: false,
        });
        match slot.phase {
            Phase::Idle => self.start_sending(index, now),
            _ => self.connect(index, now),
        }
    }

    /// Ends a flight with its outcome.
    pub(super) fn finish(&mut self, index: usize, outcome: Outcome, now: Nanos) {
        let slot = &mut self.slots[index];
        let Some(flight) = slot.flight.take() else {
            return;
        };
        self.progress.in_flight -= 1;
        slot.clock.reaches(now);
        if flight.counted {
            self.tally.record(&flight.sample(outcome, now));
        } else {
            self.tally.discarded.add(outcome);
        }
    }

    /// Ends requests that are out of time and rests that are over.
    fn check_due(&mut self, now: Nanos) {
        if now < self.progress.next_check {
            return;
        }
        self.progress.next_check = Nanos::MAX;
        let timeout = Nanos(self.plan.timeout_ns);
        // Rare enough for a list of its own.
        let mut free = Vec::new();
        for index in 0..self.slots.len() {
            let slot = &self.slots[index];
            let due = match (slot.flight, slot.phase) {
                (Some(flight), _) => flight.intended.plus(timeout),
                (None, Phase::Resting(until)) => until,
                (None, _) => continue,
            };
            if due > now {
                self.progress.next_check = self.progress.next_check.min(due);
                continue;
            }
            self.close(index);
            if self.slots[index].flight.is_some() {
                self.progress.timeouts += 1;
                self.finish(index, Outcome::Timeout, now);
            } else {
                self.progress.resting -= 1;
            }
            free.push(index);
        }
        // When all of them timed out the slice ends here, not after another timeout.
        if !self.has_stopped_answering() {
            for index in free {
                self.begin(index, now);
            }
        }
    }

    /// Gives up what is in flight: interrupted.
    fn abandon(&mut self) {
        let now = self.io.now();
        for index in 0..self.slots.len() {
            if self.slots[index].flight.is_some() {
                self.close(index);
                self.finish(index, Outcome::Unfinished, now);
            }
        }
    }
}
