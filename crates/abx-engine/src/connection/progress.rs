//! How far a worker is with the slice that runs now.

use abx_sys::Nanos;

use crate::connection::clock::Counting;

pub(crate) struct Progress {
    pub(crate) open: bool,
    /// Nothing is sent from here on.
    pub(crate) end: Nanos,
    /// When the slice must next be checked for one of its edges.
    pub(crate) edge: Nanos,
    /// When to check next for connections that need not be awaited any more.
    pub(crate) settles: Nanos,
    pub(crate) counting: Counting,
    pub(crate) requests_left: u64,
    pub(crate) in_flight: usize,
    pub(crate) resting: usize,
    /// Failures and timeouts since the last whole response.
    pub(crate) failures: usize,
    pub(crate) timeouts: usize,
    /// Since when these counts mean that the subject does not respond here.
    pub(crate) silent_since: Option<Nanos>,
    /// When the clock was last read for the current action.
    pub(crate) acted: Nanos,
    /// Before this moment no timeout and no end of a rest is due.
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

    /// A slot rests until then, since its connect failed.
    pub(crate) fn rests(&mut self, until: Nanos) {
        self.resting += 1;
        self.failures += 1;
        self.next_check = self.next_check.min(until);
    }

    pub(crate) fn may_send(&self, now: Nanos) -> bool {
        self.open && now < self.end && self.requests_left > 0
    }

    /// Whether the slice has requests left.
    pub(crate) fn has_requests(&self) -> bool {
        self.requests_left > 0
    }

    /// A request is given up before it is sent.
    pub(crate) fn passes(&mut self) {
        self.requests_left -= 1;
    }

    /// The clock was read while there was work.
    pub(crate) fn acted(&mut self, now: Nanos) {
        self.acted = now;
    }

    pub(crate) fn responded(&mut self) {
        self.failures = 0;
        self.timeouts = 0;
    }
}
