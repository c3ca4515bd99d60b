//! The loads of a sweep in one column of a matrix: the range of the decided ratios, and a mark
//! per load.

use super::matrix::{CellDetail, CellRatio, Matrix, MatrixCell, MatrixHeader, MatrixVerdict, stem};
use super::matrix_column::{TextCell, TextColumn};
use crate::words::ratio::Further;
use crate::words::style::Style;

/// Adjacent columns whose loads share a stem and a unit.
pub(super) struct Fold<'a> {
    headers: &'a [MatrixHeader],
    /// The cells of each row, one per header.
    rows: Vec<&'a [MatrixCell]>,
}

/// All columns of a matrix in their order. Columns with ratios of different metrics are not
/// folded.
pub(super) fn folds(matrix: &Matrix) -> Vec<Fold<'_>> {
    let together = |header: &MatrixHeader, next: &MatrixHeader| {
        stem(&header.name) == stem(&next.name) && header.unit == next.unit
    };
    let mut from = 0;
    let mut folds = Vec::new();
    for headers in matrix.headers.chunk_by(together) {
        let fold = Fold::of(matrix, headers, from);
        if fold.is_of_one_metric() {
            folds.push(fold);
        } else {
            let single = headers.chunks(1).enumerate();
            folds.extend(single.map(|(at, header)| Fold::of(matrix, header, from + at)));
        }
        from += headers.len();
    }
    folds
}

impl<'a> Fold<'a> {
    fn of(matrix: &'a Matrix, headers: &'a [MatrixHeader], from: usize) -> Fold<'a> {
        let rows = matrix.rows.iter();
        let cells = rows.map(|row| &row.cells[from..from + headers.len()]);
        Fold {
            headers,
            rows: cells.collect(),
        }
    }

    /// Whether all decided ratios of each row can be one range.
    fn is_of_one_metric(&self) -> bool {
        self.rows.iter().all(|cells| {
            let decided = verdicts(cells).filter(|cell| cell.verdict.is_decided());
            let decided: Vec<&MatrixVerdict> = decided.collect();
            let mut pairs = decided.windows(2);
            pairs.all(|pair| pair[0].is_other_metric == pair[1].is_other_metric)
        })
    }

    pub(super) fn column(&self, style: &Style) -> TextColumn {
        let header = match self.headers {
            [only] => only.clone(),
            several => MatrixHeader {
                name: stem(&several[0].name).to_owned(),
                unit: several[0].unit.clone(),
            },
        };
        let cells = self.rows.iter().map(|cells| cell(cells, style));
        TextColumn::of(&header, cells.collect())
    }

    /// The part of each load's name after the stem.
    fn suffixes(&self) -> Vec<&str> {
        let suffix = |header: &'a MatrixHeader| {
            let name = header.name.as_str();
            let suffix = name.strip_prefix(stem(name)).unwrap_or_default();
            suffix.trim_start_matches('-')
        };
        self.headers.iter().map(suffix).collect()
    }
}

fn verdicts(cells: &[MatrixCell]) -> impl Iterator<Item = &MatrixVerdict> {
    cells.iter().filter_map(|cell| match cell {
        MatrixCell::Verdict(verdict) => Some(verdict),
        MatrixCell::Empty | MatrixCell::Figure(_) => None,
    })
}

fn cell(cells: &[MatrixCell], style: &Style) -> TextCell {
    if let [only] = cells {
        return TextCell::of(only, CellDetail::Mark, style);
    }
    if verdicts(cells).next().is_none() {
        return TextCell::plain("");
    }
    let mark = |cell: &MatrixCell| match cell {
        MatrixCell::Verdict(verdict) => format!("{}{}", style.mark(verdict.verdict), verdict.flags),
        MatrixCell::Empty | MatrixCell::Figure(_) => NOT_COMPARED.to_owned(),
    };
    let marks: String = cells.iter().map(mark).collect();
    let decided: Vec<&MatrixVerdict> = verdicts(cells)
        .filter(|cell| cell.verdict.is_decided() && !cell.ratio.text.is_empty())
        .collect();
    let is_like_first = |cell: &&MatrixVerdict| cell.verdict == decided[0].verdict;
    let tint = match &decided[..] {
        [first, ..] if decided.iter().all(is_like_first) => TextCell::tint_of(first.verdict),
        _ => None,
    };
    TextCell {
        tint,
        ..TextCell::plain(format!("{} {marks}", range(&decided, style)).trim())
    }
}

/// The smallest and the largest of these ratios: `2.23–2.56`. If all are bounds on one side of 1,
/// only the end nearest to 1. A bound among other ratios makes the end on its side a bound.
fn range(decided: &[&MatrixVerdict], style: &Style) -> String {
    let mut ratios: Vec<&CellRatio> = decided.iter().map(|cell| &cell.ratio).collect();
    ratios.sort_by(|a, b| a.value.total_cmp(&b.value));
    let (Some(low), Some(high)) = (ratios.first(), ratios.last()) else {
        return String::new();
    };
    let are_bounds = ratios.iter().all(|ratio| ratio.is_bound);
    let are_alike = ratios.iter().all(|ratio| ratio.text == low.text);
    if are_alike || (are_bounds && low.value > 1.0) {
        low.text.clone()
    } else if are_bounds && high.value < 1.0 {
        high.text.clone()
    } else {
        let has = |side: Further| ratios.iter().any(|ratio| bound_of(ratio) == Some(side));
        let end = |ratio: &CellRatio, side: Further| {
            let sign = if has(side) && !ratio.is_bound {
                side.sign(style)
            } else {
                ""
            };
            format!("{sign}{}", ratio.text)
        };
        let [low, high] = [end(low, Further::AtMost), end(high, Further::AtLeast)];
        format!("{low}–{high}")
    }
}

/// The side on which the true ratio may lie; `None` for a ratio that is not a bound.
fn bound_of(ratio: &CellRatio) -> Option<Further> {
    ratio.is_bound.then_some(if ratio.value > 1.0 {
        Further::AtLeast
    } else {
        Further::AtMost
    })
}

/// The loads of a cell's marks in their order, for the legend; empty if nothing was folded.
pub(super) fn order_of_marks(folds: &[Fold]) -> String {
    let mut orders: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for fold in folds.iter().filter(|fold| fold.headers.len() > 1) {
        let (name, suffixes) = (stem(&fold.headers[0].name), fold.suffixes());
        match orders.iter_mut().find(|(_, other)| *other == suffixes) {
            Some((names, _)) => names.push(name),
            None => orders.push((vec![name], suffixes)),
        }
    }
    let texts = orders
        .iter()
        .map(|(names, suffixes)| format!("{} under {}", suffixes.join(" "), names.join(", ")));
    let texts: Vec<String> = texts.collect();
    match &texts[..] {
        [] => String::new(),
        _ => format!("; marks in the order {}", texts.join("; ")),
    }
}

const NOT_COMPARED: &str = "·";

#[cfg(test)]
mod tests {
    use abx_verdict::Verdict;

    use super::super::matrix::MatrixRow;
    use super::*;

    /// A cell with this ratio, which begins with a sign if it is a bound.
    fn verdict(verdict: Verdict, ratio: &str) -> MatrixCell {
        let digits = ratio.trim_start_matches(['≥', '≤']);
        let ratio = CellRatio {
            text: ratio.to_owned(),
            value: digits.replace(',', "").parse().unwrap_or_default(),
            is_bound: digits != ratio,
        };
        MatrixCell::Verdict(MatrixVerdict {
            verdict,
            word: String::new(),
            ratio,
            interval: String::new(),
            flags: String::new(),
            is_other_metric: false,
            link: String::new(),
            sentence: String::new(),
        })
    }

    /// A matrix of one row with these loads and cells.
    fn matrix(cells: Vec<(&str, MatrixCell)>) -> Matrix {
        let names = cells.iter().map(|(name, _)| (*name).to_owned());
        Matrix {
            caption: String::new(),
            headers: names.map(MatrixHeader::named).collect(),
            rows: vec![MatrixRow {
                question: None,
                name: MatrixHeader::named("a ÷ b".to_owned()),
                cells: cells.into_iter().map(|(_, cell)| cell).collect(),
            }],
            legend: String::new(),
            detail: CellDetail::Mark,
        }
    }

    fn folded(matrix: &Matrix) -> Vec<String> {
        let folds = folds(matrix);
        let columns = folds.iter().map(|fold| fold.column(&Style::plain()));
        columns.map(|column| column.cells[0].text.clone()).collect()
    }

    #[test]
    fn loads_of_a_sweep_share_a_cell_with_a_mark_each() {
        // Method: a sweep with every kind of cell, a load of its own, and a second sweep of which
        // one load has another metric.
        let (faster, slower) = (Verdict::Faster, Verdict::Slower);
        let other_metric = match verdict(Verdict::Less, "0.81") {
            MatrixCell::Verdict(cell) => MatrixCell::Verdict(MatrixVerdict {
                is_other_metric: true,
                ..cell
            }),
            cell => cell,
        };
        let matrix = matrix(vec![
            ("kept-c1", verdict(faster, "1.20")),
            ("kept-c2", verdict(Verdict::Inconclusive, "1.01")),
            ("kept-c3", verdict(slower, "0.90")),
            ("kept-c4", MatrixCell::Empty),
            ("kept-c5", verdict(Verdict::Invalid, "")),
            ("single", verdict(faster, "2.00")),
            ("fresh-c1", verdict(faster, "1.30")),
            ("fresh-c2", other_metric),
        ]);
        let cells = ["0.90–1.20 ▲?▼·–", "2.00 ▲", "1.30 ▲", "0.81 ▲"];
        assert_eq!(folded(&matrix), cells);
        let order = order_of_marks(&folds(&matrix));
        assert_eq!(order, "; marks in the order c1 c2 c3 c4 c5 under kept");
    }

    #[test]
    fn loads_that_only_begin_alike_have_a_column_each() {
        // Method: names that share their first part, without a value after it.
        let cells = ["1.20", "1.30", "1.40"].map(|ratio| verdict(Verdict::Faster, ratio));
        let named = ["api-read", "api-write", "api-v"].into_iter().zip(cells);
        let expected = ["1.20 ▲", "1.30 ▲", "1.40 ▲"];
        assert_eq!(folded(&matrix(named.collect())), expected);
    }

    #[test]
    fn bounds_on_one_side_have_one_end() {
        // Method: bounds above 1, below 1, on both sides, one of two, and equal ratios.
        let table = [
            (["≥2.17", "≥2.26"], "≥2.17 ▲▲"),
            (["≤0.40", "≤0.13"], "≤0.40 ▲▲"),
            (["≥1.50", "≤0.50"], "≤0.50–≥1.50 ▲▲"),
            (["1.50", "≥1,200"], "1.50–≥1,200 ▲▲"),
            (["1.04", "1.04"], "1.04 ▲▲"),
            (["≥1.50", "2.00"], "≥1.50–≥2.00 ▲▲"),
            (["0.30", "≤0.40"], "≤0.30–≤0.40 ▲▲"),
        ];
        for (ratios, expected) in table {
            let cells = ratios.map(|ratio| verdict(Verdict::Faster, ratio));
            let named = ["x-1", "x-2"].into_iter().zip(cells).collect();
            assert_eq!(folded(&matrix(named)), [expected]);
        }
    }

    #[test]
    fn a_bound_between_the_ends_is_a_bound_of_one_of_them() {
        // Method: a bound in the middle on each side of 1, on both, and one of equal ratios.
        let table = [
            (["1.20", "≥1.50", "2.00"], "1.20–≥2.00 ▲▲▲"),
            (["0.30", "≤0.40", "0.50"], "≤0.30–0.50 ▲▲▲"),
            (["0.30", "≤0.40", "≥1.50"], "≤0.30–≥1.50 ▲▲▲"),
            (["1.50", "≥1.50", "1.50"], "1.50–≥1.50 ▲▲▲"),
        ];
        for (ratios, expected) in table {
            let cells = ratios.map(|ratio| verdict(Verdict::Faster, ratio));
            let named = ["x-1", "x-2", "x-3"].into_iter().zip(cells).collect();
            assert_eq!(folded(&matrix(named)), [expected]);
        }
    }
}
