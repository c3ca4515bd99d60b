//! The sentences that matter of a study that compares much.

use std::cmp::Ordering;

use abx_verdict::{Comparison, Metric, Ranking, StudyRecord, Verdict};

use crate::document::{Document, DocumentPart};
use crate::sections::compared::grid;
use crate::sections::compared::grid::{GridCell, GridColumn, GridRow, matrix_html, row_name};
use crate::words::labels::label_lines;
use crate::words::metrics::metric_under;
use crate::words::style::{Style, Tint};
use crate::words::units::{GLUE, plural};
use crate::words::verdict::{name, sentence, tint, word};
use crate::words::wrap::clean_name;

fn counts(record: &StudyRecord) -> String {
    let comparisons: Vec<&Comparison> = record.conclusions.primary().collect();
    let kind = |comparison: &Comparison| match comparison.verdict {
        Verdict::Faster | Verdict::Less => "better",
        Verdict::Slower | Verdict::More => "worse",
        Verdict::Inconclusive if comparison.too_few_blocks => "with too few blocks",
        verdict => word(verdict),
    };
    let kinds = [
        "better",
        "worse",
        word(Verdict::Equivalent),
        word(Verdict::Inconclusive),
        "with too few blocks",
        word(Verdict::Invalid),
    ];
    let count = |word: &str| {
        comparisons
            .iter()
            .filter(|comparison| kind(comparison) == word)
            .count()
    };
    let kinds = kinds.map(|word| (count(word), word));
    let there = kinds.iter().filter(|(count, _)| *count > 0);
    let each: Vec<String> = there
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    format!(
        "{} of {} under {}: {}.",
        plural(comparisons.len() as u64, "comparison"),
        plural(record.measured.subjects.len() as u64, "subject"),
        plural(record.measured.loads.len() as u64, "load"),
        each.join(", ")
    )
}

/// What those comparisons lack that have fewer blocks than a verdict needs; `None` without any.
pub(crate) fn lacking(record: &StudyRecord) -> Option<String> {
    let mut primary = record.conclusions.primary();
    let comparison = primary.find(|comparison| comparison.too_few_blocks)?;
    let lacking = crate::words::verdict::lacking(record, comparison);
    Some(format!("Too few blocks: {lacking}."))
}

/// The largest difference that is settled, and the largest one the other way.
fn largest(record: &StudyRecord) -> Vec<&Comparison> {
    let settled = || {
        let primary = record.conclusions.primary();
        primary.filter(|comparison| comparison.verdict.is_directed() && comparison.ratio.is_some())
    };
    let size = |comparison: &Comparison| comparison.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    let by_size = |comparison: &&Comparison, other: &&Comparison| -> Ordering {
        size(comparison).total_cmp(&size(other))
    };
    let Some(first) = settled().max_by(by_size) else {
        return Vec::new();
    };
    let is_good =
        |comparison: &Comparison| matches!(comparison.verdict, Verdict::Faster | Verdict::Less);
    let other = settled().filter(|comparison| is_good(comparison) != is_good(first));
    [Some(first), other.max_by(by_size)]
        .into_iter()
        .flatten()
        .collect()
}

/// Who is first by what under which loads, and where nobody is.
fn leaders(record: &StudyRecord) -> Vec<String> {
    let mut groups: Vec<Leaders> = Vec::new();
    for ranking in &record.conclusions.rankings {
        let first = tied(ranking);
        let is_certain = first.len() <= LEADERS_MAX && first.len() < ranking.places.len();
        let names = if is_certain { first } else { Vec::new() };
        let by = by(record, ranking);
        let load = name(&ranking.load);
        let Some(group) = groups.iter_mut().find(|group| group.names == names) else {
            let under = vec![(by, vec![load])];
            groups.push(Leaders { names, under });
            continue;
        };
        match group.under.iter_mut().find(|(metric, _)| *metric == by) {
            Some((_, loads)) => loads.push(load),
            None => group.under.push((by, vec![load])),
        }
    }
    groups.sort_by_key(|group| group.names.is_empty());
    groups.iter().map(Leaders::line).collect()
}

/// Those who are first, nobody where none is certain; and by what under which loads.
struct Leaders<'a> {
    names: Vec<&'a str>,
    under: Vec<(String, Vec<String>)>,
}

impl Leaders<'_> {
    fn line(&self) -> String {
        let names: Vec<String> = self.names.iter().map(|text| name(text)).collect();
        let leads = match names.as_slice() {
            [] => "No leader is certain".to_owned(),
            [only] => format!("{only} leads"),
            several => format!("Tied for first: {}", several.join(", ")),
        };
        let each = self.under.iter();
        let each = each.map(|(by, loads)| format!("{by}under {}", loads.join(", ")));
        format!("{leads} {}.", each.collect::<Vec<_>>().join("; "))
    }
}

/// What a ranking is by, where that is not how much is served.
fn by(record: &StudyRecord, ranking: &Ranking) -> String {
    match ranking.metric {
        Metric::Throughput => String::new(),
        metric => format!("by {} ", metric_under(record, &ranking.load, metric)),
    }
}

/// Those of a ranking who are not certainly behind the best, by name.
fn tied(ranking: &Ranking) -> Vec<&str> {
    let first = ranking.places.iter().filter(|place| place.tied_for_first);
    let mut names: Vec<&str> = first.map(|place| place.subject.as_str()).collect();
    names.sort_unstable();
    names
}

/// Where more are tied for first, nobody leads.
const LEADERS_MAX: usize = 3;

/// What was found, without the figures behind it: how many of each verdict, the largest
/// differences, who leads.
pub(crate) fn overview(record: &StudyRecord, style: &Style) -> Document {
    let largest = largest(record).into_iter();
    let largest = largest.map(|comparison| sentence(record, comparison, style));
    let head = std::iter::once(counts(record)).chain(lacking(record));
    head.chain(largest).chain(leaders(record)).collect()
}

/// All verdicts at a glance: a grid, and a page's matrix, whose cells lead to their details.
pub(crate) fn at_a_glance(record: &StudyRecord, style: &Style) -> Document {
    let grid = DocumentPart::Verbatim(verdict_grid(record, style));
    let mut out = Document::default();
    out.picture(matrix_html(record), Document(vec![grid]));
    out
}

pub(crate) const OVERVIEW_REST: &str = "--full prints all figures and remedies, --html FILE draws \
                                        them, --explain-terms defines words.";

fn verdict_grid(record: &StudyRecord, style: &Style) -> String {
    let rows = grid::rows(record);
    let columns: Vec<Column> = grid::columns(record)
        .into_iter()
        .map(|column| Column::new(record, column, &rows, style))
        .collect();
    let names: Vec<String> = rows.iter().map(|row| row_name(*row)).collect();
    let name_width = name_width(&names, &columns, style.columns());
    let lines: Vec<Vec<String>> = names
        .iter()
        .map(|name| label_lines(name, name_width))
        .collect();
    let mut out = String::new();
    for together in abreast(&columns, style.columns() - name_width) {
        out.push_str(&table(&lines, name_width, together, style));
    }
    let legend = format!("ratio, 95{GLUE}% interval; {}", grid::legend(record, style));
    out + &style.note(&legend)
}

/// One column: lines of its load and of its metric, and a cell for each row.
struct Column {
    headers: [Vec<String>; 2],
    cells: Vec<Cell>,
    width: usize,
}

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
        let cells: Vec<Cell> = rows
            .iter()
            .map(|row| match grid::cell(record, *row, column) {
                GridCell::One => Cell::plain("1"),
                GridCell::Found(comparison) => Cell::of(comparison, style),
                GridCell::Instead(comparison) => Cell::instead(comparison, style),
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
    fn instead(comparison: &Comparison, style: &Style) -> Cell {
        let cell = Cell::of(comparison, style);
        Cell {
            text: cell.text + grid::INSTEAD,
            ..cell
        }
    }

    fn of(comparison: &Comparison, style: &Style) -> Cell {
        let mark = style.mark(comparison.verdict);
        let Some(figures) = grid::cell_figures(comparison, style) else {
            return Cell::tinted(
                &format!("{mark}{}", grid::too_few(comparison)),
                comparison.verdict,
            );
        };
        let figures = figures.join(" ");
        let (figures, open) = (figures.trim_end(), grid::open_bound(comparison));
        let fragile = if comparison.fragile { "~" } else { "" };
        let few = grid::too_few(comparison);
        Cell::tinted(
            &format!("{figures} {fragile}{mark}{open}{few}"),
            comparison.verdict,
        )
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
            let text = if line < of_loads {
                at.and_then(|at| load.get(at))
            } else {
                metric.get(line - of_loads)
            };
            let text = text.map_or("", String::as_str);
            out.push_str(&format!("{GAP}{text:>width$}"));
        }
        out.push('\n');
    }
    out
}

fn letters(text: &str) -> usize {
    text.chars().count()
}

const GAP: &str = "  ";
/// A header is no wider than most cells.
const HEADER_MAX: usize = 16;
