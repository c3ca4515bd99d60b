//! Tables that people make of reports: rows of names and figures under a line that says
//! which column is a rate and which are times.

use std::collections::BTreeMap;

use super::assembly::Unread;
use crate::figure::PrintedFigure;
use crate::report::{FigureKey, LoadTool, PrintedQuantile, ToolReport};
use crate::text::{Digits, LetterStream, TextLine, numeral};

/// What stands in a column.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Column {
    Figure(FigureKey),
    Quantile(f64),
}

/// The rows of all tables in these lines, each as a report, and those that cannot be read.
pub(super) fn rows(file: &str, lines: &[&TextLine]) -> (Vec<ToolReport>, Vec<Unread>) {
    let mut out = Vec::new();
    let mut unread = Vec::new();
    let mut columns: Option<Vec<Column>> = None;
    for line in lines {
        let cells = cells(&line.text);
        let is_rule = |cell: &&str| cell.chars().all(|one| "-:=+".contains(one));
        if !cells.is_empty() && cells.iter().all(is_rule) {
            continue;
        }
        if let Some(found) = header(&cells) {
            columns = Some(found);
            continue;
        }
        let Some(known) = &columns else {
            continue;
        };
        if let Some(report) = row(file, line, &cells, known) {
            out.push(report);
            continue;
        }
        let has_digit = |cell: &&&str| cell.starts_with(|first: char| first.is_ascii_digit());
        let numbers = cells.iter().filter(has_digit).count();
        if numbers < NUMBERS_MIN && !line.text.contains('|') {
            columns = None;
            continue;
        }
        unread.push(Unread {
            line: line.number,
            why: "a row of a table whose cells are not those of its head".to_owned(),
        });
    }
    (out, unread)
}

/// The words of a line; bars stand between cells.
fn cells(text: &str) -> Vec<&str> {
    let words = text.split(|one: char| one.is_whitespace() || one == '|' || one == ';');
    words.filter(|word| !word.is_empty()).collect()
}

/// The columns at the end of a line that names a rate among them.
fn header(cells: &[&str]) -> Option<Vec<Column>> {
    let known: Vec<Column> = cells.iter().rev().map_while(|cell| column(cell)).collect();
    let columns: Vec<Column> = known.into_iter().rev().collect();
    let rates = { columns.iter() }.filter(|one| **one == Column::Figure(FigureKey::Rate));
    // A sentence may end with the word.
    let is_table = columns.len() > 1 || cells.len() < 3;
    (rates.count() == 1 && is_table).then_some(columns)
}

fn column(word: &str) -> Option<Column> {
    let word = word
        .trim_matches(|one: char| "*_()[]:,".contains(one))
        .to_ascii_lowercase();
    let key = match word.as_str() {
        "requests/s" | "requests/sec" | "requests/second" | "req/s" | "req/sec" | "reqs/s"
        | "reqs/sec" | "rps" | "qps" => FigureKey::Rate,
        "min" | "minimum" => FigureKey::Min,
        "mean" | "avg" | "average" => FigureKey::Mean,
        "median" => FigureKey::Median,
        "max" | "maximum" | "longest" => FigureKey::Max,
        "stddev" | "stdev" | "sd" => FigureKey::Spread,
        "failed" | "errors" => FigureKey::Failed,
        _ => {
            let percent = { word.strip_prefix('p').or_else(|| word.strip_suffix('%')) }?;
            let percent: f64 = percent.parse().ok()?;
            return (percent > 0.0 && percent <= 100.0).then_some(Column::Quantile(percent));
        }
    };
    Some(Column::Figure(key))
}

/// A row: a name, and a number for each column.
fn row(file: &str, line: &TextLine, cells: &[&str], columns: &[Column]) -> Option<ToolReport> {
    let first = cells
        .len()
        .checked_sub(columns.len())
        .filter(|first| *first > 0)?;
    let (names, numbers) = cells.split_at(first);
    let mut report = ToolReport {
        name: names.join(" "),
        tool: LoadTool::Table,
        file: file.to_owned(),
        line: line.number,
        last_line: line.number,
        asked_keep_alive: None,
        failures_unread: None,
        figures: BTreeMap::new(),
        words: BTreeMap::new(),
        quantiles: Vec::new(),
        statuses: BTreeMap::new(),
    };
    for (cell, column) in numbers.iter().zip(columns) {
        let figure = figure(cell, line.number)?;
        match column {
            Column::Figure(key) => {
                report.figures.insert(*key, figure);
            }
            Column::Quantile(percent) => report.quantiles.push(PrintedQuantile {
                percent: *percent,
                time: figure,
            }),
        }
    }
    Some(report)
}

/// A cell that is a number and nothing else.
fn figure(cell: &str, line: usize) -> Option<PrintedFigure> {
    let text = format!("{cell} ");
    let stream = LetterStream::new(&[TextLine { number: line, text }]);
    let number = numeral(&stream, 0, Digits::Any).ok()?;
    (number.end == stream.len()).then(|| PrintedFigure {
        value: number.value,
        low: (number.value - number.step).max(0.0),
        high: number.value + number.step,
        line,
        printed: number.printed,
    })
}

/// With so many numbers, a line below a table is a row of it and no sentence.
const NUMBERS_MIN: usize = 2;
