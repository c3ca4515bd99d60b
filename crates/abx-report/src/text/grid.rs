//! Verdicts at a glance: the grid of a study, as many columns beside each other as fit.

use abx_evidence::{Comparison, StudyRecord, Verdict};

use crate::words::grid::{self, Further, GridCell, GridColumn, GridRow, row_name};
use crate::words::labels::label_lines;
use crate::words::metrics::metric_under;
use crate::words::style::{Style, Tint};
use crate::words::units::{NO_INTERVAL, percent};
use crate::words::verdict::{foreign_limits, tint};
use crate::words::wrap::clean_name;

/// The primary verdicts of a study, and what the signs mean.
pub(crate) fn verdict_grid(record: &StudyRecord, style: &Style) -> String {
    let rows = grid::rows(record);
    let columns: Vec<Column> = { grid::columns(record).into_iter() }
        .map(|column| Column::new(record, column, &rows, style))
        .collect();
    let names: Vec<String> = rows.iter().map(|row| row_name(*row)).collect();
    let name_width = name_width(&names, &columns, style.columns());
    let lines: Vec<Vec<String>> = { names.iter() }
        .map(|name| label_lines(name, name_width))
        .collect();
    let mut out = String::new();
    for together in abreast(&columns, style.columns() - name_width) {
        out.push_str(&table(&lines, name_width, together, style));
    }
    out + &style.note(&legend(record, style))
}

/// One column: lines of its load and of its metric, and a cell for each row.
struct Column {
    headers: [Vec<String>; 2],
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
        let headers = [column.load, metric].map(|text| {
            let lines = label_lines(&clean_name(text), HEADER_MAX).into_iter();
            let lines = lines.map(|line| line.trim_start().to_owned());
            lines.collect::<Vec<String>>()
        });
        let cells: Vec<Cell> = { rows.iter() }
            .map(|row| match grid::cell(record, *row, column) {
                GridCell::One => Cell::plain("1"),
                GridCell::Found(one) => Cell::of(one, style),
                GridCell::Instead(one) => Cell::instead(one, style),
                GridCell::Nothing => Cell::plain(""),
            })
            .collect();
        let texts = headers.iter().flatten();
        let texts = texts.chain(cells.iter().map(|cell| &cell.text));
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
        let sign = grid::sign(one);
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

/// So wide that all tables together take the fewest lines: names on one line each leave less
/// room for columns, and so make more tables.
fn name_width(names: &[String], columns: &[Column], width: usize) -> usize {
    let longest = names.iter().map(|name| letters(name)).max();
    let widest = columns.iter().map(|column| GAP.len() + column.width).max();
    let most = (width - widest.unwrap_or_default().min(width / 2)).min(longest.unwrap_or_default());
    let least = most.min(width / 4);
    let lines = |name_width: &usize| {
        let tables = abreast(columns, width - name_width).into_iter();
        let headers: usize = tables.clone().map(header_lines).sum();
        let rows = names
            .iter()
            .map(|name| label_lines(name, *name_width).len());
        headers + tables.len() * rows.sum::<usize>()
    };
    (least..=most).min_by_key(lines).unwrap_or(most)
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

/// The lines that the headers of a table take.
fn header_lines(columns: &[Column]) -> usize {
    let lines = |header: usize| {
        columns
            .iter()
            .map(move |column| column.headers[header].len())
    };
    lines(0).max().unwrap_or_default() + lines(1).max().unwrap_or_default()
}

fn table(names: &[Vec<String>], name_width: usize, columns: &[Column], style: &Style) -> String {
    let mut out = headers(name_width, columns);
    for (row, name) in names.iter().enumerate() {
        for (number, line) in name.iter().enumerate() {
            out.push_str(&format!("{line:name_width$}"));
            for column in columns.iter().filter(|_| number == 0) {
                out.push_str(GAP);
                out.push_str(&column.cells[row].right(column.width, style));
            }
            out.push('\n');
        }
    }
    let lines = out.lines().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}

/// Loads end on one line, and metrics begin on the next one.
fn headers(name_width: usize, columns: &[Column]) -> String {
    let loads = columns.iter().map(|column| column.headers[0].len());
    let of_loads = loads.max().unwrap_or_default();
    let mut out = String::new();
    for line in 0..header_lines(columns) {
        out.push_str(&" ".repeat(name_width));
        for Column { headers, width, .. } in columns {
            let [load, metric] = headers;
            let at = (line + load.len()).checked_sub(of_loads);
            let text = match line < of_loads {
                true => at.and_then(|at| load.get(at)),
                false => metric.get(line - of_loads),
            };
            let text = text.map_or("", String::as_str);
            out.push_str(&format!("{GAP}{text:>width$}"));
        }
        out.push('\n');
    }
    out
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
        (has(grid::is_open), "? open"),
        (has(|one| one.too_few_blocks), grid::TOO_FEW_LEGEND),
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
