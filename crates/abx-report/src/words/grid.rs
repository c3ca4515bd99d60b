//! The primary verdicts of a study as a grid: a row for each subject, or for each pair where
//! their baselines differ, and a column for each load and each fault.

use abx_evidence::{Comparison, Metric, StudyRecord};

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
    /// The generator was the limit, so this has no throughput of its own.
    NotKnown,
    /// This was not asked.
    Nothing,
}

/// What was asked, in the order of the loads and then of the faults.
pub(crate) fn columns(record: &StudyRecord) -> Vec<GridColumn<'_>> {
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
    match by(column.metric) {
        Some(one) => GridCell::Found(one),
        None if column.metric == Metric::Throughput && by(Metric::ServerCpu).is_some() => {
            GridCell::NotKnown
        }
        None => GridCell::Nothing,
    }
}
