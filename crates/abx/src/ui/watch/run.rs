//! The progress of a run: one line on a terminal, and nothing anywhere else. The generator's
//! workers report their figures at the end of each interval.

use std::collections::VecDeque;
use std::time::Duration;

use abx_engine::ReportedInterval;
use abx_evidence::{Interval, Outcomes};
use abx_lab::{Pending, RunEnd, RunProgress};
use abx_report::{RunGoal, RunNow, opening_line, responses_line, run_line, verification_line};

use super::display::{Display, Urgency};
use super::waiting::waiting;

/// The number of intervals in the recent figures: a second.
const RECENT: usize = 10;
/// Intervals per column of the sparkline, and columns.
const COLUMN: usize = 5;
const COLUMNS: usize = 24;

/// The state of a run that is under way.
pub struct RunWatch {
    display: Display,
    goal: RunGoal,
    /// How long an interval is.
    interval: Duration,
    outcomes: Outcomes,
    /// The last intervals, as far as workers have reported them, the newest last.
    intervals: VecDeque<Interval>,
    /// How many older intervals were dropped.
    dropped: usize,
}

impl RunWatch {
    /// Follows a run with this end; `None` if no user would see it.
    pub fn new(quiet: bool, end: RunEnd) -> Option<RunWatch> {
        Some(RunWatch {
            display: Display::on_terminal(quiet)?,
            goal: match end {
                RunEnd::After(span) => RunGoal::After(span),
                RunEnd::AfterRequests(count) => RunGoal::AfterRequests(count),
            },
            interval: end.interval(),
            outcomes: Outcomes::default(),
            intervals: VecDeque::new(),
            dropped: 0,
        })
    }

    /// Handles an event of the run.
    pub fn see(&mut self, progress: RunProgress) {
        match progress {
            RunProgress::Pending(Pending::Over) => self.display.return_to_last(),
            RunProgress::Pending(pending) => self.display.interrupt(&waiting_for_server(&pending)),
            RunProgress::Intervals(intervals) => {
                for reported in intervals {
                    self.count(reported);
                }
                self.draw();
            }
        }
    }

    /// Clears the line on the terminal.
    pub fn finish(&self) {
        self.display.clear();
    }

    fn count(&mut self, reported: &ReportedInterval) {
        self.outcomes.merge(&reported.interval.outcomes);
        // An interval that was dropped is in the sums only.
        let Some(index) = reported.number.checked_sub(self.dropped) else {
            return;
        };
        if self.intervals.len() <= index {
            self.intervals.resize_with(index + 1, Interval::default);
        }
        self.intervals[index].merge(&reported.interval);
        // Only whole columns are dropped, so that the others keep their height as they move.
        while self.intervals.len() > COLUMN * (COLUMNS + 1) {
            self.intervals.drain(..COLUMN);
            self.dropped += COLUMN;
        }
    }

    fn draw(&mut self) {
        // Some workers may not have reported the newest interval yet.
        let complete = self.intervals.len().saturating_sub(1);
        if complete == 0 {
            return;
        }
        let mut recent = Interval::default();
        let start = complete.saturating_sub(RECENT);
        let last = self.intervals.range(start..complete);
        let seconds = self.interval.as_secs_f64() * last.len() as f64;
        last.for_each(|interval| recent.merge(interval));
        let intervals = self.intervals.make_contiguous();
        let columns = intervals[..complete].chunks(COLUMN);
        let rates: Vec<f64> = columns
            .map(|column| {
                let ok: u64 = column.iter().map(|interval| interval.outcomes.ok()).sum();
                ok as f64 / (self.interval.as_secs_f64() * column.len() as f64)
            })
            .collect();
        let count = u32::try_from(self.dropped + complete).unwrap_or(u32::MAX);
        let line = run_line(&RunNow {
            elapsed: self.interval.saturating_mul(count),
            goal: self.goal,
            per_s: recent.outcomes.ok() as f64 / seconds,
            quantiles_us: [0.5, 0.99].map(|share| recent.response.quantile_us(share)),
            came: &self.outcomes,
            rates: &rates[rates.len().saturating_sub(COLUMNS)..],
        });
        self.display.show(&line, Urgency::Movement);
    }
}

/// The line for the current wait, without the name of the only server.
fn waiting_for_server(pending: &Pending) -> String {
    const SERVER: &str = "the server";
    match *pending {
        Pending::Verification {
            waited, at_most, ..
        } => verification_line(SERVER, waited, at_most),
        Pending::Connections {
            open,
            asked,
            silent,
            at_most,
            ..
        } => opening_line(SERVER, (open, asked), silent, at_most),
        Pending::Responses {
            connections,
            waited,
            at_most,
            ..
        } => responses_line(SERVER, connections, waited, at_most),
        ref other => waiting(other),
    }
}

#[cfg(test)]
mod tests {
    use abx_evidence::Outcome;

    use super::*;

    fn reported(number: usize, ok: usize) -> ReportedInterval {
        let mut interval = Interval::default();
        (0..ok).for_each(|_| interval.outcomes.add(Outcome::Ok));
        interval.response.record_us(100, ok as u64);
        ReportedInterval { number, interval }
    }

    #[test]
    fn a_long_run_keeps_few_intervals() {
        // Method: two workers report 10,000 intervals, one of them ten intervals late. Few are
        // kept, the sum includes all, and every kept interval includes both workers.
        let mut watch = RunWatch {
            display: Display::None,
            goal: RunGoal::AfterRequests(1),
            interval: Duration::from_millis(100),
            outcomes: Outcomes::default(),
            intervals: VecDeque::new(),
            dropped: 0,
        };
        for number in 0..10_010 {
            if number < 10_000 {
                watch.count(&reported(number, 3));
            }
            if let Some(late) = number.checked_sub(10) {
                watch.count(&reported(late, 2));
            }
        }
        watch.draw();
        assert_eq!(watch.outcomes.ok(), 50_000);
        assert_eq!(watch.dropped + watch.intervals.len(), 10_000);
        assert!(watch.intervals.len() <= COLUMN * (COLUMNS + 1));
        let mut ok = watch
            .intervals
            .iter()
            .map(|interval| interval.outcomes.ok());
        assert!(ok.all(|ok| ok == 5));
    }
}
