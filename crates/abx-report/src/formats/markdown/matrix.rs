//! Verdicts at a glance: a row for each subject, or for each pair where their baselines
//! differ, and a column for each load.

use abx_evidence::{Comparison, Metric, StudyRecord, Verdict};

use super::{code, escape, row};
use crate::words::metrics::metric_under;
use crate::words::units::ratio_cells;
use crate::words::verdict::word;

/// A page is as wide as this; more columns make a further table.
const COLUMNS_MAX: usize = 4;
/// Fewer are as soon read as sentences.
const CELLS_MIN: usize = 6;

/// One thing that all subjects were asked.
struct MatrixColumn<'a> {
    load: &'a str,
    metric: Metric,
}

/// One row: what is compared, `None` for the baseline itself, and what it is called.
struct MatrixRow<'a> {
    pair: Option<[&'a str; 2]>,
    name: String,
}

/// The primary verdicts of a study in Markdown tables: what each subject is as a
/// multiple of the baseline. Empty where they are few.
#[must_use]
pub fn verdict_matrix(record: &StudyRecord) -> String {
    let columns = columns(record);
    if record.measured.pairs().len() * columns.len() < CELLS_MIN {
        return String::new();
    }
    let tables: Vec<String> = together(&columns)
        .map(|columns| table(record, &rows(record), columns))
        .collect();
    tables.join("\n")
}

/// What was asked, in the order of the loads.
fn columns(record: &StudyRecord) -> Vec<MatrixColumn<'_>> {
    let mut columns: Vec<MatrixColumn> = Vec::new();
    for load in &record.measured.loads {
        let under = record
            .conclusions
            .primary()
            .filter(|one| one.load == load.name);
        for one in under {
            let is_known =
                |column: &MatrixColumn| (column.load, column.metric) == (&load.name, one.metric);
            if !columns.iter().any(is_known) {
                columns.push(MatrixColumn {
                    load: &load.name,
                    metric: one.metric,
                });
            }
        }
    }
    columns
}

/// Columns of one table: those of one row of the study file, as many as a page has room for.
fn together<'a>(columns: &'a [MatrixColumn<'a>]) -> impl Iterator<Item = &'a [MatrixColumn<'a>]> {
    columns
        .chunk_by(|one, next| stem(one.load) == stem(next.load))
        .flat_map(|chunk| chunk.chunks(COLUMNS_MAX))
}

/// What the loads of a sweep have in common: `kept` of `kept-c50`.
fn stem(load: &str) -> &str {
    load.rsplit_once('-').map_or(load, |(stem, _)| stem)
}

/// The subjects in their order, the baseline among them; or the pairs.
fn rows(record: &StudyRecord) -> Vec<MatrixRow<'_>> {
    let pairs = record.measured.pairs();
    let Some(baseline) = record.measured.only_baseline() else {
        let row =
            |[subject, baseline]: [&'_ str; 2]| format!("{} / {}", code(subject), code(baseline));
        let each = pairs.into_iter();
        return each
            .map(|pair| MatrixRow {
                pair: Some(pair),
                name: row(pair),
            })
            .collect();
    };
    let names = record.measured.subjects.iter().map(|one| one.name.as_str());
    let pair = |name| Some([name, baseline]).filter(|pair| pairs.contains(pair));
    let shown = names.filter(|name| *name == baseline || pair(*name).is_some());
    shown
        .map(|name| MatrixRow {
            pair: pair(name),
            name: code(name),
        })
        .collect()
}

fn table(record: &StudyRecord, rows: &[MatrixRow], columns: &[MatrixColumn]) -> String {
    let headers = columns.iter().map(|column| {
        let metric = metric_under(record, column.load, column.metric);
        format!("{}, {metric}", code(column.load))
    });
    let headers: Vec<String> = std::iter::once(String::new()).chain(headers).collect();
    let line = vec!["---".to_owned(); headers.len()];
    let rows = rows.iter().map(|own| {
        let cells = columns.iter().map(|column| {
            let Some(pair) = own.pair else {
                return "1".to_owned();
            };
            let by = |metric: Metric| {
                record.conclusions.primary().find(|one| {
                    [&*one.subject, &*one.baseline] == pair
                        && (one.load.as_str(), one.metric) == (column.load, metric)
                })
            };
            match by(column.metric) {
                Some(one) => cell(one),
                // What the generator limited has no throughput of its own.
                None if column.metric == Metric::Throughput && by(Metric::ServerCpu).is_some() => {
                    "not known".to_owned()
                }
                None => String::new(),
            }
        });
        let cells: Vec<String> = std::iter::once(own.name.clone()).chain(cells).collect();
        row(&cells)
    });
    row(&headers) + &row(&line) + &rows.collect::<String>()
}

/// A ratio with its interval and what it amounts to.
fn cell(one: &Comparison) -> String {
    let [ratio, interval] = ratio_cells(one);
    let bound = if one.at_least { ", a bound" } else { "" };
    let fragile = if one.fragile { ", fragile" } else { "" };
    let verdict = escape(&format!("{}{bound}{fragile}", word(one.verdict)));
    match one.verdict {
        Verdict::Invalid => verdict,
        Verdict::Inconclusive => format!("{ratio} ({interval}) {verdict}"),
        _ => format!("{ratio} ({interval}) **{verdict}**"),
    }
}
