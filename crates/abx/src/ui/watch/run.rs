//! Shows the user the progress of a run: one line on a terminal, and nothing anywhere else. The
//! workers of the generator report the figures at the end of each interval.

use std::collections::VecDeque;
use std::time::Duration;

use abx_engine::ReportedInterval;
use abx_evidence::{Interval, Outcomes};
use abx_lab::{Pending, RunEnd, RunProgress};
use abx_report::{RunGoal, RunNow, opening_line, responses_line, run_line, verification_line};

use super::display::{Display, Urgency};
use super::waiting::waiting;

/// The intervals that make up the recent figures: a second.
const LATELY: usize = 10;
/// Stretches of each column of the sparkline, and its columns.
const COLUMN: usize = 5;
const COLUMNS: usize = 24;

/// The state of a run that is under way.
pub struct RunWatch {
    display: Display,
    goal: RunGoal,
    /// How long an interval is.
    interval: Duration,
    /// The outcomes of all requests that were reported.
    came: Outcomes,
    /// The last intervals, as far as workers have reported them, the newest last.
    intervals: VecDeque<Interval>,
    /// How many there were before those.
    before: usize,
}

impl RunWatch {
    /// Follows a run that ends so; `None` if it would not be seen.
    pub fn new(quiet: bool, end: RunEnd) -> Option<RunWatch> {
        Some(RunWatch {
            display: Display::on_terminal(quiet)?,
            goal: match end {
                RunEnd::After(span) => RunGoal::After(span),
                RunEnd::AfterRequests(count) => RunGoal::AfterRequests(count),
            },
            interval: end.interval(),
            came: Outcomes::default(),
            intervals: VecDeque::new(),
            before: 0,
        })
    }

    /// Takes note of an event.
    pub fn see(&mut self, progress: RunProgress) {
        match progress {
            RunProgress::Pending(Pending::Over) => self.display.return_to_last(),
            RunProgress::Pending(pending) => self.display.interrupt(&waiting_for_server(&pending)),
            RunProgress::Intervals(reported_intervals) => {
                reported_intervals
                    .iter()
                    .for_each(|reported_interval| self.count(reported_interval));
                self.draw();
            }
        }
    }

    /// Clears the line, which is not to stay.
    pub fn finish(&self) {
        self.display.clear();
    }

    fn count(&mut self, reported_interval: &ReportedInterval) {
        self.came.merge(&reported_interval.interval.outcomes);
        // One that is long gone is shown in the sums only.
        let Some(place) = reported_interval.number.checked_sub(self.before) else {
            return;
        };
        if self.intervals.len() <= place {
            self.intervals.resize_with(place + 1, Interval::default);
        }
        self.intervals[place].merge(&reported_interval.interval);
        // In step with the columns, so that these keep their height as they move.
        while self.intervals.len() > COLUMN * (COLUMNS + 1) {
            self.intervals.drain(..COLUMN);
            self.before += COLUMN;
        }
    }

    fn draw(&mut self) {
        // Other workers may still have to report the newest one.
        let whole = self.intervals.len().saturating_sub(1);
        if whole == 0 {
            return;
        }
        let mut lately = Interval::default();
        let last = self.intervals.range(whole.saturating_sub(LATELY)..whole);
        let seconds = self.interval.as_secs_f64() * last.len() as f64;
        last.for_each(|interval| lately.merge(interval));
        let intervals = self.intervals.make_contiguous();
        let columns = intervals[..whole].chunks(COLUMN);
        let rates: Vec<f64> = columns
            .map(|column| {
                let ok: u64 = column.iter().map(|interval| interval.outcomes.ok()).sum();
                ok as f64 / (self.interval.as_secs_f64() * column.len() as f64)
            })
            .collect();
        let figure = u32::try_from(self.before + whole).unwrap_or(u32::MAX);
        let line = run_line(&RunNow {
            elapsed: self.interval.saturating_mul(figure),
            goal: self.goal,
            per_s: lately.outcomes.ok() as f64 / seconds,
            quantiles_us: [0.5, 0.99].map(|share| lately.response.quantile_us(share)),
            came: &self.came,
            rates: &rates[rates.len().saturating_sub(COLUMNS)..],
        });
        self.display.show(&line, Urgency::Movement);
    }
}

/// The current wait, for the only server there is.
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

    fn told(number: usize, ok: usize) -> ReportedInterval {
        let mut interval = Interval::default();
        (0..ok).for_each(|_| interval.outcomes.add(Outcome::Ok));
        interval.response.record_us(100, ok as u64);
        ReportedInterval { number, interval }
    }

    #[test]
    fn hours_take_no_more_room_than_seconds() {
        // Method: two workers report 10,000 intervals, one of them ten intervals late: few are
        // kept, the sum is of all, and a column is as high as both together.
        let mut watch = RunWatch {
            display: Display::None,
            goal: RunGoal::AfterRequests(1),
            interval: Duration::from_millis(100),
            came: Outcomes::default(),
            intervals: VecDeque::new(),
            before: 0,
        };
        for number in 0..10_010 {
            if number < 10_000 {
                watch.count(&told(number, 3));
            }
            if let Some(late) = number.checked_sub(10) {
                watch.count(&told(late, 2));
            }
        }
        watch.draw();
        assert_eq!(watch.came.ok(), 50_000);
        assert_eq!(watch.before + watch.intervals.len(), 10_000);
        assert!(watch.intervals.len() <= COLUMN * (COLUMNS + 1));
        let each = watch
            .intervals
            .iter()
            .map(|interval| interval.outcomes.ok());
        assert_eq!(each.filter(|ok| *ok != 5).count(), 0);
    }
}
