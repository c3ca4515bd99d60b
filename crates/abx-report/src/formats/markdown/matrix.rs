//! Verdicts at a glance, in tables.

use abx_evidence::{Comparison, StudyRecord, Verdict};

use super::{code, row};
use crate::words::grid::{self, GridCell, GridColumn, GridRow};
use crate::words::marks::mark;
use crate::words::metrics::metric_under;
use crate::words::ratio::ratio_cells;
use crate::words::verdict::word_of;

/// A page is as wide as this; more columns make a further table.
const COLUMNS_MAX: usize = 4;

/// The primary verdicts of a study in Markdown tables: what each subject is as a
/// multiple of the baseline. Empty where they are few.
#[must_use]
pub fn verdict_matrix(record: &StudyRecord) -> String {
    let columns = grid::all_columns(record);
    if !grid::is_needed(record) {
        return String::new();
    }
    let tables: Vec<String> = together(&columns)
        .map(|columns| table(record, &grid::rows(record), columns))
        .collect();
    tables.join("\n")
}

/// Columns of one table: those of one row of the study file, as many as a page has room for.
fn together<'a>(columns: &'a [GridColumn<'a>]) -> impl Iterator<Item = &'a [GridColumn<'a>]> {
    columns
        .chunk_by(|one, next| stem(one.load) == stem(next.load))
        .flat_map(|chunk| chunk.chunks(COLUMNS_MAX))
}

/// What the loads of a sweep have in common: `kept` of `kept-c50`.
fn stem(load: &str) -> &str {
    load.rsplit_once('-').map_or(load, |(stem, _)| stem)
}

fn table(record: &StudyRecord, rows: &[GridRow], columns: &[GridColumn]) -> String {
    let headers = columns.iter().map(|column| {
        let metric = metric_under(record, column.load, column.metric);
        format!("{}, {metric}", code(column.load))
    });
    let headers: Vec<String> = std::iter::once(String::new()).chain(headers).collect();
    let line = vec!["---".to_owned(); headers.len()];
    let rows = rows.iter().map(|own| {
        let cells = { columns.iter() }.map(|column| match grid::cell(record, *own, *column) {
            GridCell::One => "1".to_owned(),
            GridCell::Found(one) => cell(one),
            // It has a column of its own.
            GridCell::Instead(_) => "not known".to_owned(),
            GridCell::Nothing => String::new(),
        });
        let name = match own {
            GridRow::Baseline(name) | GridRow::Subject([name, _]) => code(name),
            GridRow::Pair([subject, baseline]) => format!("{} / {}", code(subject), code(baseline)),
        };
        let cells: Vec<String> = std::iter::once(name).chain(cells).collect();
        row(&cells)
    });
    row(&headers) + &row(&line) + &rows.collect::<String>()
}

/// A ratio with its interval and what it amounts to.
fn cell(one: &Comparison) -> String {
    let [ratio, interval] = ratio_cells(one);
    let fragile = if one.fragile { ", fragile" } else { "" };
    let (mark, verdict) = (mark(one.verdict), format!("{}{fragile}", word_of(one)));
    match one.verdict {
        Verdict::Invalid => format!("{mark} {verdict}"),
        Verdict::Inconclusive => format!("{ratio} ({interval}) {mark} {verdict}"),
        _ => format!("{ratio} ({interval}) {mark} **{verdict}**"),
    }
}
