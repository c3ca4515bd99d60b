//! Ratios with their intervals on one log scale: a table whose last column is
//! the picture.

use abx_evidence::{Comparison, Metric, Role, StudyRecord};

use super::markup::{Element, Markup, element};
use super::plot::{STRETCHED, horizontal, percent as share, px, stretched, vertical};
use super::scale::{Scale, plain};
use super::verdicts::sign;
use crate::metrics::{capitalized, metric_under};
use crate::units::{percent, ratios as as_texts};
use crate::verdict::{limit, name, place, word};

/// A table for each metric that the study was made for, and one for each load
/// of everything else that was compared.
pub(crate) fn ratios(record: &StudyRecord) -> Markup {
    let mut out = Markup::new();
    for metric in Metric::ALL {
        let these = || record.primary().filter(|one| one.metric == metric);
        let load = these().next().map_or("", |one| &one.load);
        let caption = capitalized(metric_under(record, load, metric));
        let rows: Vec<Row> = these().map(|one| Row::of_load(record, one)).collect();
        out.push(table(&caption, "load", &rows));
    }
    if !out.is_empty() {
        let note = format!(
            "Diamond: the ratio; bar: its interval; an arrow: or further. Dots below: single \
             blocks. Hatched: differences of up to {}, which do not matter.",
            percent(record.settings.margin)
        );
        out.push(element("p").class("note").text(&note));
    }
    out.push(beside(record));
    out
}

/// What was compared besides: all metrics of a load in one table.
fn beside(record: &StudyRecord) -> Markup {
    let explored = |load: &str| {
        let all = record.comparisons.iter();
        let these = all.filter(|one| one.role == Role::Exploratory && one.load == load);
        these
            .map(|one| {
                Row::of(
                    metric_under(record, load, one.metric).to_owned(),
                    record,
                    one,
                )
            })
            .collect::<Vec<Row>>()
    };
    let names = record.loads.iter().map(|load| load.name.as_str());
    let tables: Markup = names
        .chain([""])
        .map(|load| {
            let caption = match load {
                "" => "Starts".to_owned(),
                _ => load_text(record, load),
            };
            table(&caption, "metric", &explored(load))
        })
        .collect();
    if tables.is_empty() {
        return tables;
    }
    let note = "Found by looking at many figures at once, each with its own interval: of so many \
                one may well be off.";
    let mut out = Markup::from(element("h3").text("Beside that"));
    out.push(element("p").class("note").text(note));
    out.push(tables);
    out
}

/// Every pair of subjects under one load, as a ranking judged them.
pub(crate) fn pairs(record: &StudyRecord, caption: &str, all: &[Comparison]) -> Markup {
    let rows: Vec<Row> = all.iter().map(|one| Row::of_load(record, one)).collect();
    table(caption, "load", &rows)
}

/// One comparison with everything that its picture shows.
pub(crate) struct Row<'a> {
    one: &'a Comparison,
    /// What it is of: a load or a metric.
    of: String,
    /// Between these differences do not matter.
    band: [f64; 2],
    bounds: Option<[f64; 3]>,
}

impl<'a> Row<'a> {
    fn of_load(record: &StudyRecord, one: &'a Comparison) -> Row<'a> {
        Row::of(load_text(record, &one.load), record, one)
    }

    /// One comparison of a record, and what to call what it is of.
    pub(crate) fn of(of: String, record: &StudyRecord, one: &'a Comparison) -> Row<'a> {
        let margin = record.settings.margin;
        let bounds = one.ratio.zip(one.low).zip(one.high);
        let bounds = bounds.map(|((ratio, low), high)| [ratio, low, high]);
        Row {
            one,
            of,
            band: [1.0 / (1.0 + margin), 1.0 + margin],
            bounds: bounds.filter(|all| all.iter().all(|value| is_drawable(*value))),
        }
    }

    /// The ratio of each block that has one.
    fn blocks(&self) -> impl Iterator<Item = f64> {
        let known = self.one.per_block.iter().flatten().copied();
        known.filter(|ratio| is_drawable(*ratio))
    }

    /// Its subjects.
    fn pair(&self) -> String {
        format!("{} ÷ {}", name(&self.one.subject), name(&self.one.baseline))
    }

    /// The subject, and the baseline where rows have several.
    fn who(&self, baseline: Option<&str>) -> String {
        match baseline {
            Some(_) => name(&self.one.subject),
            None => self.pair(),
        }
    }

    /// What it says, in a few words.
    fn verdict(&self) -> String {
        let fragile = if self.one.fragile { ", fragile" } else { "" };
        format!("{}{fragile}", word(self.one.verdict))
    }
}

/// A load in a table: its name where there are several, and its connections.
pub(crate) fn load_text(record: &StudyRecord, load: &str) -> String {
    let text = place(record, load);
    match text.split_once(' ') {
        Some(("at" | "under", rest)) => rest.to_owned(),
        _ => text,
    }
}

/// Whether a ratio has a place on a log scale.
pub(crate) fn is_drawable(ratio: f64) -> bool {
    ratio.is_finite() && ratio > 0.0
}

/// The table of these rows, whose first column names what they are of; nothing
/// without any.
pub(crate) fn table(caption: &str, of: &str, rows: &[Row]) -> Markup {
    let Some(scale) = scale(rows) else {
        return Markup::new();
    };
    let mut baselines: Vec<&str> = rows.iter().map(|row| row.one.baseline.as_str()).collect();
    baselines.dedup();
    let baseline = Some(baselines[0]).filter(|_| baselines.len() == 1);
    let caption = match baseline {
        Some(baseline) => format!("{caption}, as a multiple of {}'s", name(baseline)),
        None => caption.to_owned(),
    };
    let line = || element("tr").with("role", "row");
    let header = |text: &str| {
        let cell = element("th").with("scope", "col");
        cell.with("role", "columnheader").text(text)
    };
    let heads = [
        of,
        "subject",
        "verdict",
        "ratio (interval)",
        "ratio, log scale",
    ]
    .map(header);
    let name_cell = |class: &str, text: &str| {
        let cell = element("th").with("scope", "row").with("role", "rowheader");
        cell.class(class).add(element("bdi").text(text))
    };
    let cell = |class: &str| element("td").with("role", "cell").class(class);
    let row = |row: &Row| {
        let verdict = cell("verdict").add(sign(row.one.verdict));
        line()
            .add(name_cell("of", &row.of))
            .add(name_cell("who", &row.who(baseline)))
            .add(verdict.text(&row.verdict()))
            .add(cell("ratio").text(&interval(row)))
            .add(cell("picture").add(picture_of(row, scale)))
    };
    let gap = cell("gap").with("colspan", 4);
    let foot = line().add(gap).add(cell("picture").add(axis_of(scale)));
    let group = |tag| element(tag).with("role", "rowgroup");
    let table = element("table")
        .class("ratios")
        .with("role", "table")
        .add(element("caption").text(&caption))
        .add(group("thead").add(line().add_all(heads)))
        .add(group("tbody").add_all(rows.iter().map(row)))
        .add(group("tfoot").add(foot));
    element("figure").add(table).into()
}

/// A scale that holds every block and every ratio. An interval that is far wider
/// than its blocks runs out of the picture, or nothing else would be seen.
fn scale(rows: &[Row]) -> Option<Scale> {
    let ratios = rows
        .iter()
        .filter_map(|row| row.bounds.map(|[ratio, ..]| ratio));
    let inner: Vec<f64> = ratios
        .chain(rows.iter().flat_map(Row::blocks))
        .chain(rows.iter().flat_map(|row| row.band))
        .collect();
    let lowest = inner.iter().copied().fold(f64::INFINITY, f64::min) / BEYOND;
    let highest = inner.iter().copied().fold(0.0, f64::max) * BEYOND;
    let ends = rows.iter().flat_map(|row| row.bounds.into_iter().flatten());
    let ends = ends.map(|end| end.clamp(lowest, highest));
    Scale::log_around(inner.iter().copied().chain(ends))
}

/// The ratio and its interval, as the verdict's sentence has them.
fn interval(row: &Row) -> String {
    row.bounds.map_or_else(
        || "no interval".to_owned(),
        |bounds| {
            let [ratio, low, high] = as_texts(bounds);
            let sign = match limit(row.one.verdict, row.one.at_least, row.one.ratio) {
                "" => "",
                "at most " => "≤ ",
                _ => "≥ ",
            };
            format!("{sign}{ratio} ({low} to {high})")
        },
    )
}

fn picture_of(row: &Row, scale: Scale) -> Element {
    let [left, right] = row.band.map(|end| scale.place(end));
    let shade = element("rect")
        .class("margin")
        .with("x", share(left))
        .with("y", 0);
    let shade = shade
        .with("width", share(right - left))
        .with("height", px(HEIGHT));
    let mut picture = element("svg")
        .class("bar")
        .with("height", px(HEIGHT))
        .with("role", "img")
        .with(
            "aria-label",
            format!("{}, {}: {}", row.pair(), row.of, interval(row)),
        )
        .add(shade)
        .add(vertical(scale.place(1.0), [0.0, HEIGHT]).class("one"));
    if row.blocks().next().is_some() {
        let dot = |ratio: f64| format!("M{} {}h0", px(scale.place(ratio) * STRETCHED), DOTS_AT);
        let dots: String = row.blocks().map(dot).collect();
        let dots = element("path").class("dots").with("d", dots);
        picture = picture.add(stretched(HEIGHT).add(dots));
    }
    let Some([ratio, low, high]) = row.bounds else {
        return picture;
    };
    let places = [ratio, low, high].map(|value| scale.place(value));
    let [ratio_at, low_at, high_at] = places;
    let bar = element("line").class("interval").with("x1", share(low_at));
    let bar = bar
        .with("x2", share(high_at))
        .with("y1", BAR_AT)
        .with("y2", BAR_AT);
    let end = |at: f64, is_open: bool, sign: &str| match is_open {
        true => element("use")
            .with("href", sign)
            .with("x", share(at))
            .with("y", BAR_AT),
        false => vertical(at, [BAR_AT - 5.0, BAR_AT + 5.0]).class("interval"),
    };
    let is_open = row.one.at_least;
    let tip = format!(
        "{}, {}: {}, {}",
        row.pair(),
        row.of,
        interval(row),
        row.verdict()
    );
    let mark = element("use")
        .class("pt")
        .with("href", "#m3")
        .with("x", share(ratio_at));
    picture
        .add(bar)
        .add(end(
            low_at,
            !scale.holds(low) || is_open && ratio < 1.0,
            "#left",
        ))
        .add(end(
            high_at,
            !scale.holds(high) || is_open && ratio >= 1.0,
            "#right",
        ))
        .add(mark.with("y", BAR_AT).with("aria-label", tip))
}

fn axis_of(scale: Scale) -> Element {
    let ticks = scale.ticks(TICKS);
    let is_dense = ticks.len() > 4;
    let ticks = ticks.iter().enumerate().flat_map(|(index, tick)| {
        let at = scale.place(*tick);
        let minor = if is_dense && index % 2 == 1 {
            " minor"
        } else {
            ""
        };
        let text = element("text").class(format!("tick x{minor}"));
        let text = text.with("x", share(at)).with("y", 20).text(&plain(*tick));
        [vertical(at, [0.0, 5.0]).class(format!("axis{minor}")), text]
    });
    element("svg")
        .class("bar")
        .with("height", 26)
        .with("aria-hidden", "true")
        .add(horizontal("0".to_owned()).class("axis"))
        .add_all(ticks)
}

/// How far an interval may reach beyond all blocks, as a factor.
const BEYOND: f64 = 3.0;
/// The height of a row's picture, and where in it things are.
const HEIGHT: f64 = 34.0;
const BAR_AT: f64 = 13.0;
const DOTS_AT: f64 = 27.0;
const TICKS: usize = 7;
