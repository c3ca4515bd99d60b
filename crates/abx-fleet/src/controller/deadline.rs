//! How long a controller waits for an agent that reports that it is still working.

use std::time::{Duration, Instant};

use abx_engine::Stopper;

use crate::message::TaskProgress;

/// The reason for the loss of an agent that never finishes.
pub const STILL_WORKING: &str = "it still reported work long after it should have finished";
/// How much longer than its load allows an agent may take. It is longer than the wait after which
/// agents themselves end a slice.
const GRACE: Duration = Duration::from_secs(20);

/// How long an order may take.
#[derive(Debug, Clone)]
pub struct OrderAllowance {
    pub stopper: Stopper,
    /// How long the order may take; `None` for no limit.
    pub within: Option<Duration>,
    /// How long the order may take without progress, and after a stop.
    pub pause: Duration,
    /// Each new connection is progress, up to this number.
    pub connections: u64,
}

impl OrderAllowance {
    /// The allowance of an order that should take this long, in a load with this timeout.
    pub fn new(stopper: &Stopper, within: Option<Duration>, timeout: Duration) -> OrderAllowance {
        let pause = timeout.saturating_mul(2).saturating_add(GRACE);
        OrderAllowance {
            stopper: stopper.clone(),
            within: within.map(|within| within.saturating_mul(2).saturating_add(pause)),
            pause,
            connections: 0,
        }
    }
}

/// When an order is given up.
#[derive(Debug)]
pub struct OrderDeadline<'a> {
    allowance: &'a OrderAllowance,
    at: Option<Instant>,
    has_stopped: bool,
    /// The most connections that the agent has reported.
    open: u64,
}

impl OrderDeadline<'_> {
    /// A deadline that begins now.
    pub fn begin(allowance: &OrderAllowance) -> OrderDeadline<'_> {
        OrderDeadline {
            allowance,
            at: allowance
                .within
                .and_then(|within| Instant::now().checked_add(within)),
            has_stopped: false,
            open: 0,
        }
    }

    /// Whether the deadline has passed.
    pub fn has_passed(&self) -> bool {
        self.at.is_some_and(|at| Instant::now() >= at)
    }

    /// Shortens the deadline after the load was stopped.
    pub fn note_stop(&mut self) {
        if !self.has_stopped {
            self.has_stopped = true;
            let last = Instant::now().checked_add(self.allowance.pause);
            self.at = [self.at, last].into_iter().flatten().min();
        }
    }

    /// Extends the deadline while the number of connections grows.
    pub fn note_progress(&mut self, progress: &TaskProgress) {
        if let TaskProgress::Opening { open, .. } = progress
            && !self.has_stopped
            && *open > self.open
            && *open <= self.allowance.connections
        {
            self.open = *open;
            self.at = Instant::now().checked_add(self.allowance.pause);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opening(open: u64) -> TaskProgress {
        TaskProgress::Opening {
            open,
            asked: 9,
            silent_ns: 0,
            at_most_ns: 0,
        }
    }

    #[test]
    fn only_new_connections_and_a_stop_move_a_deadline() {
        // Method: a deadline that passes at once, with a pause of an hour: the same number of
        // connections, more connections, and more than the load has.
        let hour = Duration::from_secs(3_600);
        let allowance = |connections| OrderAllowance {
            stopper: Stopper::default(),
            within: Some(Duration::ZERO),
            pause: hour,
            connections,
        };
        let moves = |connections, progress: TaskProgress| {
            let allowance = allowance(connections);
            let mut deadline = OrderDeadline::begin(&allowance);
            deadline.open = 3;
            deadline.note_progress(&progress);
            !deadline.has_passed()
        };
        assert!(moves(9, opening(4)));
        assert!(!moves(9, opening(3)));
        assert!(!moves(3, opening(4)));
        assert!(!moves(9, TaskProgress::Nothing));
        // A stop sets a deadline if there is none, and progress does not move it.
        let endless = OrderAllowance {
            within: None,
            pause: Duration::ZERO,
            ..allowance(9)
        };
        let mut deadline = OrderDeadline::begin(&endless);
        assert!(!deadline.has_passed());
        deadline.note_stop();
        deadline.note_progress(&opening(4));
        assert!(deadline.has_passed());
    }

    #[test]
    fn a_slice_may_take_twice_its_time_and_a_pause() {
        // Method: a slice of 1 s with a timeout of 5 s; times beyond the range of clocks.
        let second = Duration::from_secs(1);
        let allowance = OrderAllowance::new(&Stopper::default(), Some(second), 5 * second);
        assert_eq!(allowance.within, Some(32 * second));
        let longest = OrderAllowance::new(&Stopper::default(), Some(Duration::MAX), Duration::MAX);
        assert!(!OrderDeadline::begin(&longest).has_passed());
    }
}
