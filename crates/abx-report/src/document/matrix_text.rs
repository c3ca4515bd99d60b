//! A matrix on a terminal: columns that line up, in as many tables as the width needs, or with
//! the loads of a sweep in one column if that takes fewer lines.

use super::matrix::{CellDetail, Matrix};
use super::matrix_column::{TextColumn, letters};
use super::matrix_fold::{folds, order_of_marks};
use crate::words::labels::label_lines;
use crate::words::style::Style;

impl Matrix {
    pub(crate) fn text(&self, style: &Style) -> String {
        let columns: Vec<TextColumn> = (0..self.headers.len())
            .map(|column| TextColumn::new(self, column, style))
            .collect();
        let tables = self.tables(&columns, GAP, style);
        let usual = tables.concat();
        if self.detail == CellDetail::Mark && tables.len() > 1 {
            let folds = folds(self);
            let columns: Vec<TextColumn> = folds.iter().map(|fold| fold.column(style)).collect();
            let folded = self.tables(&columns, GAP, style).concat();
            if folded.lines().count() < usual.lines().count() {
                let legend = format!("{}{}", self.legend, order_of_marks(&folds));
                return folded + &style.note(&legend);
            }
        }
        let closer = self.tables(&columns, CLOSER, style).concat();
        let is_shorter = closer.lines().count() < usual.lines().count();
        let is_of_figures = columns.iter().all(|column| column.is_of_figures);
        let shown = if is_of_figures && is_shorter {
            closer
        } else {
            usual
        };
        shown + &style.note(&self.legend)
    }

    /// The columns in as many tables as the width needs.
    fn tables(&self, columns: &[TextColumn], gap: &str, style: &Style) -> Vec<String> {
        let width = style.columns();
        let frame = Frame {
            name_width: name_width(&self.names(), columns, gap, width),
            gap,
            style,
        };
        let tables = abreast(columns, gap, width - frame.name_width).into_iter();
        // Only the first table has questions: the rows of the others have the same order.
        let tables = tables.enumerate();
        let tables = tables.map(|(number, columns)| self.table(&frame, columns, number == 0));
        tables.collect()
    }

    fn names(&self) -> Vec<String> {
        let rows = self.rows.iter();
        rows.map(|row| row.name.with(str::to_owned)).collect()
    }

    /// The rows in which any of these columns has a cell, below their questions.
    fn table(&self, frame: &Frame, columns: &[TextColumn], has_questions: bool) -> String {
        let Frame {
            name_width,
            gap,
            style,
        } = *frame;
        let mut out = headers(frame, columns);
        let mut question = None;
        for (row, name) in self.names().into_iter().enumerate() {
            // A question whose first row is left out moves to the next row.
            let row_question = self.rows[row].question.as_ref();
            question = row_question.filter(|_| has_questions).or(question);
            if columns
                .iter()
                .all(|column| column.cells[row].text.is_empty())
            {
                continue;
            }
            let heading = question.take().map(|text| style.paragraph(text));
            out.push_str(&heading.unwrap_or_default());
            for (number, line) in label_lines(&name, name_width).iter().enumerate() {
                out.push_str(&format!("{line:name_width$}"));
                for column in columns.iter().filter(|_| number == 0) {
                    out.push_str(gap);
                    out.push_str(&column.cells[row].aligned(column.width, style));
                }
                out.push('\n');
            }
        }
        let lines = out.lines().map(|line| format!("{}\n", line.trim_end()));
        lines.collect()
    }
}

/// The layout of all tables of a matrix: the width of names, the gap between columns, and the
/// style.
struct Frame<'a> {
    name_width: usize,
    gap: &'a str,
    style: &'a Style,
}

/// The width of names with which all tables together take the fewest lines: wider names leave
/// less room for columns, which makes more tables.
fn name_width(names: &[String], columns: &[TextColumn], gap: &str, width: usize) -> usize {
    let longest = names.iter().map(|name| letters(name)).max();
    let widest = columns.iter().map(|column| gap.len() + column.width).max();
    let most = (width - widest.unwrap_or_default().min(width / 2)).min(longest.unwrap_or_default());
    let least = most.min(width / 4);
    let lines = |name_width: &usize| {
        let tables = abreast(columns, gap, width - name_width).into_iter();
        let headers: usize = tables.clone().map(header_lines).sum();
        let rows = names
            .iter()
            .map(|name| label_lines(name, *name_width).len());
        headers + tables.len() * rows.sum::<usize>()
    };
    let widths = (least..=most).rev();
    widths.min_by_key(lines).unwrap_or(most)
}

/// The columns in groups that each fit into `room`, with at least one column.
fn abreast<'a>(columns: &'a [TextColumn], gap: &str, room: usize) -> Vec<&'a [TextColumn]> {
    let mut tables = Vec::new();
    let mut rest = columns;
    while !rest.is_empty() {
        let mut width = 0;
        let fitting = rest.iter().take_while(|column| {
            width += gap.len() + column.width;
            width <= room
        });
        let (table, others) = rest.split_at(fitting.count().max(1));
        tables.push(table);
        rest = others;
    }
    tables
}

fn header_lines(columns: &[TextColumn]) -> usize {
    let lines = |header: usize| {
        columns
            .iter()
            .map(move |column| column.headers[header].len())
    };
    lines(0).max().unwrap_or_default() + lines(1).max().unwrap_or_default()
}

/// All names end on the same line, and units begin on the next one.
fn headers(frame: &Frame, columns: &[TextColumn]) -> String {
    let Frame {
        name_width, gap, ..
    } = *frame;
    let names = columns.iter().map(|column| column.headers[0].len());
    let name_lines = names.max().unwrap_or_default();
    let mut out = String::new();
    for line in 0..header_lines(columns) {
        out.push_str(&" ".repeat(name_width));
        for column in columns {
            let [name, unit] = &column.headers;
            let at = (line + name.len()).checked_sub(name_lines);
            let text = if line < name_lines {
                at.and_then(|at| name.get(at))
            } else {
                unit.get(line - name_lines)
            };
            let text = text.map_or("", String::as_str);
            let width = column.width;
            if column.cells.iter().any(|cell| cell.is_left) {
                out.push_str(&format!("{gap}{text:width$}"));
            } else {
                out.push_str(&format!("{gap}{text:>width$}"));
            }
        }
        out.push('\n');
    }
    out
}

const GAP: &str = "  ";
/// The gap between columns of figures, which line up at the right, if it saves lines.
const CLOSER: &str = " ";
