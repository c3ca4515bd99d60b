//! How long it takes to wake up, learned from past sleeps.

use abx_sys::{Epoll, Events, Nanos};

/// How much earlier than needed a sleep should end.
///
/// A thread that sleeps until a moment runs some time after it: a few microseconds later
/// on dedicated hardware, tens of microseconds on a virtual machine. So a sleep is set to end
/// earlier, by the delay that nearly all sleeps have, and the thread waits awake for the rest.
/// That delay is the lower quartile of how late sleeps were: one sleep in four ends
/// before its moment, and three shortly after it. The median would make half of the sleeps
/// exact, but the other half would wake up early and wait awake: on a machine where sleeps
/// are late by 20 to 40 us, that costs most of the time that sleeping saves.
///
/// Method: one step up for each sleep that was later, three steps down for each other sleep.
/// This settles where three of four sleeps are later. Source: Robbins and Monro,
/// Annals of Mathematical Statistics 22 (1951).
pub(super) struct Wake {
    ahead: Nanos,
}

/// The value before any measurement.
const AHEAD_FIRST: Nanos = Nanos(30_000);
/// A longer delay means a busy machine, where waiting awake would not help.
const AHEAD_MAX: Nanos = Nanos(60_000);
/// No thread wakes up sooner.
const TAKES_MIN: Nanos = Nanos(2_000);
/// The length and number of the sleeps that measure how late sleeps are.
const SLEEP: Nanos = Nanos(50_000);
const SLEEPS: usize = 16;
const STEP: Nanos = Nanos(100);
const STEPS_DOWN: u64 = 3;

impl Wake {
    pub(super) fn new() -> Wake {
        Wake { ahead: AHEAD_FIRST }
    }

    /// Starts from some short sleeps of this thread, which take about a millisecond.
    pub(super) fn measured() -> Wake {
        let Ok(epoll) = Epoll::new() else {
            return Wake::new();
        };
        let mut events = Events::with_capacity(1);
        let mut late: [Nanos; SLEEPS] = std::array::from_fn(|_| {
            let ends = Nanos::now().plus(SLEEP);
            // A wait that fails is not late; later sleeps correct the value.
            let _ = epoll.wait(&mut events, Some(SLEEP));
            Nanos::now().since(ends)
        });
        late.sort_unstable();
        Wake {
            ahead: late[SLEEPS / 4].clamp(STEP, AHEAD_MAX),
        }
    }

    /// A lower bound of the time that most wake-ups take.
    pub(super) fn takes(&self) -> Nanos {
        self.ahead.max(TAKES_MIN)
    }

    /// How much earlier than its moment a sleep should end.
    pub(super) fn ahead(&self) -> Nanos {
        self.ahead
    }

    pub(super) fn was_late(&mut self, late: Nanos) {
        self.ahead = if late > self.ahead {
            self.ahead.plus(STEP).min(AHEAD_MAX)
        } else {
            self.ahead.since(Nanos(STEPS_DOWN * STEP.0))
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Where the value settles when sleeps are late by `least` to `most` µs, and how many of
    /// a thousand sleeps then end before their moment.
    fn settled(least: u64, most: u64) -> (Nanos, usize) {
        let mut random = Random::new(3);
        let mut wake = Wake::new();
        let mut draw = || Nanos(least * 1_000 + random.below((most - least) * 1_000 + 1));
        (0..2_000).for_each(|_| wake.was_late(draw()));
        let early = (0..1_000).filter(|_| {
            let late = draw();
            wake.was_late(late);
            late < wake.ahead()
        });
        let early = early.count();
        (wake.ahead(), early)
    }

    #[test]
    fn one_sleep_of_four_ends_before_its_moment() {
        // Method: sleeps that are late by random times of ranges, shorter and longer
        // than the first value; the value settles near the range's lower quartile.
        for (least, most, expected) in [(0, 8, 2), (20, 40, 25), (30, 50, 35)] {
            let (ahead, early) = settled(least, most);
            let off = ahead.0.abs_diff(expected * 1_000);
            assert!(off < 2_000, "{least} to {most} us: {ahead:?}");
            assert!((200..300).contains(&early), "{early}");
        }
    }

    #[test]
    fn a_thread_stays_awake_no_longer_than_the_limit() {
        // Method: sleeps that end a millisecond late, and sleeps that end in time.
        assert_eq!(settled(1_000, 1_000).0, AHEAD_MAX);
        assert!(settled(0, 0).0 <= STEP);
    }
}
