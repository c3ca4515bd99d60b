//! Waiting for responses without sleeping, so that no send of the server pays for a wake-up.

use abx_sys::Nanos;

use super::contract::Awake;
use super::wake::Wake;

/// A wait stays awake for this many wake-up times: a server that responds more slowly loses
/// at most a hundredth of its response time by waking this thread.
const WAKES: u64 = 100;
/// If two polls are further apart, the thread did not have its processor in between.
const LOOK_MAX: Nanos = Nanos(20_000);

/// Polls for events for a bounded time.
#[derive(Default)]
pub(super) struct BusyWait {
    awake: Awake,
}

pub(super) struct Look {
    pub(super) now: Nanos,
    pub(super) has_events: bool,
}

impl BusyWait {
    /// Polls until there are events, until the moment `until`, or until the wait is so long that
    /// the cost of a wake-up to the server is negligible. Returns the last reading of the clock.
    pub(super) fn wait(
        &mut self,
        began: Nanos,
        until: Nanos,
        wake: &Wake,
        mut look: impl FnMut() -> Look,
    ) -> Nanos {
        let end = until.min(began.plus(Nanos(WAKES * wake.takes().0)));
        let mut before = began;
        loop {
            let Look { now, has_events } = look();
            if has_events {
                return now;
            }
            let span = now.since(before);
            if span > LOOK_MAX {
                self.awake.off_cpu_ns += span.0
            } else {
                self.awake.on_cpu_ns += span.0
            }
            if now >= end {
                return now;
            }
            before = now;
        }
    }

    /// The time waited since the last call.
    pub(super) fn take(&mut self) -> Awake {
        std::mem::take(&mut self.awake)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Nanos = Nanos(300);

    /// Waits for at most `span`, with events at poll number `events`. Poll number 2 takes
    /// `second`. Returns the number of polls, the time that the wait took, and the time awake.
    fn wait(span: Nanos, events: u64, second: Nanos) -> (u64, Nanos, Awake) {
        let began = Nanos(1_000_000_000);
        let (mut looks, mut now) = (0, began);
        let mut busy_wait = BusyWait::default();
        let end = busy_wait.wait(began, began.plus(span), &Wake::new(), || {
            looks += 1;
            now = now.plus(if looks == 2 { second } else { LOOK });
            Look {
                now,
                has_events: looks == events,
            }
        });
        assert_eq!(end, now);
        let awake = busy_wait.take();
        assert_eq!(busy_wait.take(), Awake::default());
        (looks, now.since(began), awake)
    }

    #[test]
    fn only_polls_without_events_count_as_waiting() {
        // Method: events at the first and at the fifth poll; the poll with the events is work.
        let span = Nanos(50_000_000);
        assert_eq!(wait(span, 1, LOOK), (1, LOOK, Awake::default()));
        let (looks, _, awake) = wait(span, 5, LOOK);
        assert_eq!(
            (looks, awake.on_cpu_ns, awake.off_cpu_ns),
            (5, 4 * LOOK.0, 0)
        );
    }

    #[test]
    fn a_wait_ends_at_its_moment_and_at_its_bound() {
        // Method: no event comes; an end that is near, and one beyond the bound.
        let (looks, took, _) = wait(Nanos(3_000), 0, LOOK);
        assert_eq!((looks, took), (10, Nanos(3_000)));
        let (looks, took, awake) = wait(Nanos(50_000_000), 0, LOOK);
        let bound = WAKES * Wake::new().takes().0;
        assert_eq!((looks, took), (bound / LOOK.0, Nanos(bound)));
        assert_eq!(awake.on_cpu_ns, bound);
    }

    #[test]
    fn time_without_a_processor_is_counted_separately() {
        // Method: the second poll takes a millisecond and finds no events.
        let (_, _, awake) = wait(Nanos(50_000_000), 4, Nanos(1_000_000));
        assert_eq!((awake.on_cpu_ns, awake.off_cpu_ns), (2 * LOOK.0, 1_000_000));
    }
}
