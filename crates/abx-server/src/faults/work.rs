//! CPU work of a known length for each request.
//!
//! Short work is counted in turns of a loop, not timed by a clock: reading a thread's CPU time
//! takes a few hundred nanoseconds, as much as the work that it would measure.

use std::hint::black_box;
use std::time::Duration;

use abx_sys::{Nanos, thread_cpu};

/// From this length on, work is timed by the clock, whose cost is then below 1 %.
const BY_CLOCK: Duration = Duration::from_micros(100);
/// Turns are timed in intervals of about this length, in which two readings of the clock are
/// negligible. There are many intervals, so that some are undisturbed.
const INTERVAL: Nanos = Nanos(100_000);
const INTERVALS: usize = 40;

/// The CPU work of one request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Work {
    /// No work.
    #[default]
    Nothing,
    /// Work of this duration. Work below 100 µs is timed once, when the server starts, so two
    /// processes differ as much as their timings: by a few percent.
    Time(Duration),
    /// This number of turns of a loop with dependent steps: the same work in every process, about
    /// one to two nanoseconds per turn.
    Turns(u64),
}

impl Work {
    /// Converts short work to turns. These are the same for every request and, like any other work,
    /// take longer on a slower processor. Timing them takes a few milliseconds.
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

/// The duration of an undisturbed turn, in ns: the minimum of many intervals, because disturbances
/// only make them longer.
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

/// A chain of dependent steps, so that a processor can neither skip steps nor execute them in
/// parallel.
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
    fn long_work_is_timed_by_the_clock_and_no_work_takes_no_time() {
        // Method: the thread's CPU clock before and after; the work may only be longer.
        let before = thread_cpu();
        Work::Time(Duration::from_micros(300)).settled().perform();
        assert!(thread_cpu().since(before) >= Nanos(300_000));
        assert_eq!(Work::Time(Duration::ZERO).settled(), Work::Nothing);
    }

    #[test]
    fn short_work_becomes_turns_that_grow_with_its_length() {
        // Method: the turns of three lengths, each timed separately. The duration of a turn depends
        // on the machine, but a factor of ten in length outweighs any disturbance of the timing.
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
    fn turns_are_unchanged() {
        // Method: a number of turns is not timed.
        assert_eq!(Work::Turns(4_000).settled(), Work::Turns(4_000));
    }
}
