//! Decided comparisons that one sentence can report together.

use abx_verdict::{Comparison, Metric, Role, StudyRecord};

use crate::document::{Document, Table};
use crate::words::metrics::metric_of;
use crate::words::style::mark;
use crate::words::units::count;
use crate::words::verdict::{name, ratio_range, word};

/// Comparisons of one pair by one metric with one decided verdict, each with a ratio.
pub(crate) struct DecidedGroup<'a> {
    pub(crate) comparisons: Vec<&'a Comparison>,
}

impl DecidedGroup<'_> {
    /// The largest difference, as a logarithm.
    fn size(&self) -> f64 {
        let comparisons = self.comparisons.iter();
        let ratios = comparisons.filter_map(|comparison| comparison.ratio);
        ratios.map(|ratio| ratio.ln().abs()).fold(0.0, f64::max)
    }
}

/// The decided comparisons among these, in their order.
pub(crate) fn decided_groups<'a>(
    comparisons: impl Iterator<Item = &'a Comparison>,
) -> Vec<DecidedGroup<'a>> {
    let mut groups: Vec<DecidedGroup> = Vec::new();
    let is_decided =
        |comparison: &&Comparison| comparison.verdict.is_decided() && comparison.ratio.is_some();
    for comparison in comparisons.filter(is_decided) {
        let group = groups.iter_mut().find(|group| {
            key(group.comparisons[0]) == key(comparison)
                // Each recovery has a sentence of its own.
                && comparison.metric != Metric::Recovery
        });
        match group {
            Some(group) => group.comparisons.push(comparison),
            None => groups.push(DecidedGroup {
                comparisons: vec![comparison],
            }),
        }
    }
    groups
}

fn key(comparison: &Comparison) -> impl PartialEq + use<'_> {
    (
        (&comparison.subject, &comparison.baseline),
        (comparison.metric, &comparison.step),
        (comparison.verdict, comparison.at_least),
    )
}

/// The `most` groups with the largest differences in their order, and the number of comparisons
/// in the other groups.
pub(crate) fn largest(groups: Vec<DecidedGroup>, most: usize) -> (Vec<DecidedGroup>, usize) {
    let mut sizes: Vec<f64> = groups.iter().map(DecidedGroup::size).collect();
    sizes.sort_by(|a, b| b.total_cmp(a));
    let least = sizes.get(most).copied();
    let is_shown = |group: &DecidedGroup| least.is_none_or(|least| group.size() > least);
    let (shown, others): (Vec<DecidedGroup>, Vec<DecidedGroup>) =
        groups.into_iter().partition(is_shown);
    let left_out = others.iter().map(|group| group.comparisons.len()).sum();
    (shown, left_out)
}

/// The largest decided differences among the exploratory comparisons.
pub(crate) fn also_decided(record: &StudyRecord) -> Document {
    let comparisons = record.conclusions.comparisons.iter();
    let exploratory = comparisons.filter(|comparison| comparison.role == Role::Exploratory);
    let exploratory: Vec<&Comparison> = exploratory.collect();
    let (shown, left_out) = largest(decided_groups(exploratory.iter().copied()), ROWS_MAX);
    let rows = shown.iter().map(|group| {
        let first = group.comparisons[0];
        let pair = format!("{} ÷ {}", name(&first.subject), name(&first.baseline));
        let metric = metric_of(record, first);
        let place = match group.comparisons.len() {
            _ if first.load.is_empty() => String::new(),
            1 => format!(", {}", name(&first.load)),
            several => format!(", {several} loads"),
        };
        vec![
            format!("{pair}: {metric}{place}"),
            ratio_range(&group.comparisons),
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
    let decided: usize = shown.iter().map(|group| group.comparisons.len()).sum();
    let others = exploratory.len() - decided - left_out;
    out.note(format!(
        "About 1 in 20 such intervals misses the true ratio by chance. Not shown: {} decided and \
         {} others; `--html` and `--csv` have them.",
        count(left_out as u64),
        count(others as u64)
    ));
    out
}

const ROWS_MAX: usize = 5;
