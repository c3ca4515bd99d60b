//! Decided comparisons that one sentence can report together.

use abx_verdict::{Comparison, Metric, Role, StudyRecord};

use crate::document::{Document, Table};
use crate::words::metrics::metric_of;
use crate::words::style::mark;
use crate::words::units::count;
use crate::words::verdict::{name, ratio_range, word};

/// Comparisons of one pair by one metric with one decided verdict, each with a ratio.
pub(crate) struct Answer<'a> {
    pub(crate) comparisons: Vec<&'a Comparison>,
}

impl Answer<'_> {
    /// The largest difference, as a logarithm.
    fn size(&self) -> f64 {
        let ratios = self.comparisons.iter().filter_map(|other| other.ratio);
        ratios.map(|ratio| ratio.ln().abs()).fold(0.0, f64::max)
    }
}

/// The decided comparisons among these, in their order.
pub(crate) fn answers<'a>(comparisons: impl Iterator<Item = &'a Comparison>) -> Vec<Answer<'a>> {
    let mut answers: Vec<Answer> = Vec::new();
    let decided = comparisons.filter(|other| other.verdict.is_decided() && other.ratio.is_some());
    for comparison in decided {
        let same = answers.iter_mut().find(|answer| {
            key(answer.comparisons[0]) == key(comparison)
                // How one recovers is a sentence of its own.
                && comparison.metric != Metric::Recovery
        });
        match same {
            Some(answer) => answer.comparisons.push(comparison),
            None => answers.push(Answer {
                comparisons: vec![comparison],
            }),
        }
    }
    answers
}

fn key(comparison: &Comparison) -> impl PartialEq + use<'_> {
    (
        (&comparison.subject, &comparison.baseline),
        (comparison.metric, &comparison.step),
        (comparison.verdict, comparison.at_least),
    )
}

/// At most so many of them, the largest differences, in their order; and how many comparisons the
/// others have.
pub(crate) fn largest(answers: Vec<Answer>, most: usize) -> (Vec<Answer>, usize) {
    let mut sizes: Vec<f64> = answers.iter().map(Answer::size).collect();
    sizes.sort_by(|a, b| b.total_cmp(a));
    let least = sizes.get(most).copied();
    let is_shown = |answer: &Answer| least.is_none_or(|least| answer.size() > least);
    let (shown, others): (Vec<Answer>, Vec<Answer>) = answers.into_iter().partition(is_shown);
    let left_out = others.iter().map(|answer| answer.comparisons.len()).sum();
    (shown, left_out)
}

/// The largest decided differences in metrics for which the study was not made.
pub(crate) fn also_decided(record: &StudyRecord) -> Document {
    let comparisons = record.conclusions.comparisons.iter();
    let explored = comparisons.filter(|comparison| comparison.role == Role::Exploratory);
    let explored: Vec<&Comparison> = explored.collect();
    let (shown, left_out) = largest(answers(explored.iter().copied()), ROWS_MAX);
    let rows = shown.iter().map(|answer| {
        let first = answer.comparisons[0];
        let pair = format!("{} ÷ {}", name(&first.subject), name(&first.baseline));
        let metric = metric_of(record, first);
        let place = match answer.comparisons.len() {
            _ if first.load.is_empty() => String::new(),
            1 => format!(", {}", name(&first.load)),
            several => format!(", {several} loads"),
        };
        vec![
            format!("{pair}: {metric}{place}"),
            ratio_range(&answer.comparisons),
            format!("{} {}", mark(first.verdict), word(first.verdict)),
        ]
    });
    let headers = ["also compared", "ratio", "verdict"];
    let table = Table::new(headers, rows).captioned("Also compared");
    let mut out = Document::default();
    if shown.is_empty() {
        return out;
    }
    out.table(Some(table), "");
    let decided: usize = shown.iter().map(|answer| answer.comparisons.len()).sum();
    let others = explored.len() - decided - left_out;
    out.note(format!(
        "With so many intervals, one may miss by chance. Not shown: {} decided and {} others; \
         `--html` and `--csv` have them.",
        count(left_out as u64),
        count(others as u64)
    ));
    out
}

const ROWS_MAX: usize = 8;
