//! Tables that people make from reports: rows of names and figures under a head that names a rate
//! and times.

use super::assembly::Unread;
use super::cells::{Column, Divider, Notation, TableCell, column, figure};
use crate::report::{FigureKey, LoadTool, PrintedQuantile, ToolReport};
use crate::text::TextLine;

/// The head of a table: its columns, and how its cells are separated.
struct Head {
    divider: Divider,
    columns: Vec<Column>,
}

/// A line of a table: the cells before the columns are its name.
struct Row {
    line: usize,
    name: String,
    cells: Vec<String>,
}

/// The rows of all tables in these lines, each as a report, and those that cannot be read.
pub(super) fn rows(file: &str, lines: &[&TextLine]) -> (Vec<ToolReport>, Vec<Unread>) {
    let mut out = Vec::new();
    let mut unread = Vec::new();
    let mut head: Option<Head> = None;
    let mut rows: Vec<Row> = Vec::new();
    for line in lines {
        if is_rule(&line.text) {
            continue;
        }
        if let Some(next) = Head::of(&line.text) {
            finish(file, head.as_ref(), &mut rows, &mut out, &mut unread);
            head = Some(next);
            continue;
        }
        let Some(current) = &head else {
            continue;
        };
        match current.row(line) {
            Some(row) => rows.push(row),
            None if current.continues(&line.text) => unread.push(unreadable(line.number)),
            None => {
                finish(file, head.as_ref(), &mut rows, &mut out, &mut unread);
                head = None;
            }
        }
    }
    finish(file, head.as_ref(), &mut rows, &mut out, &mut unread);
    (out, unread)
}

/// Makes reports from the rows of a complete table.
fn finish(
    file: &str,
    head: Option<&Head>,
    rows: &mut Vec<Row>,
    out: &mut Vec<ToolReport>,
    unread: &mut Vec<Unread>,
) {
    let rows = std::mem::take(rows);
    let Some(head) = head else {
        return;
    };
    let notation = Notation::of(rows.iter().flat_map(|row| &row.cells));
    for row in rows {
        match head.reports(file, &row, notation) {
            Some(reports) => out.extend(reports),
            None => unread.push(unreadable(row.line)),
        }
    }
}

fn unreadable(line: usize) -> Unread {
    Unread {
        line,
        why: "a row of a table whose cells do not match its header".to_owned(),
    }
}

/// Whether the line only separates others.
fn is_rule(text: &str) -> bool {
    let is_mark = |character: char| {
        "-:=+|_ \t".contains(character) || ('\u{2500}'..='\u{257f}').contains(&character)
    };
    !text.trim().is_empty() && text.chars().all(is_mark)
}

/// Replaces box-drawing lines with bars.
fn with_bars(text: &str) -> String {
    text.replace(['│', '┃', '║', '¦'], "|")
}

impl Head {
    /// The head in a line that names a rate.
    fn of(text: &str) -> Option<Head> {
        let text = with_bars(text);
        Divider::of(&text).find_map(|divider| {
            let cells = divider.cells(&text);
            let columns: Vec<Column> = cells.iter().map(|cell| column(cell)).collect();
            let is_rate = |column: &&Column| matches!(column, Column::Rate(_));
            let rates = columns.iter().filter(is_rate).count();
            // A line with a number is a row, and a long sentence may name a rate between commas.
            let has_number = cells.iter().any(|cell| is_number(cell));
            let is_head = rates > 0 && !has_number;
            let columns = match divider {
                Divider::Blank => {
                    let known = columns.iter().rev();
                    let known = known.take_while(|column| **column != Column::Other).count();
                    let is_table = known > 1 || cells.len() < 3;
                    let last = columns[columns.len() - known..].to_vec();
                    let rates = last.iter().filter(is_rate).count();
                    return (is_head && is_table && rates == 1).then_some(Head {
                        divider,
                        columns: last,
                    });
                }
                _ => columns,
            };
            (is_head && cells.len() > 1).then_some(Head { divider, columns })
        })
    }

    /// Whether a line that is not a row may still belong to this table.
    fn continues(&self, text: &str) -> bool {
        let numbers = Divider::Blank.cells(text);
        let numbers = numbers.iter().filter(|cell| is_number(cell)).count();
        match self.divider {
            Divider::Mark("|" | "||") => with_bars(text).contains('|'),
            Divider::Mark(mark) if mark != "," => text.contains(mark),
            _ => numbers >= NUMBERS_MIN,
        }
    }

    /// The cells of a line, as many as there are columns.
    fn row(&self, line: &TextLine) -> Option<Row> {
        let text = with_bars(&line.text);
        let count = self.columns.len();
        let from = match self.divider {
            Divider::Blank => 0,
            _ => usize::from(self.columns.first() == Some(&Column::Other)),
        };
        let take = |mut cells: Vec<String>, divider: Divider| {
            let names = match divider {
                // The name is before all columns, and may contain spaces.
                Divider::Blank => (cells.len() + from)
                    .checked_sub(count)
                    .filter(|names| *names > 0),
                // The head may have no cell above the names.
                _ if cells.len() == count + 1 && from == 0 => Some(1),
                _ => (cells.len() == count).then_some(from),
            }?;
            let values = cells.split_off(names);
            Some(Row {
                line: line.number,
                name: cells.join(" "),
                cells: values,
            })
        };
        let is_here = match self.divider {
            Divider::Mark(mark) => text.contains(mark),
            _ => true,
        };
        let row = take(self.divider.cells(&text), self.divider).filter(|_| is_here);
        match self.divider {
            Divider::Gap => row.or_else(|| take(Divider::Blank.cells(&text), Divider::Blank)),
            _ => row,
        }
    }

    /// A report for each rate of a row; `None` when a cell cannot be read.
    fn reports(&self, file: &str, row: &Row, notation: Notation) -> Option<Vec<ToolReport>> {
        let skipped = self.columns.len() - row.cells.len();
        let columns = &self.columns[skipped..];
        let mut report = ToolReport {
            name: row.name.clone(),
            ..ToolReport::empty(LoadTool::Table, file, row.line)
        };
        let mut rates = Vec::new();
        for (cell, column) in row.cells.iter().zip(columns) {
            let worth = match column {
                Column::Figure(_, worth) | Column::Quantile(_, worth) => *worth,
                Column::Rate(_) => 1.0,
                Column::Other => continue,
            };
            let time = match figure(cell, row.line, worth, notation) {
                TableCell::Figure(figure) => figure,
                TableCell::Missing => continue,
                TableCell::Unreadable => return None,
            };
            match column {
                Column::Figure(key, _) => {
                    report.figures.insert(*key, time);
                }
                Column::Quantile(percent, _) => report.quantiles.push(PrintedQuantile {
                    percent: *percent,
                    time,
                }),
                Column::Rate(condition) => rates.push((condition, time)),
                Column::Other => {}
            }
        }
        let with_rate = rates.into_iter().map(|(condition, rate)| {
            let mut report = report.clone();
            report.name = format!("{} {condition}", report.name).trim().to_owned();
            report.figures.insert(FigureKey::Rate, rate);
            report
        });
        Some(with_rate.collect())
    }
}

fn is_number(cell: &str) -> bool {
    let starts = cell.starts_with(|first: char| first.is_ascii_digit());
    starts && matches!(column(cell), Column::Other)
}

/// With this many numbers, a line below a table is a row of it, not a sentence.
const NUMBERS_MIN: usize = 2;
