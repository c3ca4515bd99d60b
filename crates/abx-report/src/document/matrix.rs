//! A matrix of verdicts or figures, as HTML and Markdown. `matrix_text` has its text.

use abx_verdict::Verdict;

use crate::html::markup::{Element, Markup, element, note, scrolling};
use crate::html::sign::sign;
use crate::markdown::{code, row};
use crate::words::metrics::capitalized;
use crate::words::style::mark;
use crate::words::verdict::class;

pub(crate) struct Matrix {
    pub(crate) caption: String,
    pub(crate) headers: Vec<MatrixHeader>,
    pub(crate) rows: Vec<MatrixRow>,
    /// The meanings of the marks that occur.
    pub(crate) legend: String,
    pub(crate) detail: CellDetail,
}

/// The name of a column or row and the unit of its figures, which may be empty.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct MatrixHeader {
    pub(crate) name: String,
    pub(crate) unit: String,
}

impl MatrixHeader {
    /// A header without a unit.
    pub(crate) fn named(name: String) -> MatrixHeader {
        MatrixHeader {
            name,
            unit: String::new(),
        }
    }

    /// Name and unit on one line, the name written by `show`.
    pub(crate) fn with(&self, show: impl Fn(&str) -> String) -> String {
        let name = show(&self.name);
        match self.unit.as_str() {
            "" => name,
            unit => format!("{name}, {unit}"),
        }
    }
}

pub(crate) struct MatrixRow {
    /// The question above this row and the rows after it that answer it.
    pub(crate) question: Option<String>,
    pub(crate) name: MatrixHeader,
    /// One cell per header.
    pub(crate) cells: Vec<MatrixCell>,
}

impl MatrixRow {
    /// A row of figures, some of which may be empty.
    pub(crate) fn of_figures(name: String, figures: impl Iterator<Item = String>) -> MatrixRow {
        MatrixRow {
            question: None,
            name: MatrixHeader::named(name),
            cells: figures.map(MatrixCell::Figure).collect(),
        }
    }
}

pub(crate) enum MatrixCell {
    Empty,
    Figure(String),
    Verdict(MatrixVerdict),
}

/// How much of a verdict a text shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellDetail {
    /// The mark, and the ratio if the verdict is decided.
    Mark,
    /// Ratio, interval and mark.
    Interval,
    /// Ratio, interval, mark and word.
    Whole,
}

/// A ratio as a cell shows it.
#[derive(Debug, Clone, Default)]
pub(crate) struct CellRatio {
    /// Empty without a ratio.
    pub(crate) text: String,
    /// The number that the text prints.
    pub(crate) value: f64,
    /// Whether the true ratio may be further from 1.
    pub(crate) is_bound: bool,
}

impl CellRatio {
    /// A ratio that is not a bound.
    pub(crate) fn of(text: String, value: f64) -> CellRatio {
        CellRatio {
            text,
            value,
            is_bound: false,
        }
    }
}

pub(crate) struct MatrixVerdict {
    pub(crate) verdict: Verdict,
    pub(crate) word: String,
    pub(crate) ratio: CellRatio,
    /// Empty without an interval.
    pub(crate) interval: String,
    /// Letters that the legend explains.
    pub(crate) flags: String,
    /// Whether the ratio is of another metric than the column's.
    pub(crate) is_other_metric: bool,
    /// The id of the details in a page.
    pub(crate) link: String,
    /// The verdict as a sentence.
    pub(crate) sentence: String,
}

impl MatrixVerdict {
    /// `1.64 (1.57–1.71)`, or the ratio alone without an interval.
    pub(crate) fn figures(&self) -> String {
        match self.interval.as_str() {
            "" => self.ratio.text.clone(),
            interval => format!("{} ({interval})", self.ratio.text),
        }
    }

    fn markup(&self) -> Element {
        let ratio = match self.ratio.text.as_str() {
            "" => self.word.as_str(),
            ratio => ratio,
        };
        let ratio = element("b").text(&format!("{ratio}{}", self.flags));
        let link = element("a")
            .with("href", format!("#{}", self.link))
            .with("title", &self.sentence)
            .add(sign(self.verdict))
            .add(ratio)
            .text(" ")
            .add(element("small").text(&self.interval));
        element("td")
            .class(format!("cell {}", class(self.verdict)))
            .add(link)
    }

    fn markdown(&self) -> String {
        let word = match self.verdict {
            Verdict::Invalid | Verdict::Inconclusive => self.word.clone(),
            _ => format!("**{}**", self.word),
        };
        let flags = match self.flags.as_str() {
            "" => String::new(),
            flags => format!(" {}", flags.replace('~', "\\~")),
        };
        let verdict = format!("{} {word}{flags}", mark(self.verdict));
        match self.figures().as_str() {
            "" => verdict,
            figures => format!("{figures} {verdict}"),
        }
    }
}

impl Matrix {
    pub(crate) fn markup(&self) -> Markup {
        let headers = self.headers.iter().map(|header| {
            let cell = element("th").with("scope", "col");
            let cell = cell.isolated(&header.name).text(" ");
            cell.add(element("small").text(&header.unit))
        });
        let head = element("tr").add(element("td")).add_all(headers);
        let rows = self.rows.iter().map(|row| {
            let name = element("th").with("scope", "row").isolated(&row.name.name);
            let name = name.text(" ");
            let name = name.add(element("small").text(&row.name.unit));
            let cells = row.cells.iter().map(|cell| match cell {
                MatrixCell::Empty => element("td").class("cell"),
                MatrixCell::Figure(text) => element("td").class("figure").text(text),
                MatrixCell::Verdict(verdict) => verdict.markup(),
            });
            let width = self.headers.len() + 1;
            let question = row.question.iter().map(|text| question(text, width));
            let row = element("tr").add(name).add_all(cells);
            question.chain([row]).collect::<Vec<_>>()
        });
        let table = element("table")
            .class("matrix")
            .add(element("thead").add(head))
            .add(element("tbody").add_all(rows.flatten()));
        // A caption would be as wide as the table, and cut off if the table scrolls.
        let heading = element("h3").text(&self.caption);
        let legend = format!("A cell leads to its details. {}", capitalized(&self.legend));
        let frame = scrolling(&self.caption, table);
        [heading, frame, note(&legend)].into_iter().collect()
    }

    /// Tables of a few columns each, because a page is no wider.
    pub(crate) fn markdown(&self) -> String {
        let columns: Vec<usize> = (0..self.headers.len()).collect();
        let header_stem = |column: &usize| stem(&self.headers[*column].name);
        let groups: Vec<&[usize]> = match self.detail {
            CellDetail::Whole => vec![&columns],
            CellDetail::Mark | CellDetail::Interval => columns
                .chunk_by(|column, next| header_stem(column) == header_stem(next))
                .flat_map(|chunk| chunk.chunks(COLUMNS_MAX))
                .collect(),
        };
        let tables = groups.into_iter().map(|columns| self.part(columns));
        tables.collect::<Vec<_>>().join("\n")
    }

    fn part(&self, columns: &[usize]) -> String {
        let headers = columns
            .iter()
            .map(|column| self.headers[*column].with(code_of));
        let headers: Vec<String> = std::iter::once(String::new()).chain(headers).collect();
        let rule = vec!["---".to_owned(); headers.len()];
        let rows = self.rows.iter().filter_map(|matrix_row| {
            let cells: Vec<String> = columns
                .iter()
                .map(|column| match &matrix_row.cells[*column] {
                    MatrixCell::Empty => String::new(),
                    MatrixCell::Figure(text) => text.clone(),
                    MatrixCell::Verdict(verdict) => verdict.markdown(),
                })
                .collect();
            let is_empty = cells.iter().all(String::is_empty);
            let name = matrix_row.name.with(code_of);
            let cells: Vec<String> = std::iter::once(name).chain(cells).collect();
            (!is_empty).then(|| row(&cells))
        });
        row(&headers) + &row(&rule) + &rows.collect::<String>()
    }
}

/// A row of a page's matrix with a question, which heads the rows after it.
fn question(text: &str, columns: usize) -> Element {
    let cell = element("th").with("scope", "rowgroup");
    let cell = cell.with("colspan", columns).text(text);
    element("tr").class("question").add(cell)
}

/// Each name of a pair as code.
fn code_of(name: &str) -> String {
    let names: Vec<String> = name.split(" ÷ ").map(code).collect();
    names.join(" ÷ ")
}

/// The part of the name that the loads of a sweep share: `kept` of `kept-c50`. Other names, such as
/// `api-read`, share nothing.
pub(super) fn stem(load: &str) -> &str {
    let is_value = |suffix: &str| {
        let value = suffix.trim_start_matches(|letter: char| letter.is_ascii_lowercase());
        let digits = value.trim_end_matches("pct");
        !digits.is_empty()
            && digits
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let parts = load.rsplit_once('-');
    let of_sweep = parts.filter(|(_, suffix)| is_value(suffix));
    of_sweep.map_or(load, |(stem, _)| stem)
}

const COLUMNS_MAX: usize = 4;
