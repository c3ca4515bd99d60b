//! Waiting for responses without sleeping, so that no send of the server pays for a wake-up.

use abx_sys::Nanos;

use super::contract::Awake;
use super::wake::Wake;

/// A wait stays awake for this many wake-up times: a server that responds more slowly loses
/// at most a hundredth of its response time by waking this thread.
const WAKES: u64 = 100;
/// Between two looks that are further apart the thread did not have its processor.
const LOOK_MAX: Nanos = Nanos(20_000);

/// Looks for events again and again, for a bounded time.
#[derive(Default)]
pub(super) struct BusyWait {
    awake: Awake,
}

pub(super) struct Look {
    pub(super) now: Nanos,
    pub(super) has_events: bool,
}

impl BusyWait {
    /// Looks until there are events, the moment `until` is reached, or a wait has lasted
    /// so long that the cost of a wake-up to the other side does not count. Returns the
    /// last reading of the clock.
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

    /// Waits until `until` from 1 s on, with events at look number `events` and a
    /// look that takes `long` as look number 2. Returns the number of looks, and the rest.
    fn wait(until: Nanos, events: u64, long: Nanos) -> (u64, Nanos, Awake) {
        let began = Nanos(1_000_000_000);
        let (mut looks, mut now) = (0, began);
        let mut waiting = BusyWait::default();
        let end = waiting.wait(began, began.plus(until), &Wake::new(), || {
            looks += 1;
            now = now.plus(if looks == 2 { long } else { LOOK });
            Look {
                now,
                has_events: looks == events,
            }
        });
        assert_eq!(end, now);
        let awake = waiting.take();
        assert_eq!(waiting.take(), Awake::default());
        (looks, now.since(began), awake)
    }

    #[test]
    fn looks_that_found_nothing_are_what_was_waited() {
        // Method: events at the first and at the fifth look; the look that found them is work.
        let none = Awake::default();
        let later = Nanos(50_000_000);
        assert_eq!(wait(later, 1, LOOK), (1, LOOK, none));
        let (looks, _, awake) = wait(later, 5, LOOK);
        assert_eq!(
            (looks, awake.on_cpu_ns, awake.off_cpu_ns),
            (5, 4 * LOOK.0, 0)
        );
    }

    #[test]
    fn a_wait_ends_at_its_moment_and_at_its_bound() {
        // Method: no event ever comes; a moment that is near, and one beyond the bound.
        let (looks, took, _) = wait(Nanos(3_000), 0, LOOK);
        assert_eq!((looks, took), (10, Nanos(3_000)));
        let (looks, took, awake) = wait(Nanos(50_000_000), 0, LOOK);
        let bound = WAKES * Wake::new().takes().0;
        assert_eq!((looks, took), (bound / LOOK.0, Nanos(bound)));
        assert_eq!(awake.on_cpu_ns, bound);
    }

    #[test]
    fn time_without_a_processor_is_told_apart() {
        // Method: the second look takes a millisecond, and finds nothing.
        let (_, _, awake) = wait(Nanos(50_000_000), 4, Nanos(1_000_000));
        assert_eq!((awake.on_cpu_ns, awake.off_cpu_ns), (2 * LOOK.0, 1_000_000));
    }
}
