//! Pauses of the generator's own thread: abx stopped by a signal, or its machine suspended.
//!
//! A wait has a planned end. A thread that returns long after it either had no processor or
//! stood still, and the kernel counts how long it had none. A subject's bytes end a wait
//! early, never late, so a slow subject is no pause.

use abx_sys::Nanos;

/// Shorter pauses are not looked for: work on very many connections may take as long.
const PAUSE_MIN: Nanos = Nanos(250_000_000);

/// Notes from wait to wait by how much each ended too late.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PauseWatch {
    waited_until: Nanos,
}

impl PauseWatch {
    pub(crate) fn from(start: Nanos) -> PauseWatch {
        PauseWatch {
            waited_until: start,
        }
    }

    /// A wait until `until` ended at `now`. Returns by how much it was late, in ns: 0 for less
    /// than a pause.
    #[inline(always)]
    pub(crate) fn note(&mut self, until: Nanos, now: Nanos) -> u64 {
        let late = now.since(until.max(self.waited_until));
        self.waited_until = now;
        if late < PAUSE_MIN { 0 } else { late.0 }
    }
}

/// The part of late waits that was a pause. During the rest of the slice's wall time the thread
/// ran, or was ready to run.
pub(crate) fn paused_ns(late_ns: u64, wall_ns: u64, runnable_ns: u64) -> u64 {
    let paused_ns = late_ns.min(wall_ns.saturating_sub(runnable_ns));
    if paused_ns < PAUSE_MIN.0 {
        0
    } else {
        paused_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_thread_that_was_ready_to_run_was_not_paused() {
        // Method: a second late in a slice of three: all of it a pause; most of it without a
        // processor; nearly all of it without one, so that the rest is too short to count.
        let paused = |runnable_ms| paused_ns(1_000 * MS, 3_000 * MS, runnable_ms * MS);
        assert_eq!(paused(1_000), 1_000 * MS);
        assert_eq!(paused(2_500), 500 * MS);
        assert_eq!((paused(2_900), paused(4_000)), (0, 0));
        assert_eq!(paused_ns(0, 3_000 * MS, 0), 0);
    }

    #[test]
    fn a_wait_is_late_by_what_it_exceeds_its_end() {
        // Method: a wait that ends early, one that is a little late, one that is late by a
        // second, and one for a moment that had passed before it began.
        let at = |ms: u64| Nanos(ms * MS);
        let mut watch = PauseWatch::from(at(0));
        assert_eq!(watch.note(at(50), at(10)), 0);
        assert_eq!(watch.note(at(60), at(300)), 0);
        assert_eq!(watch.note(at(350), at(1_350)), 1_000 * MS);
        assert_eq!(watch.note(at(1_000), at(1_400)), 0);
    }
}
