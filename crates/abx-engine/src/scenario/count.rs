//! The counts of one worker's sessions in a slice.

use abx_evidence::{Outcome, SessionSample, Tally, TimelineTally};
use abx_sys::Nanos;

use super::plan::ScenarioPlan;
use super::tally::ScenarioTally;
use super::user::ScenarioUser;
use crate::connection::clock::{Clock, Counting};
use crate::plan::LoadPlan;
use crate::pool::{CourseKeeper, SliceParticipants, WorkerSlice};

/// A subject has stopped responding after this many failures without a response per user,
/// in a row, or when all users waited until their timeout.
const FAILURES_PER_USER_MAX: usize = 3;

/// The counts of one worker's sessions in a slice.
pub(crate) struct SessionCount {
    counting: Counting,
    clocks: Vec<Clock>,
    tally: Tally,
    course: CourseKeeper,
    participants: SliceParticipants,
    /// The latest end of the wait for sessions.
    wait_end: Nanos,
    /// Failures without a response in a row.
    failures: usize,
    /// How many of these failures were timeouts.
    timeouts: usize,
    /// The end of the time over which sessions are counted.
    pub(super) counted_until: Nanos,
    /// When the last session ended.
    pub(super) last: Nanos,
    pub(super) stopped_responding: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadNeed {
    Needed,
    /// No further session begins, and sessions under way do not matter.
    Over,
}

impl SessionCount {
    pub(super) fn new(
        slice: &WorkerSlice,
        participants: SliceParticipants,
        users: usize,
        load: &LoadPlan,
        plan: &ScenarioPlan,
    ) -> SessionCount {
        let counted = [slice.counted_from, slice.end];
        let counting = Counting::new(slice.basis(load), counted, users, 1);
        let length_ns = slice.end.since(slice.start).0;
        let thinks = plan.steps.iter().filter_map(|step| step.think);
        let thinks = thinks.fold(Nanos(0), |sum, think| sum.plus(think.most));
        // A user in a session at the end may need another whole session.
        let patience = Nanos(length_ns).max(plan.timeout);
        let patience = patience.plus(thinks).plus(thinks);
        let mut tally = Tally {
            timeline: { load.timeline }
                .map(|plan| Box::new(TimelineTally::new(plan, slice.start.0, length_ns))),
            ..Tally::default()
        };
        let mut course = CourseKeeper::none();
        course.begin(slice, &mut tally);
        SessionCount {
            clocks: vec![Clock::new(&counting); users],
            counting,
            tally,
            course,
            participants,
            wait_end: slice.end.plus(patience),
            failures: 0,
            timeouts: 0,
            counted_until: slice.end,
            last: Nanos(0),
            stopped_responding: false,
        }
    }

    /// Notes the beginning of a session. Returns whether it counts.
    pub(super) fn begins(&mut self, now: Nanos) -> bool {
        let counts = self.counting.counts(now);
        self.counting.in_flight += usize::from(counts);
        counts
    }

    pub(super) fn has_response(&mut self) {
        (self.failures, self.timeouts) = (0, 0);
    }

    pub(super) fn ends(&mut self, index: usize, user: &ScenarioUser, outcome: Outcome, now: Nanos) {
        let sample = SessionSample {
            began_ns: user.began.0,
            done_ns: now.0,
            think_ns: user.think.0,
            outcome,
            bytes: user.bytes,
        };
        if user.is_counted {
            self.counting.in_flight -= 1;
            self.tally.record_session(&sample);
        } else if outcome != Outcome::Unfinished {
            self.tally.discarded.add(outcome);
        }
        if outcome == Outcome::Unfinished {
            return;
        }
        self.last = now;
        let is_timed = self.clocks[index].ends(&mut self.counting, user.began, outcome, now);
        self.tally.clocked += u64::from(is_timed);
        if !outcome.is_completed() {
            self.failures += 1;
            self.timeouts += usize::from(outcome == Outcome::Timeout);
        }
    }

    /// When [`SessionCount::look`] must be called even without an event.
    pub(super) fn next_look(&self) -> Nanos {
        self.course.due()
    }

    /// Whether the load has to continue, for this worker and all others.
    pub(super) fn look(&mut self, now: Nanos) -> LoadNeed {
        self.course.look(now, &mut self.tally, &self.participants);
        let users = self.clocks.len();
        let is_silent =
            users > 0 && (self.failures >= FAILURES_PER_USER_MAX * users || self.timeouts >= users);
        if users > 0 {
            self.participants.has_response(!is_silent);
        }
        if is_silent && self.participants.is_silent() {
            self.stopped_responding = true;
            self.stops(now);
            return LoadNeed::Over;
        }
        let is_settled = now >= self.counting.end && self.counting.is_settled();
        if is_settled || now >= self.wait_end {
            self.participants.leave();
        }
        if self.participants.is_over() || now >= self.wait_end {
            LoadNeed::Over
        } else {
            LoadNeed::Needed
        }
    }

    /// Ends the counting: sessions that end later do not count.
    pub(super) fn stops(&mut self, now: Nanos) {
        self.counted_until = self.counted_until.min(now);
        for clock in &mut self.clocks {
            clock.stops(&mut self.counting, now);
        }
        self.course.finish(now, &mut self.tally, &self.participants);
        self.participants.end();
    }

    pub(super) fn close(mut self, counted: ScenarioTally) -> Tally {
        let basis = self.counting.basis;
        let window = self.counting.span(self.counted_until);
        for clock in &self.clocks {
            let time = clock.time(basis, window);
            self.tally.silent += u64::from(clock.span(basis).is_none());
            self.tally.clocks += u64::from(time.is_some());
            self.tally.connection_ns += time.unwrap_or_default().0;
        }
        self.tally.connects = counted.connections;
        self.tally.body_bytes = counted.body_bytes;
        self.tally.times.steps = counted.steps;
        self.tally
    }
}

pub(super) struct RanSlice<I> {
    pub(super) io: I,
    pub(super) users: Vec<ScenarioUser>,
    pub(super) count: SessionCount,
    pub(super) tally: ScenarioTally,
    /// How late waits ended in total, in ns.
    pub(super) late_ns: u64,
}
