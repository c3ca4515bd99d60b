//! What is told of a study while it is conducted, each in a few words.

use std::collections::BTreeMap;

use abx_evidence::{Outcomes, StudyRecord};

use super::past_baseline::progress;
use crate::words::units::count;
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
    let line = format!("{subject}/{baseline} {}", so_far(bounds(one), one.verdict));
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

/// A subject's name within a line.
fn short(name: &str) -> String {
    shorten(&clean_name(name), 14)
}
