//! Whether a study meets what was expected, and why.

use abx_evidence::{Finding, Level};
use abx_verdict::{Doubt, ExpectationResult, GoalReading, Standing, StudyRecord, Verdict};

use crate::document::{Document, Statement};
use crate::words::metrics::{capitalized, metric_name};
use crate::words::prose::{message, prose, remedy};
use crate::words::style::ReportExtent;
use crate::words::style::Style;
use crate::words::units::{GLUE, TimeUnit, count, plural, ratios, share};
use crate::words::verdict::{more_blocks, more_flag, name, place, tint, would_settle};
use crate::words::wrap::clean_name;

/// What all responses together amount to, which heads every report of a study with
/// expectations; `None` without any.
pub(crate) fn headline(responses: &[ExpectationResult]) -> Option<String> {
    let overall = capitalized(outcome(overall(responses)?));
    if let [only] = responses {
        return Some(format!("{overall}: {}", clean_name(&only.expected)));
    }
    let number = |is: fn(&Standing) -> bool| {
        responses
            .iter()
            .filter(|response| is(&response.standing))
            .count()
    };
    let kinds = [
        (number(|standing| *standing == Standing::Fails), "failed"),
        (
            number(|standing| matches!(standing, Standing::Unsettled(_))),
            "undecided",
        ),
        (
            number(|standing| matches!(standing, Standing::Invalid(_))),
            "without a result",
        ),
        (number(|standing| *standing == Standing::Holds), "passed"),
    ];
    let there = kinds.iter().filter(|(count, _)| *count > 0);
    let each: Vec<String> = there
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let checks = plural(responses.len() as u64, "check");
    Some(format!("{overall}: {checks}, {}", each.join(", ")))
}

pub(crate) fn overall(responses: &[ExpectationResult]) -> Option<&Standing> {
    let badness = |standing: &&Standing| match standing {
        Standing::Holds => 0,
        Standing::Unsettled(_) => 1,
        Standing::Invalid(_) => 2,
        Standing::Fails => 3,
    };
    responses
        .iter()
        .map(|response| &response.standing)
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

pub(crate) fn like(standing: &Standing) -> Verdict {
    match standing {
        Standing::Holds => Verdict::Faster,
        Standing::Fails => Verdict::Slower,
        Standing::Unsettled(_) => Verdict::Inconclusive,
        Standing::Invalid(_) => Verdict::Invalid,
    }
}

/// One response after its outcome: what was expected, where, and the figures.
pub(crate) fn sentence(record: &StudyRecord, response: &ExpectationResult) -> String {
    let place = match response.load.as_str() {
        "" => String::new(),
        load => format!(" {}", place(record, load)),
    };
    // Of several subjects each has its own result.
    let of = match (response.goal, record.measured.subjects.len()) {
        (None, _) | (_, 1) => String::new(),
        _ => format!(" of {}", clean_name(&response.subject)),
    };
    format!(
        "{}{of}{place}; {}.",
        clean_name(&response.expected),
        reason(record, response)
    )
}

/// The flag with which a study like this one would settle what is open; `None` if nothing is
/// open that more blocks settle, or no usual number of them does.
#[must_use]
pub fn settling_flag(record: &StudyRecord, responses: &[ExpectationResult]) -> Option<String> {
    let more = responses
        .iter()
        .filter_map(|response| match response.standing {
            Standing::Unsettled(Doubt::FewBlocks(fewest)) => Some(missing(record, fewest)),
            _ => response.blocks_more,
        });
    more_flag(record, more.max()?)
}

fn missing(record: &StudyRecord, fewest: usize) -> u32 {
    let done = record.measured.complete_blocks().count();
    fewest.saturating_sub(done).max(1) as u32
}

/// The figures behind a response, and what keeps them from settling it.
pub(crate) fn reason(record: &StudyRecord, response: &ExpectationResult) -> String {
    let figures = figures(response).or_else(|| Some(seen(response.goal?)));
    let doubt = match &response.standing {
        Standing::Holds | Standing::Fails => None,
        Standing::Unsettled(doubt) => Some(doubting(record, *doubt, response)),
        Standing::Invalid(why) => Some(invalid(why)),
    };
    let parts: Vec<String> = figures.into_iter().chain(doubt).collect();
    parts.join("; ")
}

fn figures(response: &ExpectationResult) -> Option<String> {
    let bounds = response.bounds?;
    let metric = metric_name(response.metric?);
    let reading = if response.is_speed_of_time {
        format!("speed, by {metric},")
    } else {
        metric.to_owned()
    };
    let [subject, other] = [&response.subject, &response.other].map(|text| name(text));
    let [ratio, low, high] = ratios([bounds.ratio, bounds.low, bounds.high]);
    Some(format!(
        "{subject}'s {reading} is {ratio}× {other}'s ({low} to {high})"
    ))
}

fn seen(reading: GoalReading) -> String {
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

fn doubting(record: &StudyRecord, doubt: Doubt, response: &ExpectationResult) -> String {
    let factor = response.wanted.map_or(1.0, |(_, factor)| factor);
    match doubt {
        Doubt::Straddles => {
            let settling = response.blocks_more.map_or_else(String::new, |more| {
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
            "the generator or a service was the limit, so throughput cannot show \
                                  which is faster; more CPU per response is not slower"
                .to_owned()
        }
        Doubt::NotCompared => "this metric was not compared for these two".to_owned(),
    }
}

fn invalid(why: &str) -> String {
    let why = prose(why, &[]);
    let line = why.lines().next().unwrap_or_default();
    match line.trim_end_matches(['.', ':', ' ']) {
        "" => "no result".to_owned(),
        line => format!("no result, because {line}"),
    }
}

/// The head of a report: a sentence for each response, after their counts if there are several.
/// Empty when nothing was expected.
#[must_use]
pub fn expectations_text(
    record: &StudyRecord,
    responses: &[ExpectationResult],
    extent: ReportExtent,
    style: &Style,
) -> String {
    let is_long = responses.len() > SENTENCES_MAX && extent != ReportExtent::Full;
    let is_shown = |response: &&ExpectationResult| !is_long || response.standing != Standing::Holds;
    let mut out = Document::default();
    if let (Some(headline), [_, _, ..]) = (headline(responses), responses) {
        out.paragraph(format!("{headline}."));
    }
    let shown: Vec<&ExpectationResult> = responses.iter().filter(is_shown).collect();
    let is_whole = shown.len() == responses.len();
    out.append(expectations(record, shown, style));
    if !is_whole {
        out.note("--full also prints those that passed.");
    }
    style.finish(&out.text(style))
}

/// With more responses than this, those that passed are only counted.
const SENTENCES_MAX: usize = 8;

/// A statement for each response; nothing without any.
pub(crate) fn expectations<'a>(
    record: &StudyRecord,
    responses: impl IntoIterator<Item = &'a ExpectationResult>,
    style: &Style,
) -> Document {
    let statement = |response: &ExpectationResult| {
        let verdict = like(&response.standing);
        let outcome = style.paint(&capitalized(outcome(&response.standing)), tint(verdict));
        Statement {
            verdict,
            sentence: format!("{outcome}: {}", sentence(record, response)),
            remarks: Vec::new(),
            reasons: None,
        }
    };
    let mut out = Document::default();
    out.statements(responses.into_iter().map(statement).collect());
    out
}

/// The first finding that rules a claim out, or else the first expectation that the record
/// does not settle.
#[must_use]
pub fn no_claim_line(findings: &[Finding], responses: &[ExpectationResult]) -> String {
    let mut voids = findings
        .iter()
        .filter(|finding| finding.level == Level::Void);
    let settled = [Standing::Holds, Standing::Fails];
    let mut open = responses
        .iter()
        .filter(|expectation_result| !settled.contains(&expectation_result.standing));
    let why = match (voids.next(), open.next()) {
        (Some(finding), _) => {
            let message = message(finding).replace('\n', " ");
            format!("{message}; {}", remedy(finding))
        }
        (None, Some(response)) => {
            let expected = clean_name(&response.expected);
            let because = match &response.standing {
                Standing::Invalid(why) => format!(": {}", prose(why, &[]).replace('\n', " ")),
                _ => String::new(),
            };
            format!(
                "expected {expected}: {}{because}",
                outcome(&response.standing)
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
    fn a_finding_comes_before_what_is_not_settled() {
        // Method: notes only, an expectation that is open beside one that holds, and a finding
        // that voids.
        let response = |expected: &str, standing| ExpectationResult {
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
        let responses = [
            response("a >= b", Standing::Holds),
            response("a >= 2 * b", Standing::Unsettled(Doubt::Straddles)),
        ];
        let note = new_finding(FindingId::FailedRequests, "1 failed").at(Level::Note);
        let void = new_finding(FindingId::FailedRequests, "90 of 100 failed").at(Level::Void);
        let line = |findings: &[Finding], responses: &[ExpectationResult]| {
            let line = no_claim_line(findings, responses);
            let why = line.strip_prefix("no verdict is possible (exit code 3): ");
            why.expect("they all begin so").to_owned()
        };
        let unsettled = "expected a >= 2 * b: undecided";
        let notes = std::slice::from_ref(&note);
        assert_eq!(line(notes, &responses), unsettled);
        assert_eq!(line(notes, &responses[..1]), "see the report");
        let message = line(&[note, void], &responses);
        assert!(message.starts_with("90 of 100 failed; "), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
}
