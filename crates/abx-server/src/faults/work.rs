//! Processor time on purpose: the same work for each request, of a known length.
//!
//! Short work is counted in turns of a loop, not read from a clock: one reading
//! of a thread's processor time costs some hundred nanoseconds, as much as the
//! work that it would measure.

use std::hint::black_box;
use std::time::Duration;

use abx_sys::{Nanos, thread_cpu};

/// From here on the clock is read: its cost is then below a hundredth.
const BY_CLOCK: Duration = Duration::from_micros(100);
/// Turns are timed in intervals of about this length, in which two readings of
/// the clock do not count; many, so that some are not disturbed.
const INTERVAL: Nanos = Nanos(100_000);
const INTERVALS: usize = 40;

/// The processor time that one request costs on purpose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Work {
    /// None.
    #[default]
    Nothing,
    /// So much time. Work below 100 µs is timed once, when the server starts, so
    /// two processes differ by as much as their timings do: some percent.
    Time(Duration),
    /// So many turns of a loop whose steps need each other: the same work in
    /// every process, about one to two nanoseconds each.
    Turns(u64),
}

impl Work {
    /// The same work as it is performed: short work as turns, which are then the
    /// same for every request and like any other work take longer when the
    /// processor gets slower. Timing them takes some milliseconds.
    pub(crate) fn settled(self) -> Work {
        match self {
            Work::Time(length) if length.is_zero() => Work::Nothing,
            Work::Time(length) if length < BY_CLOCK => {
                let turns = Nanos::from(length).0 as f64 / turn_ns();
                Work::Turns(turns.round() as u64)
            }
            other => other,
        }
    }

    pub(crate) fn perform(self) {
        match self {
            Work::Nothing => {}
            Work::Turns(turns) => turn(turns),
            Work::Time(length) => {
                let end = thread_cpu().plus(length.into());
                while thread_cpu() < end {
                    std::hint::spin_loop();
                }
            }
        }
    }
}

/// What one turn takes when nothing disturbs it, in ns: the least of many
/// intervals, since whatever disturbs one makes it longer.
fn turn_ns() -> f64 {
    let mut turns = 1_000;
    while time_of(turns) < INTERVAL {
        turns *= 2;
    }
    let intervals = (0..INTERVALS).map(|_| time_of(turns).0);
    let least = intervals.min().unwrap_or_default().max(1);
    least as f64 / turns as f64
}

fn time_of(turns: u64) -> Nanos {
    let before = thread_cpu();
    turn(turns);
    thread_cpu().since(before)
}

/// A chain in which each step needs the one before, so that a processor can
/// neither skip steps nor do them side by side.
fn turn(turns: u64) {
    let mut state = black_box(0x9e37_79b9_7f4a_7c15_u64);
    for _ in 0..turns {
        state = (state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    black_box(state);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_work_is_paid_by_the_clock_and_none_is_free() {
        // Method: the thread's clock before and after; it may only be late.
        let before = thread_cpu();
        Work::Time(Duration::from_micros(300)).settled().perform();
        assert!(thread_cpu().since(before) >= Nanos(300_000));
        assert_eq!(Work::Time(Duration::ZERO).settled(), Work::Nothing);
    }

    #[test]
    fn short_work_is_the_same_number_of_turns_each_time_and_grows_with_its_length() {
        // Method: the turns of three lengths, each timed again. How long a turn
        // takes is the machine's affair; that ten times as long is more turns
        // than twice as long holds for whatever disturbs the timing.
        let turns = |ns| match Work::Time(Duration::from_nanos(ns)).settled() {
            Work::Turns(turns) => turns,
            other => panic!("{ns} ns are {other:?}"),
        };
        let (short, long, longest) = (turns(500), turns(5_000), turns(50_000));
        assert!(
            0 < short && short < long && long < longest,
            "{short} {long} {longest}"
        );
    }

    #[test]
    fn turns_are_left_as_they_are() {
        // Method: what was counted before is not timed again.
        assert_eq!(Work::Turns(4_000).settled(), Work::Turns(4_000));
    }
}
