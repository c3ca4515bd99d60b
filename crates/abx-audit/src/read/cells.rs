//! The cells of tables: headings and figures.

use super::template::TIMES;
use crate::figure::PrintedFigure;
use crate::report::FigureKey;
use crate::text::{Digits, LetterStream, TextLine, numeral};

/// The meaning of a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Column {
    /// A figure, and its unit according to the heading.
    Figure(FigureKey, f64),
    Quantile(f64, f64),
    /// A rate under this condition, such as `c=500`; often empty.
    Rate(String),
    Other,
}

/// How the cells of a line are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Divider {
    Mark(&'static str),
    Gap,
    Blank,
}

impl Divider {
    /// The dividers that a line may have, the clearest first.
    pub(super) fn of(text: &str) -> impl Iterator<Item = Divider> {
        let marks = ["||", "|", "\t", ";", ","].map(Divider::Mark);
        let dividers = marks.into_iter().chain([Divider::Gap, Divider::Blank]);
        dividers.filter(|divider| match divider {
            Divider::Mark(mark) => text.trim().contains(mark),
            Divider::Gap => text.trim().contains("  "),
            Divider::Blank => true,
        })
    }

    /// The cells of a line; between marks, empty cells count.
    pub(super) fn cells(self, text: &str) -> Vec<String> {
        let cells: Vec<String> = match self {
            Divider::Blank => text
                .split(|character: char| {
                    character.is_whitespace() || character == '|' || character == ';'
                })
                .map(str::to_owned)
                .collect(),
            Divider::Gap => text.trim().split("  ").map(str::to_owned).collect(),
            Divider::Mark(",") => quoted_cells(text),
            Divider::Mark(mark) => {
                let inner = text.trim_matches(' ');
                let inner = match mark {
                    "|" | "||" => inner
                        .strip_prefix(mark)
                        .unwrap_or(inner)
                        .strip_suffix(mark)
                        .unwrap_or(inner.strip_prefix(mark).unwrap_or(inner)),
                    _ => inner,
                };
                inner.split(mark).map(str::to_owned).collect()
            }
        };
        let counts_blank = matches!(self, Divider::Mark(_));
        let trimmed = cells.iter().map(|cell| bare(cell).to_owned());
        trimmed
            .filter(|cell| counts_blank || !cell.is_empty())
            .collect()
    }
}

/// The cells of a line with commas as separators, except within quotes.
fn quoted_cells(text: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    for letter in text.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            other => {
                if let Some(cell) = cells.last_mut() {
                    cell.push(other);
                }
            }
        }
    }
    cells
}

/// A cell without the Markdown marks for bold text and code.
fn bare(cell: &str) -> &str {
    cell.trim_matches(|character: char| character.is_whitespace() || "*_`\"!".contains(character))
}

/// The meaning of a column, from its heading.
pub(super) fn column(heading: &str) -> Column {
    let heading = heading.to_ascii_lowercase();
    let (words, inner) = match heading.split_once(['(', '[']) {
        Some((words, inner)) => (words, inner.trim_end_matches([')', ']'])),
        None => (heading.as_str(), ""),
    };
    let plain = |text: &str| -> String {
        text.chars()
            .filter(|char| !char.is_whitespace() && !"*_:,#".contains(*char))
            .collect()
    };
    let (words, inner_words) = (plain(words), plain(inner));
    if is_rate(&words) || (is_rate(&inner_words) && !words.contains("asked")) {
        let condition = if is_rate(&words) && inner.contains('=') {
            inner
        } else {
            ""
        };
        return Column::Rate(condition.trim().to_owned());
    }
    let unit = TIMES.iter().find(|(unit, _)| inner_words == *unit);
    let unit = unit.map_or(1.0, |(_, worth)| *worth);
    let words = words.replace("responsetime", "").replace("latency", "");
    let key = match words.as_str() {
        "min" | "minimum" | "shortest" => FigureKey::Min,
        "mean" | "avg" | "average" => FigureKey::Mean,
        "median" => FigureKey::Median,
        "max" | "maximum" | "longest" => FigureKey::Max,
        "stddev" | "stdev" | "sd" => FigureKey::Spread,
        "failed" | "errors" | "failures" | "failedrequests" => FigureKey::Failed,
        other => return quantile(other, unit),
    };
    match key {
        FigureKey::Failed if !inner.is_empty() => Column::Other,
        key => Column::Figure(key, unit),
    }
}

fn quantile(words: &str, unit: f64) -> Column {
    let percent = words.strip_prefix('p').or_else(|| words.strip_suffix('%'));
    let percent = percent
        .or_else(|| words.strip_suffix("th"))
        .and_then(|percent| percent.parse().ok());
    match percent {
        Some(percent) if percent > 0.0 && percent <= 100.0 => Column::Quantile(percent, unit),
        _ => Column::Other,
    }
}

/// Whether these words, without blanks, name a rate of requests.
fn is_rate(words: &str) -> bool {
    let words = words.trim_start_matches("avg").trim_start_matches("mean");
    let words = words.trim_start_matches("average");
    let (noun, per) = match words.split_once('/').or_else(|| words.split_once("per")) {
        Some(parts) => parts,
        None => return matches!(words, "rps" | "qps" | "tps"),
    };
    let nouns = [
        "requests",
        "request",
        "req",
        "reqs",
        "responses",
        "queries",
        "transactions",
        "trans",
        "hits",
    ];
    nouns.contains(&noun) && matches!(per, "s" | "sec" | "second" | "secs" | "seconds")
}

/// The content of a cell.
#[derive(Debug, PartialEq)]
pub(super) enum TableCell {
    Figure(PrintedFigure),
    /// Nothing was measured: `-`, `n/a`, `X`.
    Missing,
    Unreadable,
}

/// How the numbers of a table are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Notation {
    /// Whether a comma is the decimal separator somewhere in the table.
    pub(super) has_decimal_comma: bool,
}

impl Notation {
    pub(super) fn of<'a>(mut cells: impl Iterator<Item = &'a String>) -> Notation {
        let is_decimal = |cell: &String| {
            let number: String = number_letters(cell)
                .chars()
                .filter(|char| *char != ' ')
                .collect();
            let Some((before, fraction)) = number.rsplit_once(',') else {
                return false;
            };
            let is_last = fraction.chars().all(|char| char.is_ascii_digit());
            let is_number = before.starts_with(|first: char| first.is_ascii_digit());
            is_number && is_last && (fraction.len() != 3 || before == "0")
        };
        Notation {
            has_decimal_comma: cells.any(is_decimal),
        }
    }
}

/// The beginning of a cell that can be a number.
fn number_letters(cell: &str) -> &str {
    let is_part =
        |character: char| character.is_ascii_digit() || matches!(character, '.' | ',' | '\'' | ' ');
    let end = cell
        .find(|character: char| !is_part(character))
        .unwrap_or(cell.len());
    cell[..end].trim_end()
}

/// The number in a cell with its unit; `worth` is the unit of a bare number.
pub(super) fn figure(cell: &str, line: usize, worth: f64, notation: Notation) -> TableCell {
    let lower = cell.to_ascii_lowercase();
    let missing = [
        "", "-", "--", "---", "x", "n/a", "na", "n.a.", "none", "null", "nan", "?", "fail",
        "failed", "error", "timeout", "dnf", "crash", "crashed",
    ];
    if missing.contains(&lower.as_str()) {
        return TableCell::Missing;
    }
    let cell = cell.trim_start_matches(['~', '≈', ' ']);
    let cell = cell.split(['±', '(']).next().unwrap_or_default().trim();
    let printed = number_letters(cell);
    let Some(unit) = unit(cell[printed.len()..].trim(), worth) else {
        return TableCell::Unreadable;
    };
    let Some(plain) = grouped(printed, notation) else {
        return TableCell::Unreadable;
    };
    let stream = LetterStream::new(&[TextLine {
        number: line,
        text: format!("{plain} "),
    }]);
    let Ok(number) = numeral(&stream, 0, Digits::Any) else {
        return TableCell::Unreadable;
    };
    if number.end != stream.len() {
        return TableCell::Unreadable;
    }
    TableCell::Figure(PrintedFigure {
        value: number.value * unit,
        low: (number.value - number.step).max(0.0) * unit,
        high: (number.value + number.step) * unit,
        line,
        printed: cell.to_owned(),
    })
}

/// A number without thousands separators; `None` if these are ambiguous.
fn grouped(printed: &str, notation: Notation) -> Option<String> {
    let are_thousands = |mark: char| {
        let mut groups = printed.split(mark);
        let first = groups.next().unwrap_or_default();
        let begins = (1..=3).contains(&first.len()) && !first.starts_with('0');
        let mut count = 0;
        let rest = groups.all(|group| {
            count += 1;
            let whole = group.split(['.', ',']).next().unwrap_or_default();
            whole.len() == 3
        });
        begins && rest && count > 0
    };
    if let Some(mark) = [' ', '\''].into_iter().find(|mark| printed.contains(*mark)) {
        return are_thousands(mark).then(|| printed.replace(mark, ""));
    }
    let is_plain = |other: char| !printed.contains(other);
    if are_thousands(',') && is_plain('.') {
        return (!notation.has_decimal_comma).then(|| printed.replace(',', ""));
    }
    if are_thousands('.') && is_plain(',') && notation.has_decimal_comma {
        return None;
    }
    Some(printed.to_owned())
}

/// The unit that these words name.
fn unit(words: &str, worth: f64) -> Option<f64> {
    let words = words.to_ascii_lowercase().replace(' ', "");
    if words.is_empty() {
        return Some(worth);
    }
    if let Some((_, unit)) = TIMES
        .iter()
        .find(|(name, _)| words == *name && *name != "m")
    {
        return Some(*unit);
    }
    let (factor, rest) = match words.chars().next() {
        Some('k') => (1e3, &words[1..]),
        Some('m') => (1e6, &words[1..]),
        Some('g') => (1e9, &words[1..]),
        _ => (1.0, words.as_str()),
    };
    let is_known = rest.is_empty() || rest == "/s" || rest == "/sec" || is_rate(rest);
    is_known.then_some(factor * worth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_read_in_the_notation_of_their_table() {
        // Method: units, thousands of several countries, and cells without a measurement.
        let read = |cell: &str, has_decimal_comma: bool| match figure(
            cell,
            1,
            1.0,
            Notation { has_decimal_comma },
        ) {
            TableCell::Figure(figure) => Some((figure.value * 1e6).round() / 1e6),
            _ => None,
        };
        let table = [
            ("41,200", Some(41200.0), None),
            ("41,5", Some(41.5), Some(41.5)),
            ("1.2M", Some(1.2e6), Some(1.2e6)),
            ("12 k req/s", Some(12e3), Some(12e3)),
            ("31 ms", Some(0.031), Some(0.031)),
            ("41 200", Some(41200.0), Some(41200.0)),
            ("41'200", Some(41200.0), Some(41200.0)),
            ("~9950 ± 20", Some(9950.0), Some(9950.0)),
            ("1.234", Some(1.234), None),
            ("1.234,5", Some(1234.5), Some(1234.5)),
            ("12 MB", None, None),
            ("fast", None, None),
        ];
        for (cell, with_points, with_commas) in table {
            assert_eq!(read(cell, false), with_points, "{cell}");
            assert_eq!(read(cell, true), with_commas, "{cell}");
        }
        let notation = Notation {
            has_decimal_comma: false,
        };
        for cell in ["X", "-", "n/a", ""] {
            assert_eq!(figure(cell, 1, 1.0, notation), TableCell::Missing, "{cell}");
        }
    }
}
