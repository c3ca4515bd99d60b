//! Limits that each subject must meet under a load, such as `p99<50ms,errors<0.1%`.

use super::result::{Doubt, ExpectationResult, GoalReading, Standing, nothing_compared};
use super::statement::Threshold;
use crate::file::study::StudyRecord;
use crate::view::summary::Summary;
use abx_evidence::{Finding, Goal, Level};

/// One result per goal, load and subject.
///
/// Method: the printed figure of the subject under the load, over the whole record, is compared
/// with the limit. It is not an estimate and has no interval. A time that is met only because
/// requests had no response, or because too few were sent for the quantile, is unsettled.
/// Source: docs/reference/expectations.md.
pub(super) fn results(record: &StudyRecord, threshold: &Threshold) -> Vec<ExpectationResult> {
    let is_meant = |summary: &&Summary| {
        let load = threshold.load.as_ref();
        load.is_none_or(|load| *load == summary.load)
    };
    let summaries = record.conclusions.summaries.iter().filter(is_meant);
    let summaries: Vec<&Summary> = summaries.collect();
    let results = threshold.objective.goals().iter().flat_map(|goal| {
        summaries.iter().map(|summary| {
            let reading = reading(*goal, summary);
            ExpectationResult {
                expected: goal.to_string(),
                load: summary.load.clone(),
                subject: summary.subject.clone(),
                goal: reading,
                standing: standing(record, summary, *goal, reading),
                ..nothing_compared()
            }
        })
    });
    results.collect()
}

fn reading(goal: Goal, summary: &Summary) -> Option<GoalReading> {
    match goal {
        Goal::Time { figure, .. } => Some(GoalReading::Time {
            name: figure.name(),
            us: summary.response_time_us.figure(figure)?,
            at_least: summary.response_time_us.is_at_least(figure),
        }),
        Goal::Errors { .. } => {
            let planned = planned(summary);
            (planned > 0).then(|| GoalReading::Errors {
                missed: planned.saturating_sub(summary.ok),
                planned,
            })
        }
    }
}

/// Requests that were due.
fn planned(summary: &Summary) -> u64 {
    let unsent = summary.offered.map_or(0, |offered| offered.unsent);
    summary.outcomes.requests().saturating_add(unsent)
}

fn standing(
    record: &StudyRecord,
    summary: &Summary,
    goal: Goal,
    reading: Option<GoalReading>,
) -> Standing {
    match (goal, reading) {
        (_, None) => Standing::Unsettled(Doubt::NothingSent),
        (Goal::Errors { limit_percent }, Some(GoalReading::Errors { missed, planned })) => {
            if 100.0 * (missed as f64) < limit_percent * planned as f64 {
                Standing::Holds
            } else {
                Standing::Fails
            }
        }
        (
            Goal::Time {
                share, limit_us, ..
            },
            Some(GoalReading::Time { us, at_least, .. }),
        ) => {
            // The fewest requests with one beyond the quantile.
            let needed = (1.0 / (1.0 - share) - 1e-9).ceil() as u64;
            if let Some(void) = void(record, summary) {
                Standing::Invalid(void.message.clone())
            } else if us >= limit_us {
                Standing::Fails
            } else if at_least {
                Standing::Unsettled(Doubt::TimesAtLeast)
            } else if planned(summary) < needed {
                Standing::Unsettled(Doubt::FewRequests(needed))
            } else {
                Standing::Holds
            }
        }
        (Goal::Errors { .. }, Some(GoalReading::Time { .. }))
        | (Goal::Time { .. }, Some(GoalReading::Errors { .. })) => {
            unreachable!("a reading is of its goal")
        }
    }
}

/// The first finding that forbids a claim about this subject under this load.
fn void<'a>(record: &'a StudyRecord, summary: &Summary) -> Option<&'a Finding> {
    let subject = summary.subject.as_str();
    let mut findings = record.conclusions.validity.findings.iter();
    findings.find(|finding| {
        finding.level == Level::Void && finding.touches(&summary.load, [subject, subject])
    })
}
