//! How a run goes while it lasts, on one line.

use std::time::Duration;

use abx_evidence::Outcomes;

use crate::words::failures::named_failures;
use crate::words::units::{GLUE, TimeUnit, UNKNOWN, count, figure};

/// A run that is under way.
#[derive(Debug, Clone)]
pub struct RunNow<'a> {
    /// For how long it has been loading.
    pub elapsed: Duration,
    /// When it ends.
    pub goal: RunGoal,
    /// Verified responses per second, lately.
    pub per_s: f64,
    /// The response times that half of the requests and 99 % of them did not exceed, lately,
    /// in µs.
    pub quantiles_us: [Option<u64>; 2],
    /// What became of all requests so far.
    pub came: &'a Outcomes,
    /// Verified responses per second in equal parts of the last time, the oldest first.
    pub rates: &'a [f64],
}

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunGoal {
    /// After this time.
    After(Duration),
    /// After so many requests.
    AfterRequests(u64),
}

/// The line. What matters less stands further behind, where a narrow terminal cuts it.
#[must_use]
pub fn run_line(now: &RunNow) -> String {
    let place = match now.goal {
        RunGoal::After(all) => {
            let elapsed = now.elapsed.min(all).as_secs_f64();
            let decimals = usize::from(all < Duration::from_secs(100));
            format!("{elapsed:.decimals$} of {} s", all.as_secs_f64())
        }
        RunGoal::AfterRequests(all) => {
            let [done, all] = [now.came.requests().min(all), all].map(count);
            format!("{done} of {all} requests")
        }
    };
    let [p50, p99] = now.quantiles_us.map(time);
    let failures = match now.came.failed() {
        0 => "no errors".to_owned(),
        _ => format!("errors: {}", named_failures(now.came)),
    };
    let parts = [
        place,
        format!("{}/s", figure(now.per_s)),
        format!("p50 {p50}, p99 {p99}"),
        failures,
        sparkline(now.rates),
    ];
    parts.join(" · ")
}

fn time(us: Option<u64>) -> String {
    let unit = TimeUnit::of([us]);
    match us {
        None => UNKNOWN.to_owned(),
        Some(_) => format!("{}{GLUE}{}", unit.show(us), unit.sign()),
    }
}

/// One column for each figure, from zero to the highest of them.
fn sparkline(figures: &[f64]) -> String {
    let most = figures.iter().copied().fold(0.0, f64::max);
    let column = |figure: &f64| {
        let level = (figure / most.max(f64::MIN_POSITIVE) * COLUMNS.len() as f64).ceil();
        COLUMNS[(level as usize).clamp(1, COLUMNS.len()) - 1]
    };
    figures.iter().map(column).collect()
}

/// Eighths of a column.
const COLUMNS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

#[cfg(test)]
mod tests {
    use super::*;

    fn line(goal: RunGoal, came: &str, rates: &[f64]) -> String {
        let came = serde_json::from_str(came).unwrap();
        let line = run_line(&RunNow {
            elapsed: Duration::from_millis(3_200),
            goal,
            per_s: 41_234.4,
            quantiles_us: [Some(843), Some(2_104)],
            came: &came,
            rates,
        });
        line.replace('\u{a0}', " ")
    }

    #[test]
    fn a_run_is_told_on_one_line() {
        // Method: by time without errors, and by number with some; what a server let idle and
        // closed is none.
        let ten = RunGoal::After(Duration::from_secs(10));
        assert_eq!(
            line(ten, r#"{"ok":9,"idle_close":1}"#, &[0.0, 10.0, 5.0, 20.0]),
            "3.2 of 10 s · 41,234/s · p50 843 µs, p99 2.10 ms · no errors · ▁▄▂█"
        );
        assert_eq!(
            line(
                RunGoal::AfterRequests(5_000),
                r#"{"ok":1200,"timeout":2,"reset":30}"#,
                &[]
            ),
            "1,232 of 5,000 requests · 41,234/s · p50 843 µs, p99 2.10 ms · errors: reset 30, \
             timeout 2 · "
        );
        let minutes = RunGoal::After(Duration::from_secs(600));
        assert!(line(minutes, "{}", &[0.0]).starts_with("3 of 600 s · "));
    }

    #[test]
    fn nothing_answered_is_no_time() {
        // Method: a stall from the first moment.
        let line = run_line(&RunNow {
            elapsed: Duration::from_secs(2),
            goal: RunGoal::After(Duration::from_secs(5)),
            per_s: 0.0,
            quantiles_us: [None, None],
            came: &Outcomes::default(),
            rates: &[0.0, 0.0],
        });
        assert_eq!(line, "2.0 of 5 s · 0.00/s · p50 -, p99 - · no errors · ▁▁");
    }
}
