//! The columns of a matrix on a terminal.

use abx_verdict::Verdict;

use super::matrix::{CellDetail, CellRatio, Matrix, MatrixCell, MatrixHeader, MatrixVerdict};
use crate::words::labels::label_lines;
use crate::words::style::{Style, Tint};
use crate::words::verdict::tint;

/// One column: lines of its name and of its unit, and a cell per row.
pub(super) struct TextColumn {
    pub(super) headers: [Vec<String>; 2],
    pub(super) cells: Vec<TextCell>,
    pub(super) width: usize,
    pub(super) is_of_figures: bool,
}

pub(super) struct TextCell {
    pub(super) text: String,
    pub(super) tint: Option<Tint>,
    pub(super) is_left: bool,
}

impl TextColumn {
    pub(super) fn new(matrix: &Matrix, column: usize, style: &Style) -> TextColumn {
        let cells = matrix.rows.iter();
        let cells = cells.map(|row| TextCell::of(&row.cells[column], matrix.detail, style));
        let mut rows = matrix.rows.iter();
        TextColumn {
            is_of_figures: !rows.any(|row| matches!(row.cells[column], MatrixCell::Verdict(_))),
            ..TextColumn::of(&matrix.headers[column], cells.collect())
        }
    }

    pub(super) fn of(header: &MatrixHeader, cells: Vec<TextCell>) -> TextColumn {
        let MatrixHeader { name, unit } = header;
        let widest = cells.iter().map(|cell| letters(&cell.text)).max();
        let headers: [Vec<String>; 2] = [name, unit].map(|text| {
            let most = header_width(text).max(widest.unwrap_or_default());
            let lines = label_lines(text, most).into_iter();
            let lines = lines.map(|line| line.trim_start().to_owned());
            lines.filter(|line| !line.is_empty()).collect()
        });
        let texts = headers.iter().flatten().map(|text| letters(text));
        let width = texts.chain(widest).max().unwrap_or_default();
        TextColumn {
            headers,
            cells,
            width,
            is_of_figures: false,
        }
    }
}

/// The smallest width that breaks no part of a name, unless the part is unusually long.
fn header_width(name: &str) -> usize {
    let parts = name.split_inclusive([' ', '-', '_', '/']);
    let longest = parts.map(letters).max().unwrap_or_default();
    (longest + INDENT).clamp(HEADER_MIN, HEADER_MAX)
}

impl TextCell {
    pub(super) fn of(cell: &MatrixCell, detail: CellDetail, style: &Style) -> TextCell {
        match cell {
            MatrixCell::Empty => TextCell::plain(""),
            MatrixCell::Figure(text) => TextCell::plain(text),
            MatrixCell::Verdict(verdict) => TextCell::verdict(verdict, detail, style),
        }
    }

    pub(super) fn plain(text: &str) -> TextCell {
        TextCell {
            text: text.to_owned(),
            tint: None,
            is_left: false,
        }
    }

    /// Most of a matrix is undecided, so only decided verdicts have a colour.
    pub(super) fn tint_of(verdict: Verdict) -> Option<Tint> {
        Some(tint(verdict)).filter(|tint| matches!(tint, Tint::Good | Tint::Bad))
    }

    fn verdict(cell: &MatrixVerdict, detail: CellDetail, style: &Style) -> TextCell {
        let mark = style.mark(cell.verdict);
        let MatrixVerdict {
            verdict,
            word,
            ratio: CellRatio { text: ratio, .. },
            flags,
            ..
        } = cell;
        let text = match detail {
            CellDetail::Mark if verdict.is_decided() => format!("{ratio} {mark}{flags}"),
            CellDetail::Mark => format!("{mark}{flags}"),
            CellDetail::Interval => format!("{ratio} {} {mark}{flags}", cell.interval),
            CellDetail::Whole => format!("{} {mark} {word} {flags}", cell.figures()),
        };
        TextCell {
            text: text.trim().to_owned(),
            tint: TextCell::tint_of(*verdict),
            is_left: detail == CellDetail::Whole,
        }
    }

    /// The text in `width` columns.
    pub(super) fn aligned(&self, width: usize, style: &Style) -> String {
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

pub(super) fn letters(text: &str) -> usize {
    text.chars().count()
}

/// The indent of a label's further lines.
const INDENT: usize = 2;
const HEADER_MIN: usize = 6;
const HEADER_MAX: usize = 16;
