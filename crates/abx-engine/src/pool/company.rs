//! The workers of one slice, each of which keeps up its part of the load until all of
//! them know what they need, or none of them gets an answer any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the workers of one slice know of each other.
#[derive(Debug)]
pub(crate) struct SharedSlice {
    /// Workers that still need the load.
    unsettled: AtomicUsize,
    /// Workers with connections whose subject has not fallen silent.
    answered: AtomicUsize,
}

impl SharedSlice {
    /// A slice of so many workers, of whom so many have connections.
    pub(crate) fn new(workers: usize, with_connections: usize) -> Arc<SharedSlice> {
        Arc::new(SharedSlice {
            unsettled: AtomicUsize::new(workers),
            answered: AtomicUsize::new(with_connections),
        })
    }
}

/// Whether a worker has connections of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Connections,
    Nothing,
}

/// One worker's membership, which ends with the slice at the latest.
pub(crate) struct Company {
    shared: Arc<SharedSlice>,
    has_left: bool,
    /// Whether it is one of those that get answers.
    is_answered: bool,
}

impl Company {
    /// Nobody else.
    pub(crate) fn alone() -> Company {
        Company::of(&SharedSlice::new(1, 1), Part::Connections)
    }

    /// One of those that are counted there.
    pub(crate) fn of(shared: &Arc<SharedSlice>, part: Part) -> Company {
        Company {
            shared: Arc::clone(shared),
            has_left: false,
            is_answered: part == Part::Connections,
        }
    }

    /// This worker needs the load no more.
    pub(crate) fn leave(&mut self) {
        if !std::mem::replace(&mut self.has_left, true) {
            self.shared.unsettled.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether nobody needs it.
    pub(super) fn is_over(&self) -> bool {
        self.shared.unsettled.load(Ordering::Relaxed) == 0
    }

    /// Whether this worker's connections get answers.
    pub(super) fn is_answered(&mut self, is_answered: bool) {
        if std::mem::replace(&mut self.is_answered, is_answered) == is_answered {
            return;
        }
        let answered = &self.shared.answered;
        match is_answered {
            true => answered.fetch_add(1, Ordering::Relaxed),
            false => answered.fetch_sub(1, Ordering::Relaxed),
        };
    }

    /// Whether no worker's connections get any: those that have ended get none either.
    pub(super) fn is_silent(&self) -> bool {
        self.shared.answered.load(Ordering::Relaxed) == 0
    }

    /// This worker sends nothing any more.
    pub(super) fn end(&mut self) {
        self.leave();
        self.is_answered(false);
    }
}

impl Drop for Company {
    /// Nobody waits for a worker that has died.
    fn drop(&mut self) {
        self.end();
    }
}
