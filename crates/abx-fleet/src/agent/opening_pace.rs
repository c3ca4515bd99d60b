//! Limits the opening of connections to an agent's highest rate. A connection counts as a request,
//! because it costs many servers more than a request.

use std::thread;
use std::time::Duration;

use abx_engine::schedule::{Amount, PerSecond};
use abx_engine::{LoadPart, LoadPlan, OpenReport, Stopper};
use abx_sys::Nanos;

/// How often a wait checks whether it must end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// When connections may be opened.
#[derive(Debug)]
pub struct OpeningPace {
    /// `None` for no limit.
    rate_max: Option<PerSecond>,
    /// No connection is opened before this time.
    free_at: Nanos,
}

impl OpeningPace {
    /// A pace of at most this number of connections per second.
    pub fn new(rate_max: Option<PerSecond>) -> OpeningPace {
        OpeningPace {
            rate_max,
            free_at: Nanos(0),
        }
    }

    /// Lowers the rate at which a load opens its connections, so that this part stays within the
    /// limit.
    pub fn limit(&self, plan: &mut LoadPlan, part: LoadPart) {
        let Some(max) = self.rate_max else {
            return;
        };
        let total = max.amount().thousandths().saturating_mul(part.of.into());
        let total = Amount::from_thousandths(total).unwrap_or(Amount::MAX);
        if let Ok(total) = PerSecond::try_from(total) {
            plan.opening_limit = Some(total);
        }
    }

    /// Waits until earlier openings are within the limit, or the load must stop.
    pub fn wait(&self, stopper: &Stopper) {
        while !stopper.is_stopped() {
            let left = self.free_at.since(Nanos::now());
            if left == Nanos(0) {
                break;
            }
            thread::sleep(Duration::from(left).min(LOOK_EVERY));
        }
    }

    /// Counts an opening that began at this time.
    pub fn note(&mut self, began: Nanos, report: &OpenReport) {
        let Some(max) = self.rate_max else {
            return;
        };
        let failed: u64 = report.failures.iter().map(|(_, count)| count).sum();
        let tries = u128::from(failed) + report.opened as u128;
        let cost_ns = tries * 1_000_000_000_000 / u128::from(max.amount().thousandths());
        let cost = Nanos(u64::try_from(cost_ns).unwrap_or(u64::MAX));
        self.free_at = self.free_at.max(began).plus(cost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_cost_as_much_time_as_requests() {
        // Method: ten per second. Five connections take half a second whenever they begin, unused
        // time does not accumulate, and without a limit connections take no time.
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
