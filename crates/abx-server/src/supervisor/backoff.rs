//! How long to wait before a worker that ended is replaced.

use std::time::Duration;

/// Counts consecutive workers that ended soon after their start.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    early_ends: u32,
}

impl Backoff {
    /// How long to wait after a worker with this lifetime: not at all after a long-lived one, and
    /// twice as long each time after a short-lived one.
    pub(super) fn after(&mut self, lived: Duration) -> Duration {
        if lived >= A_WHILE {
            self.early_ends = 0;
            return Duration::ZERO;
        }
        let wait = FIRST_WAIT * 2_u32.pow(self.early_ends.min(DOUBLINGS_MAX));
        self.early_ends += 1;
        wait.min(LONGEST_WAIT)
    }
}

/// A worker with this lifetime did not end because of its start.
const A_WHILE: Duration = Duration::from_secs(1);
const FIRST_WAIT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// More doublings would exceed the longest wait in any case.
const DOUBLINGS_MAX: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_second_until_a_worker_lives() {
        // Method: nine workers that end at once, one that runs for a second, and one more.
        let mut backoff = Backoff::default();
        let mut after = |ms| backoff.after(Duration::from_millis(ms)).as_millis();
        let waits: Vec<u128> = (0..9).map(|_| after(999)).collect();
        assert_eq!(waits, [10, 20, 40, 80, 160, 320, 640, 1_000, 1_000]);
        assert_eq!([after(1_000), after(0), after(0)], [0, 10, 20]);
    }
}
