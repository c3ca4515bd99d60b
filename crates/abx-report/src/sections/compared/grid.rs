//! The primary verdicts of a study at a glance: for one pair a row per load, for several pairs a
//! row per pair and a column per load or fault.

use abx_evidence::Figure;
use abx_evidence::record::LoadRecord;
use abx_verdict::{Capacity, Comparison, Metric, StudyRecord, Summary, Verdict};

use crate::document::{
    CellDetail, CellRatio, Matrix, MatrixCell, MatrixHeader, MatrixRow, MatrixVerdict,
};
use crate::sections::compared::findings::ratio_id;
use crate::sections::compared::questions::{self, questions};
use crate::words::metrics::{metric_under, rate_under};
use crate::words::ratio::{Further, ShownRatio};
use crate::words::style::{LINE, Style};
use crate::words::units::{GLUE, NO_INTERVAL, UNKNOWN, figure, or_unknown, percent, ratios};
use crate::words::verdict::{foreign_limits, is_open, sentence, word_of};
use crate::words::wrap::clean_name;

const SENTENCES_MAX: usize = 4;

/// Whether a study compares so much that sentences alone are no overview.
pub(crate) fn is_needed(record: &StudyRecord) -> bool {
    columns(record).len() > 1 || record.conclusions.primary().count() > SENTENCES_MAX
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GridColumn<'a> {
    load: &'a str,
    metric: Metric,
    /// Another metric, for which no pair has a result, and which has no column of its own.
    void: Option<Metric>,
}

/// The comparison of a pair in a column.
#[derive(Debug, Clone, Copy)]
enum GridCell<'a> {
    Found(&'a Comparison),
    /// The generator or a service was the limit, so throughput has no verdict; CPU per response
    /// has one.
    Instead(&'a Comparison),
    Nothing,
}

/// Loads and then faults in their order. CPU per response that stands in for throughput is in the
/// column of throughput, and a metric without any result in another column of its load.
fn columns(record: &StudyRecord) -> Vec<GridColumn<'_>> {
    let mut columns = all_columns(record);
    columns.retain(|column| !stands_in(record, *column));
    let by_load = columns.chunk_by(|column, next| column.load == next.load);
    by_load
        .flat_map(|columns| with_results(record, columns))
        .collect()
}

/// The columns of a load in which a pair has a result; the first column if none has.
fn with_results<'a>(record: &StudyRecord, columns: &[GridColumn<'a>]) -> Vec<GridColumn<'a>> {
    let columns = columns.iter().copied();
    let (void, mut shown): (Vec<GridColumn>, Vec<GridColumn>) =
        columns.partition(|column| is_void(record, *column));
    if shown.is_empty() {
        shown.extend(void.first());
    }
    let left_out = void.iter().find(|column| !shown.contains(column));
    let left_out = left_out.map(|column| column.metric);
    if let Some(first) = shown.first_mut() {
        first.void = left_out;
    }
    shown
}

/// Whether no pair has a result in a column.
fn is_void(record: &StudyRecord, column: GridColumn) -> bool {
    let is_in_column = |comparison: &&Comparison| {
        let is_instead =
            column.metric == Metric::Throughput && comparison.metric == Metric::ServerCpu;
        comparison.load == column.load && (comparison.metric == column.metric || is_instead)
    };
    let mut comparisons = record.conclusions.primary().filter(is_in_column);
    comparisons.all(|comparison| comparison.verdict == Verdict::Invalid)
}

fn stands_in(record: &StudyRecord, column: GridColumn) -> bool {
    let throughput = GridColumn {
        metric: Metric::Throughput,
        ..column
    };
    column.metric == Metric::ServerCpu && all_columns(record).contains(&throughput)
}

fn has_instead(record: &StudyRecord) -> bool {
    let mut grid_columns = all_columns(record).into_iter();
    grid_columns.any(|column| stands_in(record, column))
}

fn all_columns(record: &StudyRecord) -> Vec<GridColumn<'_>> {
    let mut columns: Vec<GridColumn> = Vec::new();
    let grids = record.measured.loads.iter().map(LoadRecord::name_of_grid);
    let faults = record
        .measured
        .faults
        .iter()
        .map(|fault| fault.name.as_str());
    // The rates of a grid are one column.
    for load in grids.chain(faults) {
        let primary = record.conclusions.primary();
        for comparison in primary.filter(|comparison| comparison.load == load) {
            let column = GridColumn {
                load,
                metric: comparison.metric,
                void: None,
            };
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
    }
    columns
}

fn cell<'a>(record: &'a StudyRecord, pair: [&str; 2], column: GridColumn<'_>) -> GridCell<'a> {
    let by = |metric: Metric| {
        record.conclusions.primary().find(|comparison| {
            [&*comparison.subject, &*comparison.baseline] == pair
                && (comparison.load.as_str(), comparison.metric) == (column.load, metric)
        })
    };
    let instead = || by(Metric::ServerCpu).filter(|_| column.metric == Metric::Throughput);
    match (by(column.metric), instead()) {
        (Some(comparison), _) => GridCell::Found(comparison),
        (None, Some(comparison)) => GridCell::Instead(comparison),
        (None, None) => {
            let without_result = column.void.and_then(by);
            without_result.map_or(GridCell::Nothing, GridCell::Found)
        }
    }
}

/// The primary verdicts; `None` if they are few.
pub(crate) fn matrix(record: &StudyRecord, style: &Style) -> Option<Matrix> {
    if !is_needed(record) {
        return None;
    }
    Some(match record.measured.pairs()[..] {
        [pair] => of_one_pair(record, pair, style),
        _ => of_pairs(record, style),
    })
}

/// A row per pair, a column per load.
fn of_pairs(record: &StudyRecord, style: &Style) -> Matrix {
    let columns = columns(record);
    let units = columns
        .iter()
        .map(|column| metric_under(record, column.load, column.metric));
    let units: Vec<&str> = units.collect();
    let has_units = units.windows(2).any(|pair| pair[0] != pair[1]);
    let header = |(column, unit): (&GridColumn, &&str)| MatrixHeader {
        name: clean_name(column.load),
        unit: unit
            .trim_end_matches(" response time")
            .replace("requests/s", "req/s"),
    };
    let headers = columns.iter().zip(&units).map(header);
    let headers = headers.map(|header| MatrixHeader {
        unit: if has_units {
            header.unit
        } else {
            String::new()
        },
        ..header
    });
    let baseline = record.measured.only_baseline();
    let row = |pair: [&str; 2]| {
        let [subject, other] = pair.map(clean_name);
        let cells = columns.iter().map(|column| {
            let cell = cell(record, pair, *column);
            verdict_cell(record, cell, style)
        });
        MatrixRow {
            question: None,
            name: MatrixHeader {
                name: match baseline {
                    Some(_) => subject,
                    None => format!("{subject} ÷ {other}"),
                },
                unit: String::new(),
            },
            cells: cells.collect(),
        }
    };
    let relative = match baseline {
        Some(baseline) => format!("Each subject ÷ {}", clean_name(baseline)),
        None => "Each pair: first ÷ second".to_owned(),
    };
    let unit = units.first().filter(|_| !has_units);
    let caption = match unit {
        Some(unit) => format!("{relative}, {unit}"),
        None => relative,
    };
    // Without one baseline, the names of rows show the division.
    let head = match (baseline, unit) {
        (None, None) => String::new(),
        (None, Some(unit)) => format!("{unit}; "),
        (Some(_), _) => format!("{caption}; "),
    };
    Matrix {
        legend: format!("{head}{}", legend(record, style)),
        caption,
        headers: headers.collect(),
        rows: rows(record, row),
        detail: CellDetail::Mark,
    }
}

/// The row of each pair, after its question if questions head the rows.
fn rows<'a>(record: &'a StudyRecord, row: impl Fn([&'a str; 2]) -> MatrixRow) -> Vec<MatrixRow> {
    if !questions::head_rows(record) {
        return record.measured.pairs().into_iter().map(row).collect();
    }
    let mut rows = Vec::new();
    for (question, pairs) in questions(record) {
        let mut question = question.map(clean_name);
        rows.extend(pairs.into_iter().map(|pair| MatrixRow {
            question: question.take(),
            ..row(pair)
        }));
    }
    rows
}

/// A row per load, with the figures of both subjects.
fn of_one_pair(record: &StudyRecord, pair: [&str; 2], style: &Style) -> Matrix {
    let columns = columns(record);
    let [subject, baseline] = pair;
    let cell_of = |column: GridColumn| cell(record, pair, column);
    let metric = |column: GridColumn| match cell_of(column) {
        GridCell::Instead(_) => Metric::ServerCpu,
        _ => column.metric,
    };
    let unit_of = |column: GridColumn| match metric(column) {
        Metric::Throughput => rate_under(record, column.load).to_owned(),
        metric if is_time(metric) => {
            let name = metric_under(record, column.load, metric);
            format!("{} (µs)", name.trim_end_matches(" response time"))
        }
        Metric::ServerCpu => "CPU (µs)".to_owned(),
        metric => metric_under(record, column.load, metric).to_owned(),
    };
    let units: Vec<String> = columns.iter().map(|column| unit_of(*column)).collect();
    let is_uniform = units.windows(2).all(|pair| pair[0] == pair[1]);
    let unit = units.first().filter(|_| is_uniform);
    let header = |name: &str| MatrixHeader {
        name: clean_name(name),
        unit: unit.cloned().unwrap_or_default(),
    };
    let ratio = format!("{} ÷ {}", clean_name(subject), clean_name(baseline));
    let row = |(column, unit): (&GridColumn, &String)| {
        let load = clean_name(column.load);
        let metric = metric(*column);
        let figure = |name| MatrixCell::Figure(value(record, name, column.load, metric));
        let verdict = match cell_of(*column) {
            // The row names the unit, so the cell needs no mark.
            GridCell::Instead(comparison) => GridCell::Found(comparison),
            cell => cell,
        };
        MatrixRow {
            question: None,
            name: MatrixHeader {
                name: load,
                unit: if is_uniform {
                    String::new()
                } else {
                    unit.clone()
                },
            },
            cells: vec![
                figure(baseline),
                figure(subject),
                verdict_cell(record, verdict, style),
            ],
        }
    };
    Matrix {
        legend: legend(record, style),
        caption: ratio.clone(),
        headers: vec![
            header(baseline),
            header(subject),
            MatrixHeader {
                name: ratio,
                unit: format!("ratio (95{GLUE}% interval)"),
            },
        ],
        rows: columns.iter().zip(&units).map(row).collect(),
        detail: CellDetail::Whole,
    }
}

fn is_time(metric: Metric) -> bool {
    quantile(metric).is_some()
}

fn quantile(metric: Metric) -> Option<Figure> {
    Some(match metric {
        Metric::ResponseP50 => Figure::P50,
        Metric::ResponseP90 => Figure::P90,
        Metric::ResponseP99 => Figure::P99,
        Metric::ResponseP999 => Figure::P999,
        _ => return None,
    })
}

/// The figure of a subject under a load, in the unit of the metric.
fn value(record: &StudyRecord, subject: &str, load: &str, metric: Metric) -> String {
    if metric == Metric::Capacity {
        let mut capacities = record.conclusions.capacities.iter();
        let of_subject =
            |capacity: &&Capacity| capacity.load == load && capacity.subject == subject;
        let rate = capacities
            .find(of_subject)
            .and_then(|capacity| capacity.rate_per_s);
        return or_unknown(rate, figure);
    }
    let mut summaries = record.conclusions.under(load);
    let Some(summary) = summaries.find(|summary: &&Summary| summary.subject == subject) else {
        return UNKNOWN.to_owned();
    };
    let value = match (metric, quantile(metric)) {
        (Metric::Throughput, _) => summary.throughput_per_s,
        (Metric::ServerCpu, _) => summary.server_cpu_us_per_request,
        (_, Some(quantile)) => summary.response_time_us.figure(quantile),
        _ => None,
    };
    or_unknown(value, figure)
}

fn verdict_cell(record: &StudyRecord, cell: GridCell, style: &Style) -> MatrixCell {
    let (comparison, stand_in) = match cell {
        GridCell::Found(comparison) => (comparison, ""),
        GridCell::Instead(comparison) => (comparison, INSTEAD),
        GridCell::Nothing => return MatrixCell::Empty,
    };
    let (ratio, interval) = cell_figures(comparison, style).unwrap_or_default();
    let fragile = if comparison.fragile { "~" } else { "" };
    let beyond = if is_open_bound(comparison) {
        OPEN_BOUND
    } else {
        ""
    };
    MatrixCell::Verdict(MatrixVerdict {
        verdict: comparison.verdict,
        word: word_of(comparison).to_owned(),
        ratio,
        interval,
        flags: format!("{fragile}{stand_in}{beyond}"),
        is_other_metric: !stand_in.is_empty(),
        link: ratio_id(record, comparison),
        sentence: sentence(record, comparison, &LINE),
    })
}

/// A ratio and its interval as a cell shows them. A bound, or a ratio without an interval, stands
/// alone. `None` without a ratio.
fn cell_figures(comparison: &Comparison, style: &Style) -> Option<(CellRatio, String)> {
    if comparison.verdict == Verdict::Invalid {
        return None;
    }
    let Some(shown) = ShownRatio::of_comparison(comparison) else {
        let ratio = comparison.plain_ratio()?;
        return Some((CellRatio::of(figure(ratio), ratio), String::new()));
    };
    let bounds = comparison
        .bounds()
        .filter(|_| comparison.verdict == Verdict::Inconclusive);
    // A decided interval keeps a third digit if that shows on which side of 1 it ends.
    let short = bounds.map(short_ratios);
    Some(match (short, shown.ends.clone()) {
        (Some([ratio, low, high]), _) => {
            (CellRatio::of(ratio, shown.value), format!("{low}–{high}"))
        }
        (None, Some([low, high])) => (
            CellRatio::of(shown.ratio, shown.value),
            format!("{low}–{high}"),
        ),
        (None, None) => {
            let ratio = CellRatio {
                text: shown.in_signs(style),
                value: shown.value,
                is_bound: shown.further.is_some(),
            };
            (ratio, String::new())
        }
    })
}

fn is_open_bound(comparison: &Comparison) -> bool {
    let shown =
        ShownRatio::of_comparison(comparison).filter(|_| comparison.verdict != Verdict::Invalid);
    shown.is_some_and(|shown| shown.further == Some(Further::Open))
}

/// The marks that occur in the cells, with their meanings.
fn legend(record: &StudyRecord, style: &Style) -> String {
    let has = |is: &dyn Fn(&Comparison) -> bool| record.conclusions.primary().any(is);
    let is = |verdict: Verdict| has(&|comparison| comparison.verdict == verdict);
    let margin = percent(record.measured.settings.margin);
    let limit = foreign_limits(record).words();
    let marked = |verdict: Verdict, meaning: &str| format!("{} {meaning}", style.mark(verdict));
    let bounds = [(Further::AtLeast, "at least"), (Further::AtMost, "at most")];
    let bounds: Vec<String> = bounds
        .into_iter()
        .filter(|(side, _)| {
            has(&|comparison| {
                let shown = ShownRatio::of_comparison(comparison);
                comparison.verdict != Verdict::Invalid
                    && shown.is_some_and(|shown| shown.further == Some(*side))
            })
        })
        .map(|(side, meaning)| format!("{} {meaning}", side.sign(style)))
        .collect();
    let is_fragile = has(&|comparison| comparison.fragile);
    let is_alone =
        has(&|comparison| comparison.bounds().is_none() && comparison.plain_ratio().is_some());
    let same = format!("same within {margin}");
    let signs = [
        (true, marked(Verdict::Faster, "better")),
        (true, marked(Verdict::Slower, "worse")),
        (is(Verdict::Equivalent), marked(Verdict::Equivalent, &same)),
        (has(&is_open), marked(Verdict::Inconclusive, "undecided")),
        (
            has(&|comparison| comparison.too_few_blocks),
            format!(
                "{} undecided, too few blocks",
                style.mark(Verdict::Inconclusive)
            ),
        ),
        (is(Verdict::Invalid), marked(Verdict::Invalid, "no result")),
        (is_fragile, "~ depends on the method".to_owned()),
        (!bounds.is_empty(), bounds.join(", ")),
        (
            has(&is_open_bound),
            format!("{OPEN_BOUND} perhaps beyond the interval"),
        ),
        (is_alone, format!("a ratio alone: {NO_INTERVAL}")),
        (
            has_instead(record) && record.measured.pairs().len() > 1,
            format!("{INSTEAD} CPU per response ({limit} was the limit)"),
        ),
    ];
    let shown = signs.into_iter().filter(|(is_shown, _)| *is_shown);
    shown.map(|(_, text)| text).collect::<Vec<_>>().join(", ")
}

/// Ratios with at most two decimals, and with one if the interval is so wide that a second means
/// nothing.
fn short_ratios(values: [f64; 3]) -> [String; 3] {
    let [_, low, high] = values;
    let decimals = if high > WIDE * low && low >= 0.1 {
        1
    } else {
        2
    };
    let short = values.map(|ratio| format!("{ratio:.decimals$}"));
    let full = ratios(values);
    if full[0].len() > short[0].len() {
        short
    } else {
        full
    }
}

/// An interval whose ends differ by this factor is wide.
const WIDE: f64 = 4.0;

const OPEN_BOUND: &str = "b";
const INSTEAD: &str = "c";

/// The primary verdicts as Markdown; empty if they are few.
#[must_use]
pub fn verdict_matrix(record: &StudyRecord) -> String {
    matrix(record, &LINE).map_or_else(String::new, |matrix| matrix.markdown())
}
