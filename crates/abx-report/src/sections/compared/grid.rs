//! The primary verdicts of a study as a grid: a row for each subject, or for each pair where
//! their baselines differ, and a column for each load and each fault. Terminal, Markdown and
//! HTML draw it; what stands in it is the same.

use abx_verdict::{Comparison, Metric, StudyRecord, Verdict};

use crate::html::markup::{Element, Markup, element, note, scrolling};
use crate::html::sign::sign;
use crate::markdown::{code, row};
use crate::sections::compared::findings::ratio_id;
use crate::words::metrics::metric_under;
use crate::words::ratio::{Further, ShownRatio, ratio_cells};
use crate::words::style::{LINE, Style, mark};
use crate::words::units::{NO_INTERVAL, figure, percent, ratios};
use crate::words::verdict::{
    TOO_FEW_BLOCKS, foreign_limits, is_open, name, sentence, word, word_of,
};
use crate::words::wrap::clean_name;

const SENTENCES_MAX: usize = 4;

/// Whether a study compares so much that sentences alone are no response.
pub(crate) fn is_needed(record: &StudyRecord) -> bool {
    record.conclusions.primary().count() > SENTENCES_MAX
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GridColumn<'a> {
    pub(crate) load: &'a str,
    pub(crate) metric: Metric,
}

/// What is compared in one row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum GridRow<'a> {
    Baseline(&'a str),
    Subject([&'a str; 2]),
    Pair([&'a str; 2]),
}

/// What stands where a row meets a column.
pub(crate) enum GridCell<'a> {
    One,
    Found(&'a Comparison),
    /// The generator or a service was the limit, so this has no throughput of its own;
    /// what is known instead is CPU per response.
    Instead(&'a Comparison),
    Nothing,
}

/// What was asked, in the order of the loads and then of the faults. What stands in for
/// throughput is shown in that one's place, where there is one.
pub(crate) fn columns(record: &StudyRecord) -> Vec<GridColumn<'_>> {
    let mut columns = all_columns(record);
    columns.retain(|column| !stands_in(record, *column));
    columns
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

/// The same with a column of its own for what stands in for throughput.
pub(crate) fn all_columns(record: &StudyRecord) -> Vec<GridColumn<'_>> {
    let mut columns: Vec<GridColumn> = Vec::new();
    let loads = record.measured.loads.iter().map(|load| load.name.as_str());
    let faults = record
        .measured
        .faults
        .iter()
        .map(|fault| fault.name.as_str());
    for load in loads.chain(faults) {
        let primary = record.conclusions.primary();
        for comparison in primary.filter(|this_comparison| this_comparison.load == load) {
            let column = GridColumn {
                load,
                metric: comparison.metric,
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
    let names = record
        .measured
        .subjects
        .iter()
        .map(|subject| subject.name.as_str());
    let row = |name: &'_ str| {
        if name == baseline {
            Some(GridRow::Baseline(baseline))
        } else {
            pairs
                .iter()
                .find(|pair| **pair == [name, baseline])
                .map(|pair| GridRow::Subject(*pair))
        }
    };
    names.filter_map(row).collect()
}

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
        record.conclusions.primary().find(|comparison| {
            [&*comparison.subject, &*comparison.baseline] == pair
                && (comparison.load.as_str(), comparison.metric) == (column.load, metric)
        })
    };
    let instead = || by(Metric::ServerCpu).filter(|_| column.metric == Metric::Throughput);
    match (by(column.metric), instead()) {
        (Some(comparison), _) => GridCell::Found(comparison),
        (None, Some(comparison)) => GridCell::Instead(comparison),
        (None, None) => GridCell::Nothing,
    }
}

pub(crate) fn row_name(row: GridRow) -> String {
    match row {
        GridRow::Baseline(name) | GridRow::Subject([name, _]) => clean_name(name),
        GridRow::Pair([subject, baseline]) => {
            format!("{} / {}", clean_name(subject), clean_name(baseline))
        }
    }
}

/// A ratio and its interval as they stand in a grid: a bound or a ratio without an interval
/// stands alone. `None` without a ratio.
pub(crate) fn cell_figures(comparison: &Comparison, style: &Style) -> Option<[String; 2]> {
    if comparison.verdict == Verdict::Invalid {
        return None;
    }
    let Some(shown) = ShownRatio::of_comparison(comparison) else {
        return comparison
            .plain_ratio()
            .map(|ratio| [figure(ratio), String::new()]);
    };
    let bounds = comparison
        .bounds()
        .filter(|_| comparison.verdict == Verdict::Inconclusive);
    // The third digit shows on which side of 1 a decided one ends.
    let short = bounds.map(short_ratios);
    Some(match (short, shown.ends.clone()) {
        (Some([ratio, low, high]), _) => [ratio, format!("{low}–{high}")],
        (None, Some([low, high])) => [shown.ratio, format!("{low}–{high}")],
        (None, None) => [shown.in_signs(style), String::new()],
    })
}

/// Marks a ratio that is a bound without a decided direction.
pub(crate) fn open_bound(comparison: &Comparison) -> &'static str {
    if is_open_bound(comparison) {
        OPEN_BOUND
    } else {
        ""
    }
}

pub(crate) fn too_few(comparison: &Comparison) -> String {
    if comparison.too_few_blocks {
        return format!(" {TOO_FEW}");
    }
    String::new()
}

fn is_open_bound(comparison: &Comparison) -> bool {
    let shown =
        ShownRatio::of_comparison(comparison).filter(|_| comparison.verdict != Verdict::Invalid);
    shown.is_some_and(|shown| shown.further == Some(Further::Open))
}

/// The signs in the cells as far as they are there, and what they mean.
pub(crate) fn legend(record: &StudyRecord, style: &Style) -> String {
    let has = |is: &dyn Fn(&Comparison) -> bool| record.conclusions.primary().any(is);
    let is = |verdict: Verdict| has(&|comparison| comparison.verdict == verdict);
    let margin = percent(record.measured.settings.margin);
    let limit = foreign_limits(record).words();
    let marked = |verdict: Verdict, meaning: &str| format!("{} {meaning}", style.mark(verdict));
    let bounds = [Further::AtLeast, Further::AtMost];
    let bounds: Vec<&str> = bounds
        .into_iter()
        .filter(|side| {
            has(&|comparison| {
                let shown = ShownRatio::of_comparison(comparison);
                comparison.verdict != Verdict::Invalid
                    && shown.is_some_and(|shown| shown.further == Some(*side))
            })
        })
        .map(|side| side.sign(style))
        .collect();
    let signs = [
        (
            true,
            marked(Verdict::Faster, "better (faster, or less of a cost)"),
        ),
        (true, marked(Verdict::Slower, "worse")),
        (
            is(Verdict::Equivalent),
            marked(
                Verdict::Equivalent,
                &format!("no difference larger than {margin}"),
            ),
        ),
        (has(&is_open), marked(Verdict::Inconclusive, "undecided")),
        (
            has(&|comparison| comparison.too_few_blocks),
            format!("{TOO_FEW}: too few blocks for a verdict"),
        ),
        (is(Verdict::Invalid), marked(Verdict::Invalid, "no result")),
        (
            has(&|comparison| comparison.fragile),
            "~ fragile".to_owned(),
        ),
        (!bounds.is_empty(), format!("{} a bound", bounds.join(" "))),
        (
            has(&is_open_bound),
            format!("{OPEN_BOUND}: or beyond the interval"),
        ),
        (
            has(&|comparison| comparison.bounds().is_none() && comparison.plain_ratio().is_some()),
            format!("a ratio alone: {NO_INTERVAL}"),
        ),
        (
            has_instead(record),
            format!("{INSTEAD}: CPU per response ({limit} was the limit)"),
        ),
        (
            has_empty(record),
            "empty: not asked for, or no ratio".to_owned(),
        ),
    ];
    let there = signs.into_iter().filter(|(is_there, _)| *is_there);
    there.map(|(_, text)| text).collect::<Vec<_>>().join(", ")
}

/// Ratios with two digits behind the point at most, and with one if the interval is so wide
/// that the second means nothing.
fn short_ratios(values: [f64; 3]) -> [String; 3] {
    let [_, low, high] = values;
    let decimals = if high > WIDE * low && low >= 0.1 {
        1
    } else {
        2
    };
    let shorter = values.map(|ratio| format!("{ratio:.decimals$}"));
    let whole = ratios(values);
    if whole[0].len() > shorter[0].len() {
        shorter
    } else {
        whole
    }
}

/// An interval whose ends differ by this factor is wide.
const WIDE: f64 = 4.0;

/// Whether anything in the grid is empty.
fn has_empty(record: &StudyRecord) -> bool {
    let columns = columns(record);
    let is_empty = |row: GridRow| {
        let mut cells = columns.iter().map(|column| cell(record, row, *column));
        cells.any(|cell| matches!(cell, GridCell::Nothing))
    };
    rows(record).into_iter().any(is_empty)
}

const OPEN_BOUND: &str = "b";
const TOO_FEW: &str = "few";
pub(crate) const INSTEAD: &str = "c";

pub(crate) fn matrix_html(record: &StudyRecord) -> Markup {
    let columns = columns(record);
    let caption = match record.measured.only_baseline() {
        Some(baseline) => format!("Each subject as a multiple of {}", name(baseline)),
        None => "Each pair: the first as a multiple of the second".to_owned(),
    };
    let headers = columns.iter().map(|column| {
        let metric = metric_under(record, column.load, column.metric);
        let load = element("bdi").text(&name(column.load));
        let metric = element("small").text(metric);
        let header = element("th").with("scope", "col");
        header.add(load).text(" ").add(metric)
    });
    let corner = element("td");
    let head = element("tr").add(corner).add_all(headers);
    let rows = rows(record).into_iter().map(|row| {
        let heading = element("th").with("scope", "row");
        let heading = heading.add(element("bdi").text(&row_name(row)));
        let cells = columns.iter().map(|column| cell_html(record, row, *column));
        element("tr").add(heading).add_all(cells)
    });
    let table = element("table")
        .class("matrix")
        .add(element("thead").add(head))
        .add(element("tbody").add_all(rows));
    // A caption would be as wide as the table, and cut where that scrolls.
    let heading = element("h3").text(&caption);
    let frame = scrolling(&caption, table);
    let legend = format!(
        "Ratio and its interval; a cell leads to its details. {}",
        legend(record, &LINE)
    );
    [heading, frame, note(&legend)].into_iter().collect()
}

fn cell_html(record: &StudyRecord, row: GridRow, column: GridColumn) -> Element {
    match cell(record, row, column) {
        GridCell::One => element("td").class("cell one").text("1"),
        GridCell::Found(comparison) => found_html(record, comparison, ""),
        GridCell::Instead(comparison) => found_html(record, comparison, &format!(" {}", INSTEAD)),
        GridCell::Nothing => element("td").class("cell"),
    }
}

/// Sign, ratio and interval of one comparison, which lead to its details.
fn found_html(record: &StudyRecord, comparison: &Comparison, mark: &str) -> Element {
    let (figures, open) = (cell_figures(comparison, &LINE), open_bound(comparison));
    let fragile = if comparison.fragile { "~" } else { "" };
    let [ratio, interval] = figures.unwrap_or_else(|| match comparison.verdict {
        Verdict::Invalid => ["no result".to_owned(), String::new()],
        _ if comparison.too_few_blocks => [TOO_FEW_BLOCKS.to_owned(), String::new()],
        _ => ["undecided".to_owned(), String::new()],
    });
    let few = too_few(comparison);
    let ratio = element("b").text(&format!("{ratio}{fragile}{mark}{open}{few}"));
    let interval = element("small").text(&interval);
    let link = element("a")
        .with("href", format!("#{}", ratio_id(record, comparison)))
        .with("title", sentence(record, comparison, &LINE))
        .add(sign(comparison.verdict))
        .add(ratio)
        .text(" ")
        .add(interval);
    element("td")
        .class(format!("cell {}", word(comparison.verdict)))
        .add(link)
}

/// A page is as wide as this; more columns make a further table.
const COLUMNS_MAX: usize = 4;

/// The primary verdicts of a study in Markdown tables: what each subject is as a
/// multiple of the baseline. Empty where they are few.
#[must_use]
pub fn verdict_matrix(record: &StudyRecord) -> String {
    let columns = all_columns(record);
    if !is_needed(record) {
        return String::new();
    }
    let tables: Vec<String> = together(&columns)
        .map(|columns| table_markdown(record, &rows(record), columns))
        .collect();
    tables.join("\n")
}

/// Columns of one table: those of one row of the study file, as many as a page has room for.
fn together<'a>(columns: &'a [GridColumn<'a>]) -> impl Iterator<Item = &'a [GridColumn<'a>]> {
    columns
        .chunk_by(|grid_column, next| stem(grid_column.load) == stem(next.load))
        .flat_map(|chunk| chunk.chunks(COLUMNS_MAX))
}

/// What the loads of a sweep have in common: `kept` of `kept-c50`.
fn stem(load: &str) -> &str {
    load.rsplit_once('-').map_or(load, |(stem, _)| stem)
}

fn table_markdown(record: &StudyRecord, rows: &[GridRow], columns: &[GridColumn]) -> String {
    let headers = columns.iter().map(|column| {
        let metric = metric_under(record, column.load, column.metric);
        format!("{}, {metric}", code(column.load))
    });
    let headers: Vec<String> = std::iter::once(String::new()).chain(headers).collect();
    let line = vec!["---".to_owned(); headers.len()];
    let rows = rows.iter().map(|grid_row| {
        let cells = columns
            .iter()
            .map(|column| match cell(record, *grid_row, *column) {
                GridCell::One => "1".to_owned(),
                GridCell::Found(comparison) => cell_markdown(comparison),
                // It has a column of its own.
                GridCell::Instead(_) => "not known".to_owned(),
                GridCell::Nothing => String::new(),
            });
        let name = match grid_row {
            GridRow::Baseline(name) | GridRow::Subject([name, _]) => code(name),
            GridRow::Pair([subject, baseline]) => format!("{} / {}", code(subject), code(baseline)),
        };
        let cells: Vec<String> = std::iter::once(name).chain(cells).collect();
        row(&cells)
    });
    row(&headers) + &row(&line) + &rows.collect::<String>()
}

fn cell_markdown(comparison: &Comparison) -> String {
    let [ratio, interval] = ratio_cells(comparison);
    let fragile = if comparison.fragile { ", fragile" } else { "" };
    let (mark, verdict) = (
        mark(comparison.verdict),
        format!("{}{fragile}", word_of(comparison)),
    );
    match comparison.verdict {
        Verdict::Invalid => format!("{mark} {verdict}"),
        Verdict::Inconclusive => format!("{ratio} ({interval}) {mark} {verdict}"),
        _ => format!("{ratio} ({interval}) {mark} **{verdict}**"),
    }
}
