//! Timers of later actions.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use abx_sys::Nanos;

/// Entries with a time each, the earliest first.
pub(crate) struct Timers<T>(BinaryHeap<Reverse<(Nanos, T)>>);

impl<T: Copy + Ord> Timers<T> {
    pub(crate) fn new() -> Timers<T> {
        Timers(BinaryHeap::new())
    }

    pub(crate) fn set(&mut self, at: Nanos, entry: T) {
        self.0.push(Reverse((at, entry)));
    }

    pub(crate) fn next_at(&self) -> Option<Nanos> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    /// Removes the earliest entry if its time has come.
    pub(crate) fn take_due(&mut self, now: Nanos) -> Option<(Nanos, T)> {
        self.next_at().filter(|at| *at <= now)?;
        self.0.pop().map(|Reverse(timer)| timer)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
