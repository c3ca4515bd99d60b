//! What was expected, and what the study says to it.

use abx_evidence::{ExpectationResult, Standing, StudyRecord};

use super::study::ReportExtent;
use crate::words::expectations::{headline, like, outcome, sentence};
use crate::words::metrics::capitalized;
use crate::words::style::Style;
use crate::words::verdict::tint;

/// The head of a report: a sentence for each answer, after their counts if there are several.
/// Empty when nothing was expected.
#[must_use]
pub fn expectations_text(
    record: &StudyRecord,
    answers: &[ExpectationResult],
    extent: ReportExtent,
    style: &Style,
) -> String {
    let is_passed = |answer: &&ExpectationResult| answer.standing == Standing::Holds;
    let is_long = answers.len() > SENTENCES_MAX && extent != ReportExtent::Full;
    let shown: Vec<&ExpectationResult> = { answers.iter() }
        .filter(|answer| !(is_long && is_passed(answer)))
        .collect();
    let mut text = match (headline(answers), answers) {
        (None, _) | (_, [_]) => String::new(),
        (Some(headline), _) => style.paragraph(&format!("{headline}.")),
    };
    for answer in &shown {
        let outcome = capitalized(outcome(&answer.standing));
        let outcome = style.paint(&outcome, tint(like(&answer.standing)));
        text.push_str(&style.paragraph(&format!("{outcome}: {}", sentence(record, answer))));
    }
    if shown.len() < answers.len() {
        text.push_str(&style.note("--full prints those that passed, too."));
    }
    style.finish(&text)
}

/// With more answers than this, those that passed are only counted.
const SENTENCES_MAX: usize = 8;
