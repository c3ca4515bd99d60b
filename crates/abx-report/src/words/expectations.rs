//! What a study says to what was expected, and why.

use abx_evidence::{Doubt, ExpectationResult, GoalReading, Standing, StudyRecord, Verdict};

use super::metrics::{capitalized, metric_name};
use super::prose::prose;
use super::units::{GLUE, TimeUnit, count, plural, ratios, share};
use super::verdict::{more_blocks, more_flag, name, place, would_settle};
use super::wrap::clean_name;

/// What all answers together amount to, which heads every report of a study with
/// expectations; `None` without any.
pub(crate) fn headline(answers: &[ExpectationResult]) -> Option<String> {
    let overall = capitalized(outcome(overall(answers)?));
    if let [only] = answers {
        return Some(format!("{overall}: {}", clean_name(&only.expected)));
    }
    let number =
        |is: fn(&Standing) -> bool| answers.iter().filter(|answer| is(&answer.standing)).count();
    let kinds = [
        (number(|standing| *standing == Standing::Fails), "failed"),
        (
            number(|standing| matches!(standing, Standing::Unsettled(_))),
            "unsettled",
        ),
        (
            number(|standing| matches!(standing, Standing::Invalid(_))),
            "invalid",
        ),
        (number(|standing| *standing == Standing::Holds), "passed"),
    ];
    let there = kinds.iter().filter(|(count, _)| *count > 0);
    let each: Vec<String> = there
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let checks = plural(answers.len() as u64, "check");
    Some(format!("{overall}: {checks}, {}", each.join(", ")))
}

/// The standing that decides for all: the worst one.
pub(crate) fn overall(answers: &[ExpectationResult]) -> Option<&Standing> {
    let badness = |standing: &&Standing| match standing {
        Standing::Holds => 0,
        Standing::Unsettled(_) => 1,
        Standing::Invalid(_) => 2,
        Standing::Fails => 3,
    };
    answers
        .iter()
        .map(|answer| &answer.standing)
        .max_by_key(badness)
}

/// A standing as a reader's word.
pub(crate) fn outcome(standing: &Standing) -> &'static str {
    match standing {
        Standing::Holds => "passed",
        Standing::Fails => "failed",
        Standing::Unsettled(_) => "unsettled",
        Standing::Invalid(_) => "invalid",
    }
}

/// The verdict whose sign and colour a standing has.
pub(crate) fn like(standing: &Standing) -> Verdict {
    match standing {
        Standing::Holds => Verdict::Faster,
        Standing::Fails => Verdict::Slower,
        Standing::Unsettled(_) => Verdict::Inconclusive,
        Standing::Invalid(_) => Verdict::Invalid,
    }
}

/// One answer after its outcome: what was expected, where, and the figures.
pub(crate) fn sentence(record: &StudyRecord, answer: &ExpectationResult) -> String {
    let place = match answer.load.as_str() {
        "" => String::new(),
        load => format!(" {}", place(record, load)),
    };
    // Of several subjects each has its own result.
    let of = match (answer.goal, record.measured.subjects.len()) {
        (None, _) | (_, 1) => String::new(),
        _ => format!(" of {}", clean_name(&answer.subject)),
    };
    format!(
        "{}{of}{place}; {}.",
        clean_name(&answer.expected),
        reason(record, answer)
    )
}

/// The flag with which a study like this one would settle what is open; `None` if nothing is
/// open that more blocks settle, or no usual number of them does.
#[must_use]
pub fn settling_flag(record: &StudyRecord, answers: &[ExpectationResult]) -> Option<String> {
    let more = answers.iter().filter_map(|answer| match answer.standing {
        Standing::Unsettled(Doubt::FewBlocks(fewest)) => Some(missing(record, fewest)),
        _ => answer.blocks_more,
    });
    more_flag(record, more.max()?)
}

/// How many blocks the study lacks to this many.
fn missing(record: &StudyRecord, fewest: usize) -> u32 {
    let done = record.measured.complete_blocks().count();
    fewest.saturating_sub(done).max(1) as u32
}

/// The figures behind an answer, and what keeps them from settling it.
pub(crate) fn reason(record: &StudyRecord, answer: &ExpectationResult) -> String {
    let figures = figures(answer).or_else(|| Some(seen(answer.goal?)));
    let doubt = match &answer.standing {
        Standing::Holds | Standing::Fails => None,
        Standing::Unsettled(doubt) => Some(doubting(record, *doubt, answer)),
        Standing::Invalid(why) => Some(invalid(why)),
    };
    let parts: Vec<String> = figures.into_iter().chain(doubt).collect();
    parts.join("; ")
}

/// What was measured of the ratio that was asked for.
fn figures(answer: &ExpectationResult) -> Option<String> {
    let bounds = answer.bounds?;
    let metric = metric_name(answer.metric?);
    let reading = match answer.is_speed_of_time {
        true => format!("speed, by {metric},"),
        false => metric.to_owned(),
    };
    let [subject, other] = [&answer.subject, &answer.other].map(|text| name(text));
    let [ratio, low, high] = ratios([bounds.ratio, bounds.low, bounds.high]);
    Some(format!(
        "{subject}'s {reading} is {ratio} times {other}'s ({low} to {high})"
    ))
}

/// What was measured of a goal.
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

fn doubting(record: &StudyRecord, doubt: Doubt, answer: &ExpectationResult) -> String {
    let factor = answer.wanted.map_or(1.0, |(_, factor)| factor);
    match doubt {
        Doubt::Straddles => {
            let settling = answer.blocks_more.map_or_else(String::new, |more| {
                let flag = more_flag(record, more);
                let flag = flag.map_or_else(String::new, |flag| format!(": use `{flag}`"));
                format!(", {}{flag}", would_settle(record, more))
            });
            // 1 + 0.03 has a long tail of digits.
            let factor = (factor * 1e9).round() / 1e9;
            format!("the interval includes {factor}{settling}")
        }
        Doubt::Bound => "the true ratio may lie further out, see the findings".to_owned(),
        Doubt::FewBlocks(fewest) => {
            let more = missing(record, fewest);
            let flag = more_flag(record, more);
            let flag = flag.map_or_else(String::new, |flag| format!(": use `{flag}`"));
            format!(
                "too few blocks, it needs at least {fewest}, {}{flag}",
                more_blocks(record, more)
            )
        }
        Doubt::NoReference => "they were measured at different times and nothing beside both: \
                               measure both in one study, or keep the ceiling on in both"
            .to_owned(),
        Doubt::TimesAtLeast => {
            "requests had no response, so how long they would have taken is not known".to_owned()
        }
        Doubt::FewRequests(needed) => {
            format!("it needs at least {}", plural(needed, "request"))
        }
        Doubt::NothingSent => "no request was sent".to_owned(),
        Doubt::NoInterval => "there is no interval".to_owned(),
        Doubt::GeneratorBound => "the limit was not theirs, but that of the generator or of a \
                                  service, so which is faster is not known; more CPU per response \
                                  is not slower"
            .to_owned(),
        Doubt::NotCompared => "these two were not compared by this metric".to_owned(),
    }
}

fn invalid(why: &str) -> String {
    let why = prose(why, &[]);
    let line = why.lines().next().unwrap_or_default();
    match line.trim_end_matches(['.', ':', ' ']) {
        "" => "no claim can be made".to_owned(),
        line => format!("no claim can be made, because {line}"),
    }
}
