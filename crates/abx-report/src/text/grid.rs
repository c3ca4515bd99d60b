//! Verdicts at a glance: the grid of a study, as many columns beside each other as fit.

use std::collections::BTreeSet;

use abx_evidence::{Comparison, StudyRecord, Verdict};

use crate::words::grid::{self, Further, GridCell, GridColumn, GridRow, row_name};
use crate::words::metrics::metric_under;
use crate::words::style::{Style, Tint};
use crate::words::units::{NO_INTERVAL, percent};
use crate::words::verdict::{foreign_limits, tint};
use crate::words::wrap::{clean_name, shorten};

/// The primary verdicts of a study, and what the signs mean.
pub(crate) fn verdict_grid(record: &StudyRecord, style: &Style) -> String {
    let rows = grid::rows(record);
    let columns: Vec<Column> = { grid::columns(record).into_iter() }
        .map(|column| Column::new(record, column, &rows, style))
        .collect();
    let names: Vec<String> = rows.iter().map(|row| row_name(*row)).collect();
    let name_width = name_width(&names, &columns, style.columns());
    let mut out = String::new();
    for together in abreast(&columns, style.columns() - name_width) {
        out.push_str(&table(&names, name_width, together, style));
    }
    out + &style.note(&legend(record, style))
}

/// One column: two lines of header, and a cell for each row.
struct Column {
    headers: [String; 2],
    cells: Vec<Cell>,
    width: usize,
}

/// What is printed in one place.
struct Cell {
    text: String,
    tint: Option<Tint>,
}

impl Column {
    fn new(record: &StudyRecord, column: GridColumn, rows: &[GridRow], style: &Style) -> Column {
        let metric = metric_under(record, column.load, column.metric);
        let metric = metric.trim_end_matches(" response time");
        let headers = [column.load, metric].map(|text| shorten(&clean_name(text), HEADER_MAX));
        let cells: Vec<Cell> = { rows.iter() }
            .map(|row| match grid::cell(record, *row, column) {
                GridCell::One => Cell::plain("1"),
                GridCell::Found(one) => Cell::of(one, style),
                GridCell::Instead(one) => Cell::instead(one, style),
                GridCell::Nothing => Cell::plain(""),
            })
            .collect();
        let texts = headers.iter().chain(cells.iter().map(|cell| &cell.text));
        let width = texts.map(|text| letters(text)).max().unwrap_or_default();
        Column {
            headers,
            cells,
            width,
        }
    }
}

impl Cell {
    fn plain(text: &str) -> Cell {
        Cell {
            text: text.to_owned(),
            tint: None,
        }
    }

    /// What is known instead of throughput, marked.
    fn instead(one: &Comparison, style: &Style) -> Cell {
        let found = Cell::of(one, style);
        Cell {
            text: found.text + INSTEAD,
            ..found
        }
    }

    /// Ratio, interval and the sign of its verdict.
    fn of(one: &Comparison, style: &Style) -> Cell {
        let sign = grid::sign(one.verdict);
        let figures = grid::cell_figures(one).filter(|_| one.verdict != Verdict::Invalid);
        let Some(figures) = figures else {
            return Cell::tinted(sign, one.verdict);
        };
        let (limit, sign) = match grid::further(one) {
            Some(Further::AtLeast) => (style.at_least(), sign),
            Some(Further::AtMost) => (style.at_most(), sign),
            Some(Further::Open) => ("", grid::OPEN_BOUND),
            None => ("", sign),
        };
        let fragile = if one.fragile { "~" } else { "" };
        Cell::tinted(&format!("{limit}{figures} {fragile}{sign}"), one.verdict)
    }

    fn tinted(text: &str, verdict: Verdict) -> Cell {
        Cell {
            text: text.to_owned(),
            tint: Some(tint(verdict)),
        }
    }

    /// The text at the right of `width` columns.
    fn right(&self, width: usize, style: &Style) -> String {
        let blanks = " ".repeat(width - letters(&self.text).min(width));
        match self.tint {
            // What is open is most of a grid: colour is for what is settled.
            Some(tint @ (Tint::Good | Tint::Bad)) => blanks + &style.paint(&self.text, tint),
            _ => blanks + &self.text,
        }
    }
}

/// As wide as the longest name, where that costs no further table; else as narrow as names
/// may be that still differ, if that leaves room for a column.
fn name_width(names: &[String], columns: &[Column], width: usize) -> usize {
    let longest = names.iter().map(|name| letters(name)).max();
    let widest = columns.iter().map(|column| GAP.len() + column.width).max();
    let most = (width - widest.unwrap_or_default().min(width / 2)).min(longest.unwrap_or_default());
    let differ = |room: &usize| {
        let shortened: BTreeSet<String> = names.iter().map(|name| shorten(name, *room)).collect();
        shortened.len() == names.len()
    };
    let least = (most.min(width / 4)..most).find(differ).unwrap_or(most);
    let tables = |name_width: usize| abreast(columns, width - name_width).len();
    let mut wide_to_narrow = (least..=most).rev();
    let free = wide_to_narrow.find(|name_width| tables(*name_width) == tables(least));
    free.unwrap_or(least)
}

/// As many columns beside each other as there is room for, at least one.
fn abreast(columns: &[Column], room: usize) -> Vec<&[Column]> {
    let mut tables = Vec::new();
    let mut rest = columns;
    while !rest.is_empty() {
        let mut taken = 0;
        let fits = rest.iter().take_while(|column| {
            taken += GAP.len() + column.width;
            taken <= room
        });
        let (together, behind) = rest.split_at(fits.count().max(1));
        tables.push(together);
        rest = behind;
    }
    tables
}

fn table(names: &[String], name_width: usize, columns: &[Column], style: &Style) -> String {
    let mut out = String::new();
    for line in 0..2 {
        let headers = { columns.iter() }.map(|column| {
            format!(
                "{GAP}{:>width$}",
                column.headers[line],
                width = column.width
            )
        });
        let headers: String = headers.collect();
        out.push_str(&format!("{:name_width$}{headers}\n", ""));
    }
    for (row, name) in names.iter().enumerate() {
        out.push_str(&format!("{:name_width$}", shorten(name, name_width)));
        for column in columns {
            out.push_str(GAP);
            out.push_str(&column.cells[row].right(column.width, style));
        }
        out.push('\n');
    }
    let lines = out.lines().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}

/// What the signs say, those that stand there.
fn legend(record: &StudyRecord, style: &Style) -> String {
    let has = |is: fn(&Comparison) -> bool| record.conclusions.primary().any(is);
    let margin = percent(record.measured.settings.margin);
    let equal = format!("= no difference larger than {margin}");
    let bound = grid::bound_legend(record, style);
    let instead = format!(
        "{INSTEAD}: CPU per response where {} was the limit, with no claim of throughput",
        foreign_limits(record).words()
    );
    let alone = format!("a ratio alone: {NO_INTERVAL}");
    let signs = [
        (true, "ratio, 95 % interval; + better"),
        (true, "- worse"),
        (has(|one| one.verdict == Verdict::Equivalent), &equal),
        (has(|one| one.verdict == Verdict::Inconclusive), "? open"),
        (has(|one| one.fragile), "~ fragile"),
        (bound.is_some(), bound.as_deref().unwrap_or_default()),
        (
            has(|one| one.verdict == Verdict::Invalid),
            "void: no claim can be made",
        ),
        (
            has(|one| one.bounds().is_none() && one.plain_ratio().is_some()),
            &alone,
        ),
        (grid::has_instead(record), &instead),
        (grid::has_empty(record), grid::EMPTY_LEGEND),
    ];
    let said = signs.iter().filter(|(is_there, _)| *is_there);
    said.map(|(_, text)| *text).collect::<Vec<_>>().join(", ")
}

fn letters(text: &str) -> usize {
    text.chars().count()
}

const GAP: &str = "  ";
/// Marks processor time that stands in for throughput.
const INSTEAD: &str = "c";
/// A header is no wider than most cells.
const HEADER_MAX: usize = 16;
