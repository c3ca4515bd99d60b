//! What is told of a study while it is conducted, each in a few words.

use std::collections::BTreeMap;
use std::time::Duration;

use abx_evidence::{Outcomes, StudyRecord};

use super::past_baseline::progress;
use crate::words::units::{count, minutes, plural};
use crate::words::verdict::{bounds, so_far};
use crate::words::wrap::{clean_name, shorten};

/// What the blocks so far say of the first comparison, in a few words; empty
/// when nothing is compared.
#[must_use]
pub fn progress_line(record: &StudyRecord) -> String {
    let Some(one) = record.conclusions.primary().next() else {
        return progress(&record.conclusions.past_comparisons).unwrap_or_default();
    };
    let [subject, baseline] = [&one.subject, &one.baseline].map(|text| short(text));
    let told = so_far(bounds(one), one.plain_ratio(), one.verdict);
    let line = format!("{subject}/{baseline} {told}");
    match record.conclusions.primary().count() - 1 {
        0 => line,
        others => format!("{line} · {others} more"),
    }
}

/// How each subject's requests failed so far, with their numbers; empty when
/// none did.
#[must_use]
pub fn failures_line(came: &BTreeMap<String, Outcomes>) -> String {
    let failed = came.iter().filter(|(_, outcomes)| outcomes.failed() > 0);
    let each = failed.map(|(subject, outcomes)| {
        let failures = outcomes.iter().filter(|(outcome, _)| outcome.is_failure());
        let words = failures.map(|(outcome, times)| {
            format!("{} {}", count(times), outcome.name().replace('_', " "))
        });
        let words: Vec<String> = words.collect();
        format!("{} failed: {}", short(subject), words.join(", "))
    });
    each.collect::<Vec<_>>().join("; ")
}

/// How long the pilot took, and what it says of the blocks: of all, where their number was
/// ordered, else of each.
#[must_use]
pub fn piloted_line(took: Duration, each_block: Duration, ordered: Option<u32>) -> String {
    let blocks = match ordered {
        Some(blocks) => {
            let all = minutes(each_block * blocks);
            format!("{} will take about {all}", plural(blocks.into(), "block"))
        }
        None => format!("a block will take about {}", minutes(each_block)),
    };
    format!("pilot done in {}; {blocks}", minutes(took))
}

/// When a study may end whose number of blocks was not ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLeft {
    /// Blocks that it takes until it is precise enough.
    pub blocks: u32,
    /// Whether that is known from the spread so far; else it is the fewest there may be.
    pub is_estimate: bool,
    /// Whether it goes on until limits are settled, and not until intervals are narrow.
    pub is_for_limits: bool,
    /// How long they take, about.
    pub wanted: Duration,
    /// What is left of the budget.
    pub at_most: Duration,
}

/// Why a study goes on, and for how long.
#[must_use]
pub fn time_left_line(left: TimeLeft) -> String {
    let [wanted, at_most] = [left.wanted, left.at_most].map(minutes);
    let blocks = plural(left.blocks.into(), "block");
    match left.is_estimate {
        _ if left.wanted >= left.at_most => format!("the budget ends in {at_most}"),
        true => {
            let goal = if left.is_for_limits {
                "settled"
            } else {
                "precise enough"
            };
            format!("{goal} in about {blocks}, {wanted}; at the latest in {at_most}")
        }
        false => format!("at least {blocks} to go, {wanted}; at the latest in {at_most}"),
    }
}

/// Whom a slice waits for at its end, and for how long.
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

/// How many of a subject's connections are open, and for how long no other one was opened.
#[must_use]
pub fn opening_line(
    subject: &str,
    (open, asked): (u64, u64),
    silent: Duration,
    at_most: Duration,
) -> String {
    let ([open, asked], subject) = ([open, asked].map(count), short(subject));
    let line = format!("opening {asked} connections to {subject}: {open} open");
    match silent.as_secs() {
        0 => line,
        _ => format!("{line}, no other one for {}", of_at_most(silent, at_most)),
    }
}

/// For how long a response is waited for that is checked before a load.
#[must_use]
pub fn verification_line(subject: &str, waited: Duration, at_most: Duration) -> String {
    let (subject, time) = (short(subject), of_at_most(waited, at_most));
    format!("checking {subject}'s first response, {time}")
}

/// For how long a subject is waited that was started.
#[must_use]
pub fn ready_line(subject: &str, waited: Duration, at_most: Duration) -> String {
    let time = of_at_most(waited, at_most);
    format!("waiting for {} to be ready, {time}", short(subject))
}

/// Which rate is tried of a subject.
#[must_use]
pub fn try_line(subject: &str, per_s: u64, number: u32) -> String {
    let (subject, rate) = (short(subject), count(per_s));
    format!("looking for {subject}'s highest rate: try {number}, at {rate}/s")
}

/// The highest rate of each subject, as short tries found it.
#[must_use]
pub fn capacities_line(objective: &str, rates: &[(&str, f64)]) -> String {
    let each = rates.iter().map(|(subject, per_s)| {
        let rate = count(per_s.round() as u64);
        format!("{} up to about {rate}/s", short(subject))
    });
    let each: Vec<String> = each.collect();
    format!(
        "{objective} was met in short tries by {}; the blocks measure that",
        each.join(", ")
    )
}

/// That a service is being filled.
#[must_use]
pub fn seed_line(service: &str) -> String {
    format!("filling the service {} with data", short(service))
}

/// That a service has ended, and what becomes of that.
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
        "{} failed at the start of a block and is not measured any further: {}",
        short(subject),
        clean_name(why)
    )
}

/// How much of a subject's files there is.
#[must_use]
pub fn files_line(subject: &str, made_bytes: u64, all_bytes: u64) -> String {
    let (unit, name) = match all_bytes {
        0..1_000_000 => (1e3, "kB"),
        _ => (1e6, "MB"),
    };
    let [made, all] = [made_bytes, all_bytes].map(|bytes| bytes as f64 / unit);
    let subject = short(subject);
    format!("making files for {subject}: {made:.0} of {all:.0} {name}")
}

fn of_at_most(waited: Duration, at_most: Duration) -> String {
    // A check for what is out of time may come a moment late.
    let [waited, at_most] = [waited.min(at_most), at_most].map(|span| span.as_secs_f64());
    format!("{waited:.0} s of {at_most:.0}")
}

/// A subject's name within a line.
fn short(name: &str) -> String {
    shorten(&clean_name(name), 14)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_says_why_it_goes_on_and_until_when() {
        // Method: an estimate, the fewest there may be, and a budget that ends before.
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
}
