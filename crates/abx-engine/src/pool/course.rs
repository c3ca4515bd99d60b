//! Keeps the course of a slice: at the end of each stretch of it, what its tally has had since
//! the last one. Nothing is done for a request.

use abx_evidence::{CourseTally, Histogram, Outcomes, Stretch, Tally};
use abx_sys::Nanos;

use super::company::Company;
use super::worker_slice::WorkerSlice;

pub(super) struct CourseKeeper {
    stretch: Nanos,
    start: Nanos,
    end: Nanos,
    /// Which stretch it is, from zero.
    number: usize,
    /// When it is over; never, when no course is kept.
    due: Nanos,
    /// What the tally had at the end of the last one.
    outcomes: Outcomes,
    response: Histogram,
}

impl CourseKeeper {
    pub(super) fn none() -> CourseKeeper {
        CourseKeeper {
            stretch: Nanos::MAX,
            start: Nanos(0),
            end: Nanos::MAX,
            number: 0,
            due: Nanos::MAX,
            outcomes: Outcomes::default(),
            response: Histogram::new(),
        }
    }

    /// Begins with a slice whose tally is empty, if its course is to be kept.
    pub(super) fn begin(&mut self, slice: &WorkerSlice, tally: &mut Tally) {
        let Some(plan) = slice.course else {
            self.due = Nanos::MAX;
            return;
        };
        tally.course = Some(Box::new(CourseTally::new(plan)));
        self.response.reserve();
        self.response.clear();
        *self = CourseKeeper {
            stretch: Nanos(plan.stretch_ns.max(1)),
            start: slice.start,
            end: slice.end,
            number: 0,
            due: slice.start,
            outcomes: Outcomes::default(),
            response: std::mem::take(&mut self.response),
        };
        self.due = self.end_of(0);
    }

    /// When it is to be asked again.
    pub(super) fn due(&self) -> Nanos {
        self.due
    }

    /// Takes note of the stretches that are over. What the tally has had since the last look
    /// belongs to the first of them.
    pub(super) fn look(&mut self, now: Nanos, tally: &mut Tally, company: &Company) {
        while now >= self.due {
            self.note(self.due, tally, company);
            self.number += 1;
            self.due = match self.due >= self.end {
                true => Nanos::MAX,
                false => self.end_of(self.number),
            };
        }
    }

    /// The slice has ended: what is left is a shorter stretch.
    pub(super) fn finish(&mut self, now: Nanos, tally: &mut Tally, company: &Company) {
        self.look(now, tally, company);
        let began = self
            .start
            .plus(Nanos(self.stretch.0.saturating_mul(self.number as u64)));
        if self.due < Nanos::MAX && now > began {
            self.note(now, tally, company);
        }
        self.due = Nanos::MAX;
    }

    fn end_of(&self, number: usize) -> Nanos {
        let length = self.stretch.0.saturating_mul(number as u64 + 1);
        self.start.plus(Nanos(length)).min(self.end)
    }

    fn note(&mut self, until: Nanos, tally: &mut Tally, company: &Company) {
        let mut stretch = Stretch {
            outcomes: tally.outcomes.since(&self.outcomes),
            ..Stretch::default()
        };
        self.outcomes.clone_from(&tally.outcomes);
        let response = &mut stretch.response;
        let tell = |us, times| response.record_us(us, times);
        tally.response.tell_new(&mut self.response, tell);
        if let Some(course) = &mut tally.course {
            course.add(self.number, until.since(self.start).0, &stretch);
        }
        company.tells_stretch(self.number, stretch);
    }
}
