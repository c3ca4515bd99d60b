//! The primary verdicts of a study as a grid: a row for each subject, or for each pair where
//! their baselines differ, and a column for each load and each fault. Terminal, Markdown and
//! HTML draw it; what stands in it is the same.

use abx_evidence::{Comparison, Metric, StudyRecord, Verdict};

use super::style::Style;
use super::units::{figure, ratios};
use super::wrap::clean_name;

/// More comparisons than this are told by a grid.
const SENTENCES_MAX: usize = 4;

/// Whether a study compares so much that sentences alone are no answer.
pub(crate) fn is_needed(record: &StudyRecord) -> bool {
    record.conclusions.primary().count() > SENTENCES_MAX
}

/// One thing that all subjects were asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GridColumn<'a> {
    pub(crate) load: &'a str,
    pub(crate) metric: Metric,
}

/// What is compared in one row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum GridRow<'a> {
    /// The baseline of all others.
    Baseline(&'a str),
    /// A subject against the baseline of all.
    Subject([&'a str; 2]),
    /// A subject against a baseline of its own.
    Pair([&'a str; 2]),
}

/// What stands where a row meets a column.
pub(crate) enum GridCell<'a> {
    /// The baseline against itself.
    One,
    /// What was found.
    Found(&'a Comparison),
    /// The generator or a service was the limit, so this has no throughput of its own;
    /// what is known instead is CPU per response.
    Instead(&'a Comparison),
    /// This was not asked.
    Nothing,
}

/// What was asked, in the order of the loads and then of the faults. What stands in for
/// throughput is shown in that one's place, where there is one.
pub(crate) fn columns(record: &StudyRecord) -> Vec<GridColumn<'_>> {
    let mut columns = all_columns(record);
    columns.retain(|column| !stands_in(record, *column));
    columns
}

/// Whether a column holds what stands in for throughput.
fn stands_in(record: &StudyRecord, column: GridColumn) -> bool {
    let throughput = GridColumn {
        metric: Metric::Throughput,
        ..column
    };
    column.metric == Metric::ServerCpu && all_columns(record).contains(&throughput)
}

/// Whether anything stands in for throughput.
pub(crate) fn has_instead(record: &StudyRecord) -> bool {
    let mut all = all_columns(record).into_iter();
    all.any(|column| stands_in(record, column))
}

/// The same with a column of its own for what stands in for throughput.
pub(crate) fn all_columns(record: &StudyRecord) -> Vec<GridColumn<'_>> {
    let mut columns: Vec<GridColumn> = Vec::new();
    let loads = record.measured.loads.iter().map(|one| one.name.as_str());
    let faults = record.measured.faults.iter().map(|one| one.name.as_str());
    for load in loads.chain(faults) {
        let primary = record.conclusions.primary();
        for one in primary.filter(|one| one.load == load) {
            let column = GridColumn {
                load,
                metric: one.metric,
            };
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
    }
    columns
}

/// The subjects in their order, the baseline among them; or the pairs.
pub(crate) fn rows(record: &StudyRecord) -> Vec<GridRow<'_>> {
    let pairs = record.measured.pairs();
    let Some(baseline) = record.measured.only_baseline() else {
        return pairs.into_iter().map(GridRow::Pair).collect();
    };
    let names = record.measured.subjects.iter().map(|one| one.name.as_str());
    let row = |name: &'_ str| match name == baseline {
        true => Some(GridRow::Baseline(baseline)),
        false => { pairs.iter() }
            .find(|pair| **pair == [name, baseline])
            .map(|pair| GridRow::Subject(*pair)),
    };
    names.filter_map(row).collect()
}

/// What stands in one place.
pub(crate) fn cell<'a>(
    record: &'a StudyRecord,
    row: GridRow<'_>,
    column: GridColumn<'_>,
) -> GridCell<'a> {
    let pair = match row {
        GridRow::Baseline(_) => return GridCell::One,
        GridRow::Subject(pair) | GridRow::Pair(pair) => pair,
    };
    let by = |metric: Metric| {
        record.conclusions.primary().find(|one| {
            [&*one.subject, &*one.baseline] == pair
                && (one.load.as_str(), one.metric) == (column.load, metric)
        })
    };
    let instead = || by(Metric::ServerCpu).filter(|_| column.metric == Metric::Throughput);
    match (by(column.metric), instead()) {
        (Some(one), _) => GridCell::Found(one),
        (None, Some(one)) => GridCell::Instead(one),
        (None, None) => GridCell::Nothing,
    }
}

/// What a row is called.
pub(crate) fn row_name(row: GridRow) -> String {
    match row {
        GridRow::Baseline(name) | GridRow::Subject([name, _]) => clean_name(name),
        GridRow::Pair([subject, baseline]) => {
            format!("{} / {}", clean_name(subject), clean_name(baseline))
        }
    }
}

/// The sign of a comparison in a grid; `void` where no claim can be made.
pub(crate) fn sign(one: &Comparison) -> &'static str {
    match one.verdict {
        Verdict::Faster | Verdict::Less => "+",
        Verdict::Slower | Verdict::More => "-",
        Verdict::Equivalent => "=",
        Verdict::Inconclusive if one.too_few_blocks => TOO_FEW,
        Verdict::Inconclusive => "?",
        Verdict::Invalid => "void",
    }
}

/// A ratio with its interval as it stands in a grid; the ratio alone where there is no
/// interval, and nothing where there is no ratio.
pub(crate) fn cell_figures(one: &Comparison) -> Option<String> {
    let Some(found) = one.bounds() else {
        return one.plain_ratio().map(figure);
    };
    let [ratio, low, high] = match one.verdict {
        // The third digit tells on which side of 1 a settled one ends.
        Verdict::Inconclusive => short_ratios(found),
        _ => ratios(found),
    };
    Some(format!("{ratio} {low}–{high}"))
}

/// Ratios with two digits behind the point at most.
fn short_ratios(found: [f64; 3]) -> [String; 3] {
    let shorter = found.map(|ratio| format!("{ratio:.2}"));
    let whole = ratios(found);
    match whole[0].len() > shorter[0].len() {
        true => shorter,
        false => whole,
    }
}

/// Where the truth may lie further out than a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Further {
    AtLeast,
    AtMost,
    /// On a side that no settled direction tells.
    Open,
}

/// Where the truth may lie further out than this; `None` for what is no bound.
pub(crate) fn further(one: &Comparison) -> Option<Further> {
    let ratio = one.ratio.filter(|_| one.at_least && !one.too_few_blocks)?;
    Some(match one.verdict.is_directed() {
        true if ratio > 1.0 => Further::AtLeast,
        true => Further::AtMost,
        false => Further::Open,
    })
}

/// The signs of the bounds in a grid, and what they mean; `None` without any.
pub(crate) fn bound_legend(record: &StudyRecord, style: &Style) -> Option<String> {
    let has = |side: Further| {
        let mut primary = record.conclusions.primary();
        primary.any(|one| one.verdict != Verdict::Invalid && further(one) == Some(side))
    };
    let directed = [
        (Further::AtLeast, style.at_least()),
        (Further::AtMost, style.at_most()),
    ];
    let there = directed.into_iter().filter(|(side, _)| has(*side));
    let signs: Vec<&str> = there.map(|(_, sign)| sign).collect();
    let settled = (!signs.is_empty()).then(|| format!("{}: a bound", signs.join(" ")));
    let open = has(Further::Open).then(|| format!("{OPEN_BOUND}: an open bound"));
    let said: Vec<String> = settled.into_iter().chain(open).collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// Whether anything in the grid is empty.
pub(crate) fn has_empty(record: &StudyRecord) -> bool {
    let columns = columns(record);
    let is_empty = |row: GridRow| {
        let mut cells = columns.iter().map(|column| cell(record, row, *column));
        cells.any(|cell| matches!(cell, GridCell::Nothing))
    };
    rows(record).into_iter().any(is_empty)
}

/// What an empty cell says.
pub(crate) const EMPTY_LEGEND: &str = "empty: not asked for, or no ratio";

/// Marks a comparison that has fewer blocks than a verdict needs.
pub(crate) const TOO_FEW: &str = "few";

/// What that mark says.
pub(crate) const TOO_FEW_LEGEND: &str = "few: too few blocks for a verdict";

/// Whether a comparison is open although it had enough blocks.
pub(crate) fn is_open(one: &Comparison) -> bool {
    one.verdict == Verdict::Inconclusive && !one.too_few_blocks
}

/// Marks a bound without a settled direction.
pub(crate) const OPEN_BOUND: &str = "b";
