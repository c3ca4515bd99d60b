//! What a study says to what was expected, and why.

use abx_evidence::{Doubt, ExpectationResult, Standing, StudyRecord};

use super::metrics::metric_name;
use super::prose::prose;
use super::units::{plural, ratios};
use super::verdict::{name, would_settle};

/// The figures behind an answer, and what keeps them from settling it.
pub(crate) fn reason(record: &StudyRecord, answer: &ExpectationResult) -> String {
    let figures = figures(answer);
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

fn doubting(record: &StudyRecord, doubt: Doubt, answer: &ExpectationResult) -> String {
    let factor = answer.wanted.map_or(1.0, |(_, factor)| factor);
    match doubt {
        Doubt::Straddles => {
            let settling = answer.blocks_more.map_or_else(String::new, |more| {
                format!(", {}", would_settle(record, more))
            });
            // 1 + 0.03 has a long tail of digits.
            let factor = (factor * 1e9).round() / 1e9;
            format!("the interval includes {factor}{settling}")
        }
        Doubt::Bound => "the true ratio may lie further out, see the findings".to_owned(),
        Doubt::FewBlocks(fewest) => {
            format!("it needs at least {}", plural(fewest as u64, "block"))
        }
        Doubt::NoReference => "they were measured at different times and nothing beside both: \
                               measure both in one study, or keep the ceiling on in both"
            .to_owned(),
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
