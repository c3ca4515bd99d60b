//! The progress of a worker with the running slice.

use abx_sys::Nanos;

use crate::connection::clock::Counting;

pub(crate) struct Progress {
    pub(crate) open: bool,
    /// Nothing is sent from here on.
    pub(crate) end: Nanos,
    /// The next edge: the end of an interval or of the counted part, or a report.
    pub(crate) edge: Nanos,
    /// When to check next for connections that need not be awaited any more.
    pub(crate) settles: Nanos,
    pub(crate) counting: Counting,
    pub(crate) requests_left: u64,
    pub(crate) in_flight: usize,
    pub(crate) resting: usize,
    /// Failures since the last whole response.
    pub(crate) failures: usize,
    /// Timeouts since the last whole response.
    pub(crate) timeouts: usize,
    /// Since when the failures and timeouts mean that the subject does not respond to this worker.
    pub(crate) silent_since: Option<Nanos>,
    /// The last reading of the clock during the current action.
    pub(crate) acted: Nanos,
    /// No timeout and no end of a rest is due before this moment.
    pub(crate) next_check: Nanos,
}

impl Progress {
    pub(crate) fn idle() -> Progress {
        Progress {
            open: false,
            end: Nanos(0),
            edge: Nanos::MAX,
            settles: Nanos::MAX,
            counting: Counting::NOTHING,
            requests_left: 0,
            in_flight: 0,
            resting: 0,
            failures: 0,
            timeouts: 0,
            silent_since: None,
            acted: Nanos(0),
            next_check: Nanos::MAX,
        }
    }

    /// A slot rests until this moment, since its connect failed.
    pub(crate) fn rests(&mut self, until: Nanos) {
        self.resting += 1;
        self.failures += 1;
        self.next_check = self.next_check.min(until);
    }

    pub(crate) fn may_send(&self, now: Nanos) -> bool {
        self.open && now < self.end && self.requests_left > 0
    }

    pub(crate) fn has_requests(&self) -> bool {
        self.requests_left > 0
    }

    /// Gives up a request before it is sent.
    pub(crate) fn passes(&mut self) {
        self.requests_left -= 1;
    }

    /// Notes a reading of the clock during the current action.
    pub(crate) fn acted(&mut self, now: Nanos) {
        self.acted = now;
    }

    pub(crate) fn responded(&mut self) {
        self.failures = 0;
        self.timeouts = 0;
    }
}
