//! Holds the opening of connections to an agent's highest rate. A connection counts as a request:
//! many servers work more for one than for the other.

use std::thread;
use std::time::Duration;

use abx_engine::schedule::{Amount, PerSecond};
use abx_engine::{LoadPart, LoadPlan, OpenReport, Stopper};
use abx_sys::Nanos;

/// How often a wait looks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// When connections may be opened.
#[derive(Debug)]
pub struct OpeningPace {
    /// `None` for no limit.
    rate_max: Option<PerSecond>,
    /// No connection is opened before this moment.
    free_at: Nanos,
}

impl OpeningPace {
    /// At most so many connections per second.
    pub fn new(rate_max: Option<PerSecond>) -> OpeningPace {
        OpeningPace {
            rate_max,
            free_at: Nanos(0),
        }
    }

    /// Lowers the rate at which a load opens its connections, so that this part of it stays
    /// within the limit.
    pub fn limit(&self, plan: &mut LoadPlan, part: LoadPart) {
        let Some(max) = self.rate_max else {
            return;
        };
        let whole = max.amount().thousandths().saturating_mul(part.of.into());
        let whole = Amount::from_thousandths(whole).unwrap_or(Amount::MAX);
        if let Ok(whole) = PerSecond::try_from(whole) {
            plan.opening_limit = Some(whole);
        }
    }

    /// Waits until earlier openings are within the limit, or the load is to stop.
    pub fn wait(&self, stopper: &Stopper) {
        while !stopper.is_stopped() {
            let left = self.free_at.since(Nanos::now());
            if left == Nanos(0) {
                break;
            }
            thread::sleep(Duration::from(left).min(LOOK_EVERY));
        }
    }

    /// Takes note of an opening that began at this moment.
    pub fn note(&mut self, began: Nanos, report: &OpenReport) {
        let Some(max) = self.rate_max else {
            return;
        };
        let failed: u64 = report.failures.iter().map(|(_, count)| count).sum();
        let tries = u128::from(failed) + report.opened as u128;
        let takes = tries * 1_000_000_000_000 / u128::from(max.amount().thousandths());
        let takes = Nanos(u64::try_from(takes).unwrap_or(u64::MAX));
        self.free_at = self.free_at.max(began).plus(takes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_take_as_long_as_so_many_requests() {
        // Method: ten per second. Five connections take half a second, wherever they fall; a
        // pause is not saved up; without a limit nothing takes any time.
        let report = OpenReport {
            opened: 5,
            standing: 5,
            ..OpenReport::default()
        };
        let mut pace = OpeningPace::new(Some("10".parse().unwrap()));
        pace.note(Nanos(1_000), &report);
        assert_eq!(pace.free_at, Nanos(500_001_000));
        pace.note(Nanos(2_000), &report);
        assert_eq!(pace.free_at, Nanos(1_000_001_000));
        pace.note(Nanos(9_000_000_000), &report);
        assert_eq!(pace.free_at, Nanos(9_500_000_000));
        let mut free = OpeningPace::new(None);
        free.note(Nanos(1_000), &report);
        assert_eq!(free.free_at, Nanos(0));
    }
}
