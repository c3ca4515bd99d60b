//! Whether a study meets its expectations, and why.

use abx_evidence::{Finding, Level};
use abx_verdict::{Doubt, ExpectationResult, GoalReading, Metric, Standing, StudyRecord, Verdict};

use crate::document::{Document, Statement};
use crate::words::metrics::{capitalized, metric_name};
use crate::words::prose::{message, prose, remedy};
use crate::words::style::ReportExtent;
use crate::words::style::Style;
use crate::words::units::{GLUE, TimeUnit, count, plural, ratios, share};
use crate::words::verdict::{more_blocks, more_flag, name, place, tint, would_settle};
use crate::words::wrap::clean_name;

/// The overall outcome and the number of checks with each outcome, which head every report of a
/// study with expectations; `None` without any.
pub(crate) fn headline(results: &[ExpectationResult]) -> Option<String> {
    let overall = capitalized(outcome(overall(results)?));
    if let [only] = results {
        return Some(format!("{overall}: {}", clean_name(&only.expected)));
    }
    let times = |is: fn(&Standing) -> bool| {
        let standings = results.iter().map(|result| &result.standing);
        standings.filter(|standing| is(standing)).count()
    };
    let kinds = [
        (times(|standing| *standing == Standing::Fails), "failed"),
        (
            times(|standing| matches!(standing, Standing::Unsettled(_))),
            "undecided",
        ),
        (
            times(|standing| matches!(standing, Standing::Invalid(_))),
            "without a result",
        ),
        (times(|standing| *standing == Standing::Holds), "passed"),
    ];
    let counts: Vec<String> = kinds
        .iter()
        .filter(|(times, _)| *times > 0)
        .map(|(times, word)| format!("{times} {word}"))
        .collect();
    let checks = plural(results.len() as u64, "check");
    Some(format!("{overall}: {checks}, {}", counts.join(", ")))
}

pub(crate) fn overall(results: &[ExpectationResult]) -> Option<&Standing> {
    let badness = |standing: &&Standing| match standing {
        Standing::Holds => 0,
        Standing::Unsettled(_) => 1,
        Standing::Invalid(_) => 2,
        Standing::Fails => 3,
    };
    results
        .iter()
        .map(|result| &result.standing)
        .max_by_key(badness)
}

pub(crate) fn outcome(standing: &Standing) -> &'static str {
    match standing {
        Standing::Holds => "passed",
        Standing::Fails => "failed",
        Standing::Unsettled(_) => "undecided",
        Standing::Invalid(_) => "no result",
    }
}

/// The verdict whose mark and colour stand for an outcome.
pub(crate) fn verdict_of(standing: &Standing) -> Verdict {
    match standing {
        Standing::Holds => Verdict::Faster,
        Standing::Fails => Verdict::Slower,
        Standing::Unsettled(_) => Verdict::Inconclusive,
        Standing::Invalid(_) => Verdict::Invalid,
    }
}

/// A result without its outcome: the expectation, its load, and the figures.
pub(crate) fn sentence(record: &StudyRecord, result: &ExpectationResult) -> String {
    let place = match result.load.as_str() {
        "" => String::new(),
        load => format!(" {}", place(record, load)),
    };
    // With several subjects, each has a result of its own.
    let of = match (result.goal, record.measured.subjects.len()) {
        (None, _) | (_, 1) => String::new(),
        _ => format!(" of {}", clean_name(&result.subject)),
    };
    format!(
        "{}{of}{place}; {}.",
        clean_name(&result.expected),
        reason(record, result)
    )
}

/// The flag with which a study like this one would settle its undecided expectations; `None` if
/// more blocks would settle none of them, or too many would be needed.
#[must_use]
pub fn settling_flag(record: &StudyRecord, results: &[ExpectationResult]) -> Option<String> {
    let more = results.iter().filter_map(|result| match result.standing {
        Standing::Unsettled(Doubt::FewBlocks(fewest)) => Some(missing(record, fewest)),
        _ => result.blocks_more,
    });
    more_flag(record, more.max()?)
}

fn missing(record: &StudyRecord, fewest: usize) -> u32 {
    let done = record.measured.complete_blocks().count();
    fewest.saturating_sub(done).max(1) as u32
}

/// The figures behind a result, and why they do not settle it.
pub(crate) fn reason(record: &StudyRecord, result: &ExpectationResult) -> String {
    let figures = figures(result).or_else(|| Some(goal_figures(result.goal?)));
    let doubt = match &result.standing {
        Standing::Holds | Standing::Fails => None,
        Standing::Unsettled(doubt) => Some(doubt_text(record, *doubt, result)),
        Standing::Invalid(why) => Some(invalid_text(why)),
    };
    let parts: Vec<String> = figures.into_iter().chain(doubt).collect();
    parts.join("; ")
}

fn figures(result: &ExpectationResult) -> Option<String> {
    let bounds = result.bounds?;
    let metric = metric_name(result.metric?);
    let reading = if result.is_speed_of_time {
        format!("speed, by {metric},")
    } else {
        metric.to_owned()
    };
    let [subject, other] = [&result.subject, &result.other].map(|text| name(text));
    let [ratio, low, high] = ratios([bounds.ratio, bounds.low, bounds.high]);
    Some(format!(
        "{subject}'s {reading} is {ratio}× {other}'s ({low} to {high})"
    ))
}

fn goal_figures(reading: GoalReading) -> String {
    match reading {
        GoalReading::Time { name, us, at_least } => {
            let us = us.round() as u64;
            let unit = TimeUnit::of([Some(us)]);
            let least = if at_least { "at least " } else { "" };
            format!(
                "{name} was {least}{}{GLUE}{}",
                unit.show(Some(us)),
                unit.sign()
            )
        }
        GoalReading::Errors { missed, planned } => format!(
            "{} of {} failed or were never sent ({})",
            count(missed),
            plural(planned, "request"),
            share(missed, planned)
        ),
    }
}

fn doubt_text(record: &StudyRecord, doubt: Doubt, result: &ExpectationResult) -> String {
    let factor = result.wanted.map_or(1.0, |(_, factor)| factor);
    match doubt {
        Doubt::Straddles => {
            let settling = result.blocks_more.map_or_else(String::new, |more| {
                let flag = more_flag(record, more);
                let flag = flag.map_or_else(String::new, |flag| format!(": use `{flag}`"));
                format!(", {}{flag}", would_settle(record, more))
            });
            // 1 + 0.03 has a long tail of digits.
            let factor = (factor * 1e9).round() / 1e9;
            format!("the interval includes {factor}{settling}")
        }
        Doubt::Bound => "the true ratio may lie further from 1: see the findings".to_owned(),
        Doubt::FewBlocks(fewest) => {
            let more = missing(record, fewest);
            let flag = more_flag(record, more);
            let flag = flag.map_or_else(String::new, |flag| format!(": use `{flag}`"));
            format!(
                "too few blocks, it needs at least {fewest}, {}{flag}",
                more_blocks(record, more)
            )
        }
        Doubt::TimesAtLeast => {
            "requests had no response, so their response times are unknown".to_owned()
        }
        Doubt::FewRequests(needed) => {
            format!("it needs at least {}", plural(needed, "request"))
        }
        Doubt::NothingSent => "no request was sent".to_owned(),
        Doubt::NoInterval => "there is no interval".to_owned(),
        Doubt::GeneratorBound => {
            "the generator or a service was the limit, so throughput cannot show which is faster; \
             more CPU per response does not mean slower"
                .to_owned()
        }
        Doubt::NotOfSpeed => {
            let metric = result.metric.map_or("METRIC", Metric::id);
            format!(
                "{metric} does not show which is faster: name the metric, as in `{metric}: A <= \
                 1.1 * B`"
            )
        }
        Doubt::NotCompared => "this metric was not compared for these two".to_owned(),
    }
}

fn invalid_text(why: &str) -> String {
    let why = prose(why, &[]);
    let line = why.lines().next().unwrap_or_default();
    match line.trim_end_matches(['.', ':', ' ']) {
        "" => "no result".to_owned(),
        line => format!("no result, because {line}"),
    }
}

/// The head of a report: a sentence for each result, after their counts if there are several.
/// Empty when nothing was expected.
#[must_use]
pub fn expectations_text(
    record: &StudyRecord,
    results: &[ExpectationResult],
    extent: ReportExtent,
    style: &Style,
) -> String {
    let is_long = results.len() > SENTENCES_MAX && extent != ReportExtent::Full;
    let is_shown = |result: &&ExpectationResult| !is_long || result.standing != Standing::Holds;
    let mut out = Document::default();
    if let (Some(headline), [_, _, ..]) = (headline(results), results) {
        out.paragraph(format!("{headline}."));
    }
    let shown: Vec<&ExpectationResult> = results.iter().filter(is_shown).collect();
    let has_left_out = shown.len() < results.len();
    out.append(expectations(record, shown, style));
    if has_left_out {
        out.note("--full also prints those that passed.");
    }
    style.finish(&out.text(style))
}

/// With more results than this, those that passed are only counted.
const SENTENCES_MAX: usize = 8;

/// A statement for each result; nothing without any.
pub(crate) fn expectations<'a>(
    record: &StudyRecord,
    results: impl IntoIterator<Item = &'a ExpectationResult>,
    style: &Style,
) -> Document {
    let statement = |result: &ExpectationResult| {
        let verdict = verdict_of(&result.standing);
        let outcome = style.paint(&capitalized(outcome(&result.standing)), tint(verdict));
        Statement {
            verdict,
            sentence: format!("{outcome}: {}", sentence(record, result)),
            remarks: Vec::new(),
            reasons: None,
        }
    };
    let mut out = Document::default();
    out.statements(results.into_iter().map(statement).collect());
    out
}

/// The first finding that rules a claim out, or else the first expectation that the record
/// does not settle.
#[must_use]
pub fn no_claim_line(findings: &[Finding], results: &[ExpectationResult]) -> String {
    let mut voids = findings
        .iter()
        .filter(|finding| finding.level == Level::Void);
    let settled = [Standing::Holds, Standing::Fails];
    let mut open = results
        .iter()
        .filter(|result| !settled.contains(&result.standing));
    let why = match (voids.next(), open.next()) {
        (Some(finding), _) => {
            let message = message(finding).replace('\n', " ");
            format!("{message}; {}", remedy(finding))
        }
        (None, Some(result)) => {
            let expected = clean_name(&result.expected);
            let because = match &result.standing {
                Standing::Invalid(why) => format!(": {}", prose(why, &[]).replace('\n', " ")),
                _ => String::new(),
            };
            format!(
                "expected {expected}: {}{because}",
                outcome(&result.standing)
            )
        }
        (None, None) => "see the report".to_owned(),
    };
    format!("no verdict is possible (exit code 3): {why}")
}

#[cfg(test)]
mod tests {
    use abx_evidence::FindingId;
    use abx_verdict::{Doubt, new_finding};

    use super::*;

    #[test]
    fn a_void_finding_is_named_before_an_undecided_expectation() {
        // Method: a note and an undecided expectation after one that holds; a note alone; and a
        // finding that voids.
        let result = |expected: &str, standing| ExpectationResult {
            expected: expected.to_owned(),
            is_demanded: true,
            metric: None,
            load: String::new(),
            subject: String::new(),
            goal: None,
            other: String::new(),
            bounds: None,
            is_speed_of_time: false,
            wanted: None,
            blocks_more: None,
            standing,
        };
        let results = [
            result("a >= b", Standing::Holds),
            result("a >= 2 * b", Standing::Unsettled(Doubt::Straddles)),
        ];
        let note = new_finding(FindingId::FailedRequests, "1 failed").at(Level::Note);
        let void = new_finding(FindingId::FailedRequests, "90 of 100 failed").at(Level::Void);
        let line = |findings: &[Finding], results: &[ExpectationResult]| {
            let line = no_claim_line(findings, results);
            let why = line.strip_prefix("no verdict is possible (exit code 3): ");
            why.expect("they all begin so").to_owned()
        };
        let unsettled = "expected a >= 2 * b: undecided";
        let notes = std::slice::from_ref(&note);
        assert_eq!(line(notes, &results), unsettled);
        assert_eq!(line(notes, &results[..1]), "see the report");
        let message = line(&[note, void], &results);
        assert!(message.starts_with("90 of 100 failed; "), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
}
