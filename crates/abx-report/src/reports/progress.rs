//! Status lines of a study or run in progress.

use std::collections::BTreeMap;
use std::time::Duration;

use abx_evidence::Outcomes;
use abx_verdict::StudyRecord;

use crate::sections::measured::outcomes::named_failures;
use crate::words::sparkline::sparkline;
use crate::words::units::{GLUE, TimeUnit, UNKNOWN, count, figure, minutes, plural};
use crate::words::verdict::{bounds, so_far};
use crate::words::wrap::{clean_name, shorten};

/// The first comparison by the blocks so far, in a few words; empty if nothing is compared.
#[must_use]
pub fn progress_line(record: &StudyRecord) -> String {
    let Some(comparison) = record.conclusions.primary().next() else {
        return String::new();
    };
    let [subject, baseline] = [&comparison.subject, &comparison.baseline].map(|text| short(text));
    let result = so_far(
        bounds(comparison),
        comparison.plain_ratio(),
        comparison.verdict,
    );
    let line = format!("{subject}/{baseline} {result}");
    let line = match record.conclusions.primary().count() - 1 {
        0 => line,
        others => format!("{line} · {others} more"),
    };
    let loads = &record.measured.loads;
    match loads.iter().filter(|load| load.is_settled()).count() {
        0 => line,
        _ if loads.len() == 1 => line,
        settled => format!(
            "{line} · {settled} of {} decided",
            plural(loads.len() as u64, "load")
        ),
    }
}

/// The failed requests of each subject so far, counted by outcome; empty without any.
#[must_use]
pub fn failures_line(outcomes: &BTreeMap<String, Outcomes>) -> String {
    let subjects = outcomes.iter();
    let failed = subjects.filter(|(_, outcomes)| outcomes.failed() > 0);
    let texts = failed.map(|(subject, outcomes)| {
        let failures = outcomes.iter().filter(|(outcome, _)| outcome.is_failure());
        let words = failures.map(|(outcome, times)| {
            format!("{} {}", count(times), outcome.name().replace('_', " "))
        });
        let words: Vec<String> = words.collect();
        format!("{} failed: {}", short(subject), words.join(", "))
    });
    texts.collect::<Vec<_>>().join("; ")
}

/// How long the pilot took, and how long the blocks will take: all of them if their number was
/// set, or else each.
#[must_use]
pub fn piloted_line(took: Duration, each_block: Duration, ordered: Option<u32>) -> String {
    let blocks = match ordered {
        Some(blocks) => {
            let text = minutes(each_block * blocks);
            format!("{} will take about {text}", plural(blocks.into(), "block"))
        }
        None => format!("a block will take about {}", minutes(each_block)),
    };
    format!("pilot done in {}; {blocks}", minutes(took))
}

/// When a study without a set number of blocks may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLeft {
    /// Blocks until the study is precise enough.
    pub blocks: u32,
    /// Whether `blocks` is estimated from the spread so far; otherwise it is the minimum.
    pub is_estimate: bool,
    /// Whether the study continues until limits are settled, and not until intervals are narrow.
    pub is_for_limits: bool,
    /// The approximate time that these blocks take.
    pub wanted: Duration,
    /// The rest of the budget.
    pub at_most: Duration,
}

/// Why a study continues, and for how long.
#[must_use]
pub fn time_left_line(left: TimeLeft) -> String {
    let [wanted, at_most] = [left.wanted, left.at_most].map(minutes);
    let blocks = plural(left.blocks.into(), "block");
    if left.wanted >= left.at_most {
        format!("the budget ends in {at_most}")
    } else if left.is_estimate {
        let goal = if left.is_for_limits {
            "settled"
        } else {
            "precise enough"
        };
        format!("{goal} in about {blocks}, {wanted}; at the latest in {at_most}")
    } else {
        format!("at least {blocks} to go, {wanted}; at the latest in {at_most}")
    }
}

/// The connections that a slice waits for at its end, and for how long.
#[must_use]
pub fn responses_line(
    subject: &str,
    connections: u64,
    waited: Duration,
    at_most: Duration,
) -> String {
    let (count, subject) = (count(connections), short(subject));
    let time = of_at_most(waited, at_most);
    format!("waiting for {count} of {subject}'s connections, {time}")
}

/// How many of a subject's connections are open, and for how long no further one was opened.
#[must_use]
pub fn opening_line(
    subject: &str,
    (open, requested): (u64, u64),
    silent: Duration,
    at_most: Duration,
) -> String {
    let ([open, requested], subject) = ([open, requested].map(count), short(subject));
    let line = format!("opening {requested} connections to {subject}: {open} open");
    match silent.as_secs() {
        0 => line,
        _ => format!("{line}, no new one for {}", of_at_most(silent, at_most)),
    }
}

/// How long abx has waited for the response that it checks before a load.
#[must_use]
pub fn verification_line(subject: &str, waited: Duration, at_most: Duration) -> String {
    let (subject, time) = (short(subject), of_at_most(waited, at_most));
    format!("checking {subject}'s first response, {time}")
}

/// How long abx has waited for a started subject to be ready.
#[must_use]
pub fn ready_line(subject: &str, waited: Duration, at_most: Duration) -> String {
    let time = of_at_most(waited, at_most);
    format!("waiting for {} to be ready, {time}", short(subject))
}

/// The rate that is tried for a subject.
#[must_use]
pub fn try_line(subject: &str, per_s: u64, number: u32) -> String {
    let (subject, rate) = (short(subject), count(per_s));
    format!("looking for {subject}'s highest rate: try {number}, at {rate}/s")
}

/// The highest rate of each subject in short tries.
#[must_use]
pub fn capacities_line(objective: &str, rates: &[(&str, f64)]) -> String {
    let texts = rates.iter().map(|(subject, per_s)| {
        let rate = count(per_s.round() as u64);
        format!("{} up to about {rate}/s", short(subject))
    });
    let texts: Vec<String> = texts.collect();
    format!(
        "{objective} was met in short tries by {}; the blocks measure that",
        texts.join(", ")
    )
}

/// That a service is being filled with data.
#[must_use]
pub fn seed_line(service: &str) -> String {
    format!("filling the service {} with data", short(service))
}

/// That a service has ended, and what follows.
#[must_use]
pub fn service_died_line(service: &str, how: &str) -> String {
    format!(
        "the service {} ended ({}): its block does not count, and it is started again",
        short(service),
        clean_name(how)
    )
}

/// That a subject failed at the start of a block.
#[must_use]
pub fn left_out_line(subject: &str, how: &str) -> String {
    let why = how.lines().next().unwrap_or_default();
    format!(
        "{} failed at the start of a block and is no longer measured: {}",
        short(subject),
        clean_name(why)
    )
}

/// How much of a subject's files is written.
#[must_use]
pub fn files_line(subject: &str, made_bytes: u64, all_bytes: u64) -> String {
    let (unit, name) = match all_bytes {
        0..1_000_000 => (1e3, "kB"),
        _ => (1e6, "MB"),
    };
    let [made, total] = [made_bytes, all_bytes].map(|bytes| bytes as f64 / unit);
    let subject = short(subject);
    format!("making files for {subject}: {made:.0} of {total:.0} {name}")
}

fn of_at_most(waited: Duration, at_most: Duration) -> String {
    // The check for the end of the time may come a moment late.
    let [waited, at_most] = [waited.min(at_most), at_most].map(|span| span.as_secs_f64());
    format!("{waited:.0} s of {at_most:.0}")
}

fn short(name: &str) -> String {
    shorten(&clean_name(name), 14)
}

/// A run in progress.
#[derive(Debug, Clone)]
pub struct RunNow<'a> {
    /// The time since the load began.
    pub elapsed: Duration,
    pub goal: RunGoal,
    /// Recent verified responses per second.
    pub per_s: f64,
    /// Recent p50 and p99 response times, in µs.
    pub quantiles_us: [Option<u64>; 2],
    /// The outcomes of all requests so far.
    pub came: &'a Outcomes,
    /// Verified responses per second in equal parts of the recent past, the oldest first.
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

/// The status line of a run, the most important parts first, because a narrow terminal cuts the
/// end.
#[must_use]
pub fn run_line(now: &RunNow) -> String {
    let place = match now.goal {
        RunGoal::After(time) => {
            let elapsed = now.elapsed.min(time).as_secs_f64();
            let decimals = usize::from(time < Duration::from_secs(100));
            format!("{elapsed:.decimals$} of {} s", time.as_secs_f64())
        }
        RunGoal::AfterRequests(total) => {
            let [done, total] = [now.came.requests().min(total), total].map(count);
            format!("{done} of {total} requests")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_names_the_goal_and_the_latest_end() {
        // Method: an estimate, also for limits; a minimum; and a budget that ends before.
        let left = |blocks, is_estimate, wanted| TimeLeft {
            blocks,
            is_estimate,
            is_for_limits: false,
            wanted: Duration::from_secs(wanted),
            at_most: Duration::from_secs(80),
        };
        let line = |blocks, is_estimate, wanted| time_left_line(left(blocks, is_estimate, wanted));
        let precise = "precise enough in about 4 blocks, 30 s; at the latest in 80 s";
        assert_eq!(line(4, true, 30).replace('\u{a0}', " "), precise);
        let settled = time_left_line(TimeLeft {
            is_for_limits: true,
            ..left(4, true, 30)
        });
        assert!(settled.starts_with("settled in about 4"), "{settled}");
        let fewest = "at least 1 block to go, 9 s; at the latest in 80 s";
        assert_eq!(line(1, false, 9).replace('\u{a0}', " "), fewest);
        let cut = line(20, true, 300).replace('\u{a0}', " ");
        assert_eq!(cut, "the budget ends in 80 s");
    }

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
    fn a_run_has_one_status_line() {
        // Method: a run by time without errors and one by number with some; a connection that
        // the server closed while idle is no error.
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
    fn a_run_without_responses_has_no_times() {
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
