//! The verdicts as one picture: a self-contained SVG file for a README or a slide. It reuses the
//! parts of the page's table of ratios.
//!
//! The picture requests nothing and runs nothing. It has a fixed width in its own units, and
//! follows the viewer's choice of light or dark.

use abx_verdict::{StudyRecord, Summary, Verdict};

use crate::document::Table;
use crate::html::charts::{axis, bar_markers, plain, px};
use crate::html::markup::{Element, Markup, element};
use crate::sections::compared::ratios::{RatioRow, interval, legend, picture_of, primary, scale};
use crate::sections::compared::verdicts::title;
use crate::sections::measured::figures::{RowName, figures_table};
use crate::sections::measured::held::held_table;
use crate::words::labels::label_lines;
use crate::words::load::{alone, offer};
use crate::words::metrics::rate_name;
use crate::words::style::{LINE, mark};
use crate::words::units::{count, plural, seconds};
use crate::words::verdict::{TOO_FEW_BLOCKS, class, sentence, word, word_of};
use crate::words::wrap::{clean_name, wrap};

/// The verdicts of a study as an SVG picture: sentences, the intervals with 1.00 and the margin,
/// and the figures of each subject.
///
/// A study of more than four comparisons has counts of verdicts instead of sentences. A study of
/// more than two loads has no figures. The HTML page has both.
#[must_use]
pub fn study_svg(record: &StudyRecord) -> String {
    let mut canvas = Canvas::new();
    headline(record, &mut canvas);
    for (caption, rows) in primary(record) {
        ratios(&caption, &rows, &mut canvas);
    }
    figures(record, &mut canvas);
    notes(record, &mut canvas);
    // XML forbids these code points, HTML does not.
    canvas
        .svg(&title(record), &description(record))
        .replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

struct Canvas {
    body: Markup,
    /// The top of the next part, in pixels.
    y: f64,
}

impl Canvas {
    fn new() -> Canvas {
        Canvas {
            body: Markup::new(),
            y: EDGE,
        }
    }

    /// Lines of text, each at most as long as the picture is wide.
    fn paragraph(&mut self, class: &str, indent: f64, text: &str) {
        let (height, letters) = match class {
            "verdict" => (23.0, 94),
            _ => (17.0, 126),
        };
        for line in wrap(text, "", "", letters).lines() {
            self.y += height;
            self.text(class, EDGE + indent, self.y - 5.0, line);
        }
    }

    fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let line = element("text").class(class);
        self.body
            .push(line.with("x", px(x)).with("y", px(y)).text(text));
    }

    fn rule(&mut self) {
        let line = element("line").class("rule").with("x1", px(EDGE));
        let line = line.with("x2", px(WIDTH - EDGE)).with("y1", px(self.y));
        self.body.push(line.with("y2", px(self.y)));
    }

    fn place(&mut self, picture: Element, y: f64) {
        let picture = picture.with("x", px(PICTURE_X)).with("y", px(y));
        self.body
            .push(picture.with("width", px(WIDTH - PICTURE_X - PICTURE_EDGE)));
    }

    fn svg(self, title: &str, description: &str) -> String {
        let height = px(self.y + EDGE);
        let ground = element("rect").class("ground").with("width", px(WIDTH));
        let svg = element("svg")
            .with("xmlns", "http://www.w3.org/2000/svg")
            .with("width", px(WIDTH))
            .with("height", &height)
            .with("viewBox", format!("0 0 {} {height}", px(WIDTH)))
            .with("role", "img")
            .with("aria-labelledby", "title said")
            .add(element("title").with("id", "title").text(title))
            .add(element("desc").with("id", "said").text(description))
            .add(element("style").add(Markup::verbatim(STYLE)))
            .add(bar_markers().with("width", 0).with("height", 0))
            .add(ground.with("height", &height).with("rx", 8))
            .add(self.body);
        Markup::from(svg).into_string() + "\n"
    }
}

/// A sentence for each comparison, or counts of verdicts if they are many.
fn headline(record: &StudyRecord, canvas: &mut Canvas) {
    let comparisons: Vec<_> = record.conclusions.primary().collect();
    if comparisons.is_empty() {
        canvas.paragraph("verdict", 0.0, "Nothing was compared.");
        return;
    }
    if comparisons.len() > SENTENCES_MAX {
        canvas.paragraph("verdict", 0.0, &title(record));
        canvas.paragraph("note", 0.0, &counts(record));
        return;
    }
    for comparison in comparisons {
        let y = canvas.y + 18.0;
        let class = format!("sign {}", class(comparison.verdict));
        canvas.text(&class, EDGE, y, mark(comparison.verdict));
        canvas.paragraph("verdict", SIGN, &sentence(record, comparison, &LINE));
    }
}

fn counts(record: &StudyRecord) -> String {
    const ALL: [Verdict; 7] = [
        Verdict::Faster,
        Verdict::Slower,
        Verdict::Less,
        Verdict::More,
        Verdict::Equivalent,
        Verdict::Inconclusive,
        Verdict::Invalid,
    ];
    let words = ALL.into_iter().map(word).chain([TOO_FEW_BLOCKS]);
    let text = |word| {
        let primary = record.conclusions.primary();
        let times = primary
            .filter(|comparison| word_of(comparison) == word)
            .count();
        (times > 0).then(|| format!("{} {word}", count(times as u64)))
    };
    let texts: Vec<String> = words.filter_map(text).collect();
    let total = plural(record.conclusions.primary().count() as u64, "comparison");
    format!("{total}: {}.", texts.join(", "))
}

fn ratios(caption: &str, rows: &[RatioRow], canvas: &mut Canvas) {
    let Some(scale) = scale(rows) else {
        return;
    };
    let has_several_loads = rows.iter().any(|row| row.of != rows[0].of);
    canvas.y += GAP;
    canvas.paragraph("caption", 0.0, &format!("{caption}: ratio, log scale"));
    canvas.y += 6.0;
    for row in rows {
        let y = canvas.y;
        let sign = format!("sign {}", class(row.comparison.verdict));
        canvas.text(&sign, EDGE, y + 16.0, mark(row.comparison.verdict));
        let at = [EDGE + SIGN, y + 16.0];
        let mut below = names("name", at, (&row.pair(), NAME_LETTERS), canvas);
        let mut message = format!("{}, {}", row.verdict(), interval(row));
        if has_several_loads {
            message = format!("{message}, {}", clean_name(&row.comparison.load));
        }
        let at = [EDGE + SIGN, y + 32.0 + below];
        below += names("note", at, (&message, ROW_LETTERS), canvas);
        canvas.place(picture_of(row, scale, (String::new(), false)), y + 4.0);
        canvas.y += ROW + below;
    }
    canvas.place(axis(scale, plain), canvas.y);
    canvas.y += 26.0;
}

/// The figures of each subject under each load, if loads are few.
fn figures(record: &StudyRecord, canvas: &mut Canvas) {
    if alone(record).count() > TABLES_MAX {
        return;
    }
    for load in alone(record) {
        let summaries: Vec<&Summary> = record.conclusions.under(&load.name).collect();
        if summaries.iter().all(|summary| summary.sent == 0) && held_table(&summaries).is_none() {
            continue;
        }
        canvas.y += GAP;
        canvas.paragraph("caption", 0.0, &offer(record, load));
        match held_table(&summaries) {
            Some(held) => rows(&held, canvas),
            None => {
                let unit = rate_name(load.settings.exchange.shape);
                let table = figures_table(&summaries, RowName::Subject, unit, &LINE);
                rows(&table.narrow(), canvas);
            }
        }
    }
}

/// A table: names at the left, figures at the right of their columns.
fn rows(table: &Table, canvas: &mut Canvas) {
    let column = (WIDTH - 2.0 * EDGE - NAMES) / (table.headers.len() - 1) as f64;
    let mut line = |class: &str, cells: &[String]| {
        canvas.y += 20.0;
        let [name, figures @ ..] = cells else {
            return;
        };
        let at = [EDGE, canvas.y - 4.0];
        let below = names(class, at, (name, NAME_LETTERS), canvas);
        for (index, figure) in figures.iter().enumerate() {
            let x = EDGE + NAMES + column * (index + 1) as f64;
            canvas.text(&format!("{class} figure"), x, canvas.y - 4.0, figure);
        }
        canvas.y += below;
    };
    line("head", &table.headers);
    for cells in &table.rows {
        line("cell", cells);
    }
    canvas.y += 4.0;
    canvas.rule();
}

/// Draws a name on lines of at most this many letters. Returns the distance from the first line
/// to the last.
fn names(class: &str, at: [f64; 2], (name, letters): (&str, usize), canvas: &mut Canvas) -> f64 {
    let [x, y] = at;
    let lines = label_lines(name, letters);
    for (number, line) in lines.iter().enumerate() {
        let indent = if number == 0 { 0.0 } else { INDENT };
        let y = y + LINE_HEIGHT * number as f64;
        canvas.text(class, x + indent, y, line.trim_start());
    }
    LINE_HEIGHT * (lines.len() - 1) as f64
}

fn notes(record: &StudyRecord, canvas: &mut Canvas) {
    canvas.y += 10.0;
    if record.conclusions.primary().next().is_some() {
        canvas.paragraph("note", 0.0, &legend(record));
    }
    let machine = &record.measured.machine;
    let mut parts = vec![format!(
        "{} in {}",
        plural(record.measured.complete_blocks().count() as u64, "block"),
        seconds(record.measured.elapsed_s)
    )];
    parts.push(plural(machine.cpus as u64, "processor"));
    parts.extend(machine.cpu_model.as_deref().map(clean_name));
    parts.push(format!("abx {}", clean_name(&record.measured.abx_version)));
    canvas.paragraph("note", 0.0, &format!("Measured: {}.", parts.join(", ")));
}

fn description(record: &StudyRecord) -> String {
    let sentences = record
        .conclusions
        .primary()
        .map(|comparison| sentence(record, comparison, &LINE));
    sentences.collect::<Vec<_>>().join(" ")
}

const SENTENCES_MAX: usize = 4;
const TABLES_MAX: usize = 2;
/// The picture's width in pixels, as much as a README shows.
const WIDTH: f64 = 880.0;
const EDGE: f64 = 28.0;
const GAP: f64 = 14.0;
const SIGN: f64 = 26.0;
const ROW: f64 = 44.0;
/// The left end of intervals, and the room at their right for half a tick's text.
const PICTURE_X: f64 = 350.0;
const PICTURE_EDGE: f64 = 44.0;
const NAMES: f64 = 170.0;
const NAME_LETTERS: usize = 30;
const ROW_LETTERS: usize = 45;
/// The distance and the indent of a name's further lines.
const LINE_HEIGHT: f64 = 16.0;
const INDENT: f64 = 8.0;

const STYLE: &str = include_str!("picture.css");
