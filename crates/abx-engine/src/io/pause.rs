//! Pauses of the generator's own thread: abx stopped by a signal, or its machine suspended.
//!
//! A wait has a planned end. A thread that returns long after it either waited for a processor,
//! which the kernel counts, or was paused. A subject's bytes end a wait early, never late, so a
//! slow subject is no pause.

use abx_sys::Nanos;

/// Shorter delays are no pauses: work on very many connections may take as long.
const PAUSE_MIN: Nanos = Nanos(250_000_000);

/// Measures how late each wait ends.
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

    /// Notes that a wait until `until` ended at `now`. Returns how late it was, in ns, or 0 if
    /// that is shorter than a pause.
    #[inline(always)]
    pub(crate) fn note(&mut self, until: Nanos, now: Nanos) -> u64 {
        let late = now.since(until.max(self.waited_until));
        self.waited_until = now;
        if late < PAUSE_MIN { 0 } else { late.0 }
    }
}

/// The part of the late waits that was a pause. In the rest of the slice's wall time the thread
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
        // Method: waits that are late by a second in a slice of three. The delay is all pause, half
        // without a processor, and nearly all without a processor, so that the rest is too short.
        let paused = |runnable_ms| paused_ns(1_000 * MS, 3_000 * MS, runnable_ms * MS);
        assert_eq!(paused(1_000), 1_000 * MS);
        assert_eq!(paused(2_500), 500 * MS);
        assert_eq!((paused(2_900), paused(4_000)), (0, 0));
        assert_eq!(paused_ns(0, 3_000 * MS, 0), 0);
    }

    #[test]
    fn a_wait_is_late_from_its_planned_end_or_its_beginning() {
        // Method: a wait that ends early, one that is a little late, one that is late by a
        // second, and one whose planned end had passed before it began.
        let at = |ms: u64| Nanos(ms * MS);
        let mut watch = PauseWatch::from(at(0));
        assert_eq!(watch.note(at(50), at(10)), 0);
        assert_eq!(watch.note(at(60), at(300)), 0);
        assert_eq!(watch.note(at(350), at(1_350)), 1_000 * MS);
        assert_eq!(watch.note(at(1_000), at(1_400)), 0);
    }
}
