//! The workers of one slice, each of which keeps up its part of the load until all of
//! them know what they need.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One worker's membership, which ends with the slice at the latest.
pub(crate) struct Company {
    /// Workers that still need the load.
    unsettled: Arc<AtomicUsize>,
    has_left: bool,
}

impl Company {
    /// Nobody else.
    pub(crate) fn alone() -> Company {
        Company::of(&Arc::new(AtomicUsize::new(1)))
    }

    /// One of those that are counted there.
    pub(crate) fn of(unsettled: &Arc<AtomicUsize>) -> Company {
        Company {
            unsettled: Arc::clone(unsettled),
            has_left: false,
        }
    }

    /// This worker needs the load no more.
    pub(super) fn leave(&mut self) {
        if !std::mem::replace(&mut self.has_left, true) {
            self.unsettled.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether nobody needs it.
    pub(super) fn is_over(&self) -> bool {
        self.unsettled.load(Ordering::Relaxed) == 0
    }
}

impl Drop for Company {
    /// Nobody waits for a worker that has died.
    fn drop(&mut self) {
        self.leave();
    }
}
