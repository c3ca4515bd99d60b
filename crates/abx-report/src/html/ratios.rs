//! Ratios with their intervals on one log scale: a table whose last column is
//! the picture.

use abx_evidence::{Comparison, Metric, StudyRecord, log_ratios};

use super::markup::{Element, Markup, element};
use super::plot::{STRETCHED, horizontal, percent as share, px, stretched, vertical};
use super::scale::{Scale, plain};
use super::verdicts::sign;
use crate::units::{percent, ratios as as_texts};
use crate::verdict::{name, place, word};

/// A table for each metric that was compared.
pub(crate) fn ratios(record: &StudyRecord) -> Markup {
    let mut metrics: Vec<Metric> = Vec::new();
    for one in &record.comparisons {
        if !metrics.contains(&one.metric) {
            metrics.push(one.metric);
        }
    }
    let table = |metric: &Metric| {
        let all = record.comparisons.iter();
        let rows: Vec<Row> = all
            .filter(|one| one.metric == *metric)
            .map(|one| Row::of(record, one))
            .collect();
        table(record, *metric, &rows)
    };
    metrics.iter().filter_map(table).collect()
}

/// One comparison with everything that its picture shows.
struct Row<'a> {
    one: &'a Comparison,
    load: String,
    bounds: Option<[f64; 3]>,
    /// The ratio of each block.
    blocks: Vec<f64>,
}

impl<'a> Row<'a> {
    fn of(record: &'a StudyRecord, one: &'a Comparison) -> Row<'a> {
        let bounds = one.ratio.zip(one.low).zip(one.high);
        let bounds = bounds.map(|((ratio, low), high)| [ratio, low, high]);
        Row {
            one,
            load: place(record, &one.load),
            bounds: bounds.filter(|all| all.iter().all(|value| is_drawable(*value))),
            blocks: block_ratios(record, one),
        }
    }

    /// Its subjects.
    fn pair(&self) -> String {
        format!("{} ÷ {}", name(&self.one.subject), name(&self.one.baseline))
    }
}

/// The ratio of each block of one comparison; those without one are left out.
pub(crate) fn block_ratios(record: &StudyRecord, one: &Comparison) -> Vec<f64> {
    let load = record.loads.iter().find(|load| load.name == one.load);
    let logs = load.map(|load| log_ratios(record, load, &one.subject, &one.baseline));
    let ratios = logs.into_iter().flatten().map(f64::exp);
    ratios.filter(|ratio| is_drawable(*ratio)).collect()
}

fn is_drawable(ratio: f64) -> bool {
    ratio.is_finite() && ratio > 0.0
}

/// A metric in words: that of the record.
pub(crate) fn metric_name(metric: Metric) -> String {
    let text = serde_json::to_value(metric).expect("a metric is a string");
    text.as_str().unwrap_or_default().replace('_', " ")
}

fn table(record: &StudyRecord, metric: Metric, rows: &[Row]) -> Option<Element> {
    let margin = record.settings.margin;
    let values = rows.iter().flat_map(|row| {
        row.bounds
            .into_iter()
            .flatten()
            .chain(row.blocks.iter().copied())
    });
    let scale = Scale::log_around(values.chain([1.0, 1.0 + margin, 1.0 / (1.0 + margin)]))?;
    let header = |text: &str| {
        let cell = element("th")
            .with("scope", "col")
            .with("role", "columnheader");
        cell.text(text)
    };
    let metric = metric_name(metric);
    let heads = ["load", "subjects", "verdict", "ratio (interval)"].map(header);
    let picture = header(&format!("ratio of {metric}, log scale"));
    let head = element("tr")
        .with("role", "row")
        .add_all(heads)
        .add(picture);
    let row = |row: &Row| {
        let cell = |class: &str| element("td").with("role", "cell").class(class);
        let pair = element("th").with("scope", "row").with("role", "rowheader");
        element("tr")
            .with("role", "row")
            .add(cell("load").text(&row.load))
            .add(pair.add(element("bdi").text(&row.pair())))
            .add(
                cell("verdict")
                    .add(sign(row.one.verdict))
                    .text(word(row.one.verdict)),
            )
            .add(cell("ratio").text(&interval(row)))
            .add(cell("picture").add(picture_of(row, scale, margin)))
    };
    let axis = element("td").with("role", "cell").class("picture");
    let gap = element("td")
        .with("role", "cell")
        .with("colspan", 4)
        .class("gap");
    let foot = element("tr")
        .with("role", "row")
        .add(gap)
        .add(axis.add(axis_of(scale)));
    let group = |tag| element(tag).with("role", "rowgroup");
    let caption = format!("{metric}, subject ÷ baseline");
    let table = element("table")
        .class("ratios")
        .with("role", "table")
        .add(element("caption").text(&capital(&caption)))
        .add(group("thead").add(head))
        .add(group("tbody").add_all(rows.iter().map(row)))
        .add(group("tfoot").add(foot));
    let note = format!(
        "Diamond: the ratio; bar: its interval; an arrow: or further. Dots below: single blocks. \
         Hatched: differences of up to {}, which do not matter.",
        percent(margin)
    );
    Some(
        element("figure")
            .add(table)
            .add(element("figcaption").text(&note)),
    )
}

/// The ratio and its interval, as the verdict's sentence has them.
fn interval(row: &Row) -> String {
    row.bounds.map_or_else(
        || "no interval".to_owned(),
        |bounds| {
            let [ratio, low, high] = as_texts(bounds);
            let limit = match row.one.at_least {
                true if bounds[0] >= 1.0 => "≥ ",
                true => "≤ ",
                false => "",
            };
            format!("{limit}{ratio} ({low} to {high})")
        },
    )
}

fn picture_of(row: &Row, scale: Scale, margin: f64) -> Element {
    let [left, right] = [1.0 / (1.0 + margin), 1.0 + margin].map(|end| scale.place(end));
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
            format!("{}, {}: {}", row.pair(), row.load, interval(row)),
        )
        .add(shade)
        .add(vertical(scale.place(1.0), [0.0, HEIGHT]).class("one"));
    if !row.blocks.is_empty() {
        let dot = |ratio: &f64| format!("M{} {}h0", px(scale.place(*ratio) * STRETCHED), DOTS_AT);
        let dots: String = row.blocks.iter().map(dot).collect();
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
        row.load,
        interval(row),
        word(row.one.verdict)
    );
    let mark = element("use")
        .class("pt")
        .with("href", "#m3")
        .with("x", share(ratio_at));
    picture
        .add(bar)
        .add(end(low_at, is_open && ratio < 1.0, "#left"))
        .add(end(high_at, is_open && ratio >= 1.0, "#right"))
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

/// The same with its first letter large.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// The height of a row's picture, and where in it things are.
const HEIGHT: f64 = 34.0;
const BAR_AT: f64 = 13.0;
const DOTS_AT: f64 = 27.0;
const TICKS: usize = 7;
