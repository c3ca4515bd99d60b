//! Records the course of a slice: at the end of each interval, the growth of the tally since the
//! last interval. No work is done per request.

use abx_evidence::{CourseTally, Histogram, Interval, Outcomes, Tally};
use abx_sys::Nanos;

use super::participants::SliceParticipants;
use super::worker_slice::WorkerSlice;

pub(crate) struct CourseKeeper {
    interval: Nanos,
    start: Nanos,
    end: Nanos,
    /// The number of the current interval, from zero.
    number: usize,
    /// When the interval ends; never, if no course is recorded.
    due: Nanos,
    /// The tally's counts at the end of the last interval.
    outcomes: Outcomes,
    response: Histogram,
}

impl CourseKeeper {
    pub(crate) fn none() -> CourseKeeper {
        CourseKeeper {
            interval: Nanos::MAX,
            start: Nanos(0),
            end: Nanos::MAX,
            number: 0,
            due: Nanos::MAX,
            outcomes: Outcomes::default(),
            response: Histogram::new(),
        }
    }

    /// Begins a slice, whose tally is empty.
    pub(crate) fn begin(&mut self, slice: &WorkerSlice, tally: &mut Tally) {
        let Some(plan) = slice.course else {
            self.due = Nanos::MAX;
            return;
        };
        tally.course = Some(Box::new(CourseTally::new(plan)));
        self.response.reserve();
        self.response.clear();
        *self = CourseKeeper {
            interval: Nanos(plan.interval_ns.max(1)),
            start: slice.start,
            end: slice.end,
            number: 0,
            due: slice.start,
            outcomes: Outcomes::default(),
            response: std::mem::take(&mut self.response),
        };
        self.due = self.end_of(0);
    }

    /// When [`CourseKeeper::look`] must be called again.
    pub(crate) fn due(&self) -> Nanos {
        self.due
    }

    /// Records the intervals that are over. The growth of the tally since the last call
    /// belongs to the first of them.
    pub(crate) fn look(&mut self, now: Nanos, tally: &mut Tally, participants: &SliceParticipants) {
        while now >= self.due {
            self.note(self.due, tally, participants);
            self.number += 1;
            self.due = if self.due >= self.end {
                Nanos::MAX
            } else {
                self.end_of(self.number)
            };
        }
    }

    /// Records the rest of the slice as a shorter interval.
    pub(crate) fn finish(
        &mut self,
        now: Nanos,
        tally: &mut Tally,
        participants: &SliceParticipants,
    ) {
        self.look(now, tally, participants);
        let began = self
            .start
            .plus(Nanos(self.interval.0.saturating_mul(self.number as u64)));
        if self.due < Nanos::MAX && now > began {
            self.note(now, tally, participants);
        }
        self.due = Nanos::MAX;
    }

    fn end_of(&self, number: usize) -> Nanos {
        let length = self.interval.0.saturating_mul(number as u64 + 1);
        self.start.plus(Nanos(length)).min(self.end)
    }

    fn note(&mut self, until: Nanos, tally: &mut Tally, participants: &SliceParticipants) {
        let mut interval = Interval {
            outcomes: tally.outcomes.since(&self.outcomes),
            ..Interval::default()
        };
        self.outcomes.clone_from(&tally.outcomes);
        let response = &mut interval.response;
        let record = |us, times| response.record_us(us, times);
        tally.times.response.report_new(&mut self.response, record);
        if let Some(course) = &mut tally.course {
            course.add(self.number, until.since(self.start).0, &interval);
        }
        participants.reports_interval(self.number, interval);
    }
}
