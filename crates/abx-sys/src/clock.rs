//! The two clocks that abx reads: monotonic time and a thread's CPU time.

use std::io;
use std::num::NonZeroU64;
use std::time::Duration;

use rustix::thread::set_current_timer_slack;
use rustix::time::{ClockId, clock_gettime};

/// A moment or a span on the monotonic clock, in nanoseconds.
///
/// The zero is the machine's, so a moment has a meaning only relative to another one
/// of the same boot. 64 bits hold 584 years.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The end of time: later than every moment that the clock gives.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// Reads the monotonic clock.
    #[must_use]
    pub fn now() -> Nanos {
        read(ClockId::Monotonic)
    }

    /// The span from `earlier` to this moment, zero when `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// This moment moved later by a span; stays at [`Nanos::MAX`] at the end.
    #[must_use]
    pub fn plus(self, span: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(span.0))
    }

    /// The span as seconds.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl From<Duration> for Nanos {
    /// Spans above 584 years become [`Nanos::MAX`].
    fn from(span: Duration) -> Nanos {
        Nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(span: Nanos) -> Duration {
        Duration::from_nanos(span.0)
    }
}

/// Makes the calling thread's timed waits end when they should, not up to 50 us
/// later, which is the usual slack of a thread's timers.
///
/// # Errors
/// The kernel's error; not seen.
pub fn sharpen_timers() -> io::Result<()> {
    Ok(set_current_timer_slack(NonZeroU64::new(1))?)
}

/// CPU time that the calling thread has used so far, user and system.
#[must_use]
pub fn thread_cpu() -> Nanos {
    read(ClockId::ThreadCPUTime)
}

fn read(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock);
    // Both fields are never negative for these clocks.
    Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_does_not_run_backwards() {
        // Method: two readings, and the saturating span between them both ways.
        let first = Nanos::now();
        let second = Nanos::now();
        assert!(second >= first);
        assert_eq!(first.since(second.plus(Nanos(1))), Nanos(0));
    }

    #[test]
    fn a_working_thread_uses_cpu_time() {
        // Method: work until the clock has moved; a clock that stood still would hang.
        let before = thread_cpu();
        let mut sum = 0_u64;
        while thread_cpu() == before {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(thread_cpu() > before);
    }

    #[test]
    fn a_span_survives_a_conversion_to_duration_and_back() {
        // Method: converted and back, and the saturating end.
        let span = Nanos(1_234_567_890);
        assert_eq!(Nanos::from(Duration::from(span)), span);
        assert_eq!(Nanos::from(Duration::MAX), Nanos::MAX);
    }
}
