//! A matrix on a terminal: columns that line up, in as many tables as the width needs.

use super::matrix::{CellDetail, Matrix, MatrixCell, MatrixHeader, MatrixVerdict};
use crate::words::labels::label_lines;
use crate::words::style::{Style, Tint};
use crate::words::verdict::tint;

impl Matrix {
    pub(crate) fn text(&self, style: &Style) -> String {
        let columns: Vec<Column> = (0..self.headers.len())
            .map(|column| Column::new(self, column, style))
            .collect();
        let width = style.columns();
        let name_width = name_width(&self.names(), &columns, width);
        let mut out = String::new();
        for together in abreast(&columns, width - name_width) {
            out.push_str(&self.table(name_width, together, style));
        }
        out + &style.note(&self.legend)
    }

    fn names(&self) -> Vec<String> {
        let rows = self.rows.iter();
        rows.map(|row| row.name.with(str::to_owned)).collect()
    }

    /// The rows in which any of these columns has a cell.
    fn table(&self, name_width: usize, columns: &[Column], style: &Style) -> String {
        let mut out = headers(name_width, columns);
        for (row, name) in self.names().into_iter().enumerate() {
            if columns
                .iter()
                .all(|column| column.cells[row].text.is_empty())
            {
                continue;
            }
            for (number, line) in label_lines(&name, name_width).iter().enumerate() {
                out.push_str(&format!("{line:name_width$}"));
                for column in columns.iter().filter(|_| number == 0) {
                    out.push_str(GAP);
                    out.push_str(&column.cells[row].aligned(column.width, style));
                }
                out.push('\n');
            }
        }
        let lines = out.lines().map(|line| format!("{}\n", line.trim_end()));
        lines.collect()
    }
}

/// One column: lines of its name and of its unit, and a cell per row.
struct Column {
    headers: [Vec<String>; 2],
    cells: Vec<Cell>,
    width: usize,
}

struct Cell {
    text: String,
    tint: Option<Tint>,
    is_left: bool,
}

impl Column {
    fn new(matrix: &Matrix, column: usize, style: &Style) -> Column {
        let MatrixHeader { name, unit } = &matrix.headers[column];
        let cells: Vec<Cell> = matrix
            .rows
            .iter()
            .map(|row| Cell::of(&row.cells[column], matrix.detail, style))
            .collect();
        let widest = cells.iter().map(|cell| letters(&cell.text)).max();
        let headers = [name, unit].map(|text| {
            let most = header_width(text).max(widest.unwrap_or_default());
            let lines = label_lines(text, most).into_iter();
            let lines = lines.map(|line| line.trim_start().to_owned());
            let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
            lines
        });
        let texts = headers.iter().flatten().map(|text| letters(text));
        let width = texts.chain(widest).max().unwrap_or_default();
        Column {
            headers,
            cells,
            width,
        }
    }
}

/// So narrow that no part of a name is broken, except one that is longer than any usual one.
fn header_width(name: &str) -> usize {
    let parts = name.split_inclusive([' ', '-', '_', '/']);
    let longest = parts.map(letters).max().unwrap_or_default();
    (longest + INDENT).clamp(HEADER_MIN, HEADER_MAX)
}

impl Cell {
    fn of(cell: &MatrixCell, detail: CellDetail, style: &Style) -> Cell {
        match cell {
            MatrixCell::Empty => Cell::plain(""),
            MatrixCell::Figure(text) => Cell::plain(text),
            MatrixCell::Verdict(verdict) => Cell::verdict(verdict, detail, style),
        }
    }

    fn plain(text: &str) -> Cell {
        Cell {
            text: text.to_owned(),
            tint: None,
            is_left: false,
        }
    }

    fn verdict(cell: &MatrixVerdict, detail: CellDetail, style: &Style) -> Cell {
        let mark = style.mark(cell.verdict);
        let MatrixVerdict {
            verdict,
            word,
            ratio,
            flags,
            ..
        } = cell;
        let text = match detail {
            CellDetail::Mark if verdict.is_decided() => format!("{ratio} {mark}{flags}"),
            CellDetail::Mark => format!("{mark}{flags}"),
            CellDetail::Interval => format!("{ratio} {} {mark}{flags}", cell.interval),
            CellDetail::Whole => format!("{} {mark} {word} {flags}", cell.figures()),
        };
        Cell {
            text: text.trim().to_owned(),
            // What is undecided is most of a matrix: colour is for what is decided.
            tint: Some(tint(*verdict)).filter(|tint| matches!(tint, Tint::Good | Tint::Bad)),
            is_left: detail == CellDetail::Whole,
        }
    }

    /// The text in `width` columns.
    fn aligned(&self, width: usize, style: &Style) -> String {
        let blanks = " ".repeat(width - letters(&self.text).min(width));
        let text = match self.tint {
            Some(tint) => style.paint(&self.text, tint),
            None => self.text.clone(),
        };
        if self.is_left {
            text + &blanks
        } else {
            blanks + &text
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
    let widths = (least..=most).rev();
    widths.min_by_key(lines).unwrap_or(most)
}

/// As many columns next to each other as there is room for, at least one.
fn abreast(columns: &[Column], room: usize) -> Vec<&[Column]> {
    let mut tables = Vec::new();
    let mut rest = columns;
    while !rest.is_empty() {
        let mut taken = 0;
        let fits = rest.iter().take_while(|column| {
            taken += GAP.len() + column.width;
            taken <= room
        });
        let (together, after) = rest.split_at(fits.count().max(1));
        tables.push(together);
        rest = after;
    }
    tables
}

fn header_lines(columns: &[Column]) -> usize {
    let lines = |header: usize| {
        columns
            .iter()
            .map(move |column| column.headers[header].len())
    };
    lines(0).max().unwrap_or_default() + lines(1).max().unwrap_or_default()
}

/// Names end on one line, and units begin on the next one.
fn headers(name_width: usize, columns: &[Column]) -> String {
    let names = columns.iter().map(|column| column.headers[0].len());
    let of_names = names.max().unwrap_or_default();
    let mut out = String::new();
    for line in 0..header_lines(columns) {
        out.push_str(&" ".repeat(name_width));
        for column in columns {
            let [name, unit] = &column.headers;
            let at = (line + name.len()).checked_sub(of_names);
            let text = if line < of_names {
                at.and_then(|at| name.get(at))
            } else {
                unit.get(line - of_names)
            };
            let text = text.map_or("", String::as_str);
            let width = column.width;
            if column.cells.iter().any(|cell| cell.is_left) {
                out.push_str(&format!("{GAP}{text:width$}"));
            } else {
                out.push_str(&format!("{GAP}{text:>width$}"));
            }
        }
        out.push('\n');
    }
    out
}

fn letters(text: &str) -> usize {
    text.chars().count()
}

const GAP: &str = "  ";
/// What continues a label is indented by so much.
const INDENT: usize = 2;
const HEADER_MIN: usize = 6;
const HEADER_MAX: usize = 16;
