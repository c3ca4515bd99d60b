//! Ratios: the primary comparisons as bars and tables, and the exploratory ones, such as costs,
//! response times and starts.

use abx_verdict::{Comparison, Metric, Role, StudyRecord};

use crate::document::{Document, DocumentPart, Table};
use crate::html::charts::{
    Backdrop, Bar, BarEnd, Scale, axis, bar_table, cell, name_cell, picture_cell, plain,
};
use crate::html::markup::{Element, Markup, element, note};
use crate::html::sign::sign;
use crate::sections::compared::findings::{ratio_id, reasons};
use crate::sections::remarks::may_be_chance;
use crate::words::labels::{label_lines, label_width};
use crate::words::metrics::{capitalized, metric_of, metric_under};
use crate::words::ratio::{ShownRatio, ratio_cells};
use crate::words::ratio_scale::RatioScale;
use crate::words::style::{LINE, ReportExtent, Style, mark};
use crate::words::units::{NO_INTERVAL, drawable, figure, is_drawable, percent};
use crate::words::verdict::{load_text, name, place, who, word_of};
use crate::words::wrap::{clean_name, shorten};

/// The exploratory comparisons: a table for each load, on a page with bars, and one for starts
/// unless there is only one load; nothing without such comparisons.
pub(crate) fn also_compared(record: &StudyRecord, extent: ReportExtent) -> Document {
    let exploratory: Vec<&Comparison> = of_role(record, Role::Exploratory).collect();
    let mut out = Document::default();
    let Some(first) = exploratory.first() else {
        return out;
    };
    let baseline = record.measured.only_baseline().map(name);
    let baseline = baseline.unwrap_or_else(|| "the baseline of each".to_owned());
    let chance = match extent {
        ReportExtent::Full => "; about 1 in 20 misses the true ratio by chance",
        _ => "",
    };
    let confidence = percent(first.confidence);
    out.paragraph(format!(
        "Also compared, relative to {baseline} ({confidence} intervals{chance}):"
    ));
    for (heading, loads) in headings(record) {
        let comparisons = exploratory.iter().copied();
        let comparisons =
            comparisons.filter(|comparison| loads.contains(&comparison.load.as_str()));
        let comparisons: Vec<&Comparison> = comparisons.collect();
        if comparisons.is_empty() {
            continue;
        }
        let caption = heading.as_deref().unwrap_or("Also compared").to_owned();
        if let Some(heading) = heading {
            out.heading(format!("{heading}:"));
        }
        let rows = comparisons
            .iter()
            .map(|comparison| RatioRow::of(metric_of(record, comparison), record, comparison));
        let page = table(&caption, "metric", &rows.collect::<Vec<RatioRow>>());
        let tables = tables_of(record, &comparisons).into_iter();
        out.picture(page, Document::joined(tables.map(Document::from)));
    }
    out
}

fn of_role(record: &StudyRecord, role: Role) -> impl Iterator<Item = &Comparison> {
    let comparisons = record.conclusions.comparisons.iter();
    comparisons.filter(move |comparison| comparison.role == role)
}

/// One table. If rows need the names of pairs, which leave no room for the metric, a table per
/// metric.
fn tables_of(record: &StudyRecord, comparisons: &[&Comparison]) -> Vec<Table> {
    let table = |of: &str, rows: Vec<[String; 4]>| {
        let headers = [of, "ratio", "interval", "verdict"].map(str::to_owned);
        Table::new(headers, rows)
    };
    let metric = |comparison: &Comparison| metric_of(record, comparison);
    let is_only_pair = record.measured.subjects.len() == 2;
    if is_only_pair || record.measured.only_baseline().is_some() {
        let rows = comparisons.iter().map(|comparison| {
            let metric = metric(comparison);
            if is_only_pair {
                row(metric, comparison)
            } else {
                row(format!("{}: {metric}", who(record, comparison)), comparison)
            }
        });
        return vec![table("metric", rows.collect())];
    }
    let mut metrics: Vec<String> = Vec::new();
    for text in comparisons.iter().map(|comparison| metric(comparison)) {
        if !metrics.contains(&text) {
            metrics.push(text);
        }
    }
    let of_metric = |name: &String| {
        let rows = comparisons.iter();
        let rows = rows.filter(|comparison| metric(comparison) == *name);
        let rows = rows.map(|comparison| row(who(record, comparison), comparison));
        table(&capitalized(name), rows.collect())
    };
    metrics.iter().map(of_metric).collect()
}

/// The heading of each table, and the loads of its comparisons. Comparisons of starts have no
/// load.
fn headings(record: &StudyRecord) -> Vec<(Option<String>, Vec<&str>)> {
    if let [load] = &record.measured.loads[..] {
        return vec![(None, vec![&load.name, STARTS])];
    }
    let of_load = |load: &str| capitalized(&place(record, load));
    let loads = record.measured.loads.iter().map(|load| load.name.as_str());
    loads
        .map(|load| (Some(of_load(load)), vec![load]))
        .chain([(Some("Starts".to_owned()), vec![STARTS])])
        .collect()
}

const STARTS: &str = "";

fn row(name: String, comparison: &Comparison) -> [String; 4] {
    let [ratio, interval] = ratio_cells(comparison);
    let verdict = format!("{} {}", mark(comparison.verdict), verdict_text(comparison));
    [name, ratio, interval, verdict]
}

fn verdict_text(comparison: &Comparison) -> String {
    let fragile = if comparison.fragile { ", fragile" } else { "" };
    format!("{}{fragile}", word_of(comparison))
}

/// One bar for each primary comparison that has a ratio, with axis and legend for each metric;
/// nothing without ratios.
fn ratio_bars(record: &StudyRecord, style: &Style) -> Document {
    let bars = Metric::ALL.into_iter();
    let bars = bars.map(|metric| bars_of(record, metric, style));
    let bars = bars.filter(|bars| !bars.is_empty());
    Document::joined(bars.map(|bars| Document(vec![DocumentPart::Verbatim(bars)])))
}

fn bars_of(record: &StudyRecord, metric: Metric, style: &Style) -> String {
    let pairs: Vec<(&Comparison, [f64; 3])> = record
        .conclusions
        .primary()
        .filter(|comparison| comparison.metric == metric)
        .filter_map(|comparison| Some((comparison, drawable(comparison)?)))
        .collect();
    let Some((first, _)) = pairs.first() else {
        return String::new();
    };
    let labels: Vec<String> = pairs
        .iter()
        .map(|(comparison, _)| label(record, comparison))
        .collect();
    // Pairs stand below the name of their load, so their labels may take more.
    let is_grouped = is_grouped(record);
    let share = if is_grouped { 2 } else { 3 };
    let most = style.columns() / share;
    let label_width = label_width(labels.iter().map(String::as_str), most);
    let scale = RatioScale::of(
        pairs.iter().map(|(_, values)| *values),
        record.measured.settings.margin,
        style.columns() - label_width - 4,
    );
    let baseline = record.measured.only_baseline();
    let baseline = baseline.map(|name| shorten(&clean_name(name), 30));
    let baseline = baseline.unwrap_or_else(|| "the baseline of each".to_owned());
    let metric = capitalized(metric_under(record, &first.load, metric));
    let heading = format!("{metric} relative to {baseline}:");
    let mut out = style.paragraph(&heading);
    let mut load = "";
    for ((comparison, values), label) in pairs.iter().zip(&labels) {
        if is_grouped && load != comparison.load {
            load = &comparison.load;
            out.push_str(&format!("  {}:\n", clean_name(load)));
        }
        let lines = label_lines(label, label_width);
        let bar = scale.bar(*values, comparison.at_least);
        out.push_str(format!("  {:label_width$}  {bar}", lines[0]).trim_end());
        out.push('\n');
        for line in &lines[1..] {
            out.push_str(&format!("  {line}\n"));
        }
    }
    out.push_str(&format!("  {:label_width$}  {}\n", "", scale.axis()));
    let is_bound = pairs.iter().any(|(comparison, _)| comparison.at_least);
    let legend = format!(
        "● ratio, ┣━┫ interval ({} confidence), │ 1.00, ░ margin ({}){}; log scale",
        percent(first.confidence),
        percent(record.measured.settings.margin),
        if is_bound { ", ◀ ▶ or further" } else { "" },
    );
    out + &style.note(&legend)
}

/// Whether bars stand below the name of their load: bars of pairs under several loads do.
fn is_grouped(record: &StudyRecord) -> bool {
    record.measured.loads.len() > 1 && record.measured.only_baseline().is_none()
}

fn label(record: &StudyRecord, comparison: &Comparison) -> String {
    let subject = who(record, comparison);
    match record.measured.loads.len() {
        2.. if !is_grouped(record) => format!("{subject}, {}", clean_name(&comparison.load)),
        _ => subject,
    }
}

/// The primary comparisons: on a page a table for each metric, elsewhere bars.
pub(crate) fn ratios(record: &StudyRecord, style: &Style) -> Document {
    let tables = primary(record);
    let tables = tables
        .iter()
        .map(|(caption, rows)| table(caption, "load", rows));
    let tables: Markup = tables.collect();
    let mut out = Document::default();
    if !tables.is_empty() {
        let page = [tables, note(&legend(record)).into()];
        out.picture(
            page.into_iter().collect::<Markup>(),
            ratio_bars(record, style),
        );
    }
    out
}

/// The primary comparisons by metric, each with the metric's name.
pub(crate) fn primary(record: &StudyRecord) -> Vec<(String, Vec<RatioRow<'_>>)> {
    let of_metric = |metric: Metric| {
        let rows: Vec<RatioRow> = record
            .conclusions
            .primary()
            .filter(|comparison| comparison.metric == metric)
            .map(|comparison| RatioRow::of_load(record, comparison))
            .collect();
        let load = &rows.first()?.comparison.load;
        let caption = capitalized(metric_under(record, load, metric));
        Some((caption, rows))
    };
    Metric::ALL.into_iter().filter_map(of_metric).collect()
}

pub(crate) fn legend(record: &StudyRecord) -> String {
    format!(
        "Diamond: ratio; bar: its interval; arrow: or further. Dots below: single blocks. \
         Hatched: differences of up to {}, which do not matter.",
        percent(record.measured.settings.margin)
    )
}

pub(crate) fn pairs(record: &StudyRecord, caption: &str, comparisons: &[Comparison]) -> Markup {
    let rows: Vec<RatioRow> = comparisons
        .iter()
        .map(|comparison| RatioRow::of_load(record, comparison))
        .collect();
    table(caption, "load", &rows)
}

pub(crate) struct RatioRow<'a> {
    pub(crate) comparison: &'a Comparison,
    /// The text in the first column: a load or a metric.
    pub(crate) of: String,
    /// The margin around 1.
    band: [f64; 2],
    bounds: Option<[f64; 3]>,
    /// The id in the page; empty for a pair of a ranking.
    id: String,
    reasons: Option<Element>,
}

impl<'a> RatioRow<'a> {
    fn of_load(record: &StudyRecord, comparison: &'a Comparison) -> RatioRow<'a> {
        RatioRow::of(load_text(record, &comparison.load), record, comparison)
    }

    pub(crate) fn of(of: String, record: &StudyRecord, comparison: &'a Comparison) -> RatioRow<'a> {
        let margin = record.measured.settings.margin;
        RatioRow {
            comparison,
            of,
            band: [1.0 / (1.0 + margin), 1.0 + margin],
            bounds: drawable(comparison),
            id: ratio_id(record, comparison),
            reasons: reasons(record, comparison),
        }
    }

    fn blocks(&self) -> impl Iterator<Item = f64> {
        let ratios = self.comparison.per_block.iter().flatten().copied();
        ratios.filter(|ratio| is_drawable(*ratio))
    }

    pub(crate) fn pair(&self) -> String {
        let pair = [&self.comparison.subject, &self.comparison.baseline];
        let [subject, baseline] = pair.map(|text| name(text));
        format!("{subject} ÷ {baseline}")
    }

    /// The subject, with its baseline unless all rows share one.
    fn who(&self, shared_baseline: Option<&str>) -> String {
        match shared_baseline {
            Some(_) => name(&self.comparison.subject),
            None => self.pair(),
        }
    }

    pub(crate) fn verdict(&self) -> String {
        verdict_text(self.comparison)
    }
}

/// The table of these rows, with `of` as the header of the first column; nothing without any that
/// can be drawn.
pub(crate) fn table(caption: &str, of: &str, rows: &[RatioRow]) -> Markup {
    let Some(scale) = scale(rows) else {
        return Markup::new();
    };
    let first = &rows[0].comparison.baseline;
    let is_shared = rows.iter().all(|row| row.comparison.baseline == *first);
    let baseline = is_shared.then_some(first.as_str());
    let caption = match baseline {
        Some(baseline) => format!("{caption}, relative to {}", name(baseline)),
        None => caption.to_owned(),
    };
    let headers = [
        of,
        "subject",
        "verdict",
        "ratio (interval)",
        "ratio, log scale",
    ];
    // Rows with page ids are of one record, so they share its margin and can share a backdrop.
    let backdrop = match rows[0].id.as_str() {
        "" => String::new(),
        id => format!("behind-{id}"),
    };
    let row = |(number, row): (usize, &RatioRow)| {
        let verdict = cell("verdict", "").add(sign(row.comparison.verdict));
        let of = name_cell("of", &row.of);
        [
            match row.id.as_str() {
                "" => of,
                id => of.with("id", id),
            },
            name_cell("who", &row.who(baseline)),
            verdict.text(&row.verdict()).add_all(row.reasons.clone()),
            cell("ratio", &interval(row)),
            picture_cell(picture_of(
                row,
                scale,
                (backdrop.clone(), number > 0 && !backdrop.is_empty()),
            )),
        ]
    };
    let rows = rows.iter().enumerate().map(row);
    let table = bar_table(&caption, headers, rows, axis(scale, plain));
    element("figure").add(table).into()
}

/// A scale that holds every block and every ratio. An interval that is far wider than its blocks
/// runs out of the picture, because nothing else would be visible otherwise.
pub(crate) fn scale(rows: &[RatioRow]) -> Option<Scale> {
    let ratios = rows
        .iter()
        .filter_map(|row| row.bounds.map(|[ratio, ..]| ratio));
    let inner: Vec<f64> = ratios
        .chain(rows.iter().flat_map(RatioRow::blocks))
        .chain(rows.iter().flat_map(|row| row.band))
        .collect();
    let lowest = inner.iter().copied().fold(f64::INFINITY, f64::min) / BEYOND;
    let highest = inner.iter().copied().fold(0.0, f64::max) * BEYOND;
    let ends = rows.iter().flat_map(|row| row.bounds.into_iter().flatten());
    let ends = ends.map(|end| end.clamp(lowest, highest));
    Scale::log_around(inner.iter().copied().chain(ends))
}

pub(crate) fn interval(row: &RatioRow) -> String {
    row.bounds.map_or_else(
        || match row.comparison.plain_ratio() {
            Some(ratio) => format!("{}, {NO_INTERVAL}", figure(ratio)),
            None => "no interval".to_owned(),
        },
        |bounds| {
            let shown = ShownRatio::of(row.comparison.verdict, row.comparison.at_least, bounds);
            format!("{} ({})", shown.in_signs(&LINE), shown.detail)
        },
    )
}

/// The bar of a row, with the id of the backdrop that all bars of the table share, and whether a
/// row above draws it.
pub(crate) fn picture_of(row: &RatioRow, scale: Scale, (id, is_drawn): (String, bool)) -> Element {
    let is_open = row.comparison.at_least;
    Bar {
        backdrop: Backdrop {
            band: Some(row.band),
            rule: Some(1.0),
            id,
            is_drawn,
        },
        dots: row.blocks().collect(),
        point: row.bounds.map(|[ratio, ..]| ratio),
        ends: row.bounds.map(|[ratio, low, high]| {
            [
                BarEnd::new(low, is_open && ratio < 1.0),
                BarEnd::new(high, is_open && ratio >= 1.0),
            ]
        }),
    }
    .markup(scale)
}

/// Intervals may go beyond the ratios of blocks by this factor.
const BEYOND: f64 = 3.0;

/// Explains undecided comparisons with an interval that excludes 1.
const MAY_BE_CHANCE: &str = "undecided with an interval that excludes 1: alone, this would be a \
                             difference; among all pairs it may be chance";

/// A table of comparisons of one role; nothing without any.
pub(crate) fn compared_table(record: &StudyRecord, role: Role) -> Document {
    let cells = |comparison: &Comparison| {
        let place = match comparison.load.as_str() {
            "" => String::new(),
            load => place(record, load),
        };
        let pair = format!("{} ÷ {}", comparison.subject, comparison.baseline);
        let [metric, ratio, interval, verdict] = row(metric_of(record, comparison), comparison);
        [pair, place, metric, ratio, interval, verdict]
    };
    let rows = of_role(record, role).map(cells);
    let headers = ["", "where", "metric", "ratio", "interval", "verdict"];
    let table = Table::new(headers, rows).of_words();
    // Primary comparisons have a remark on that.
    let has_chance = role == Role::Exploratory && of_role(record, role).any(may_be_chance);
    let legend = if has_chance { MAY_BE_CHANCE } else { "" };
    let mut out = Document::default();
    out.table(Some(table).filter(|table| !table.rows.is_empty()), legend);
    out
}

/// The exploratory comparisons, folded.
pub(crate) fn also_compared_folded(record: &StudyRecord) -> Document {
    let comparisons = &record.conclusions.comparisons;
    let confidence = comparisons
        .first()
        .map_or(0.95, |comparison| comparison.confidence);
    let summary = format!(
        "Also compared ({} intervals; about 1 in 20 misses the true ratio by chance)",
        percent(confidence)
    );
    let mut out = Document::default();
    out.folded(summary, compared_table(record, Role::Exploratory));
    out
}
