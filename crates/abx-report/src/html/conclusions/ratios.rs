//! Ratios with their intervals on one log scale: a table whose last column is
//! the picture.

use abx_evidence::{Comparison, Metric, Role, StudyRecord};

use crate::html::charts::{
    Bar, BarEnd, Scale, axis, bar_table, cell, name_cell, picture_cell, plain,
};
use crate::html::conclusions::links::{ratio_id, reasons};
use crate::html::conclusions::signs::sign;
use crate::html::markup::{Element, LINE, Markup, element, note};
use crate::words::metrics::{capitalized, metric_of, metric_under};
use crate::words::ratio::ShownRatio;
use crate::words::units::{NO_INTERVAL, drawable, figure, is_drawable, percent};
use crate::words::verdict::{load_text, name, word_of};

/// A table for each metric that the study was made for, and one for each load
/// of everything else that was compared.
pub(crate) fn ratios(record: &StudyRecord) -> Markup {
    let mut out: Markup = primary(record)
        .iter()
        .map(|(caption, rows)| table(caption, "load", rows))
        .collect();
    if !out.is_empty() {
        out.push(note(&legend(record)));
    }
    out.push(also_compared(record));
    out
}

/// What the study was made to compare: each metric's name, and its comparisons.
pub(crate) fn primary(record: &StudyRecord) -> Vec<(String, Vec<RatioRow<'_>>)> {
    let of_metric = |metric: Metric| {
        let rows: Vec<RatioRow> = { record.conclusions.primary() }
            .filter(|one| one.metric == metric)
            .map(|one| RatioRow::of_load(record, one))
            .collect();
        let load = &rows.first()?.one.load;
        let caption = capitalized(metric_under(record, load, metric));
        Some((caption, rows))
    };
    Metric::ALL.into_iter().filter_map(of_metric).collect()
}

/// What the pictures of ratios show.
pub(crate) fn legend(record: &StudyRecord) -> String {
    format!(
        "Diamond: ratio; bar: its interval; arrow: or further. Dots below: single blocks. \
         Hatched: differences of up to {}, which do not matter.",
        percent(record.measured.settings.margin)
    )
}

/// What was compared besides: all metrics of a load in one table.
fn also_compared(record: &StudyRecord) -> Markup {
    let explored = |load: &str| {
        let all = record.conclusions.comparisons.iter();
        let these = all.filter(|one| one.role == Role::Exploratory && one.load == load);
        these
            .map(|one| RatioRow::of(metric_of(record, one), record, one))
            .collect::<Vec<RatioRow>>()
    };
    let names = record.measured.loads.iter().map(|load| load.name.as_str());
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
    let text = "Exploratory: each figure has its own interval, and with this many intervals, one \
                may miss by chance.";
    let mut out = Markup::from(element("h3").text("Also compared"));
    out.push(note(text));
    out.push(tables);
    out
}

/// Every pair of subjects under one load, as a ranking judged them.
pub(crate) fn pairs(record: &StudyRecord, caption: &str, all: &[Comparison]) -> Markup {
    let rows: Vec<RatioRow> = all
        .iter()
        .map(|one| RatioRow::of_load(record, one))
        .collect();
    table(caption, "load", &rows)
}

/// One comparison with everything that its picture shows.
pub(crate) struct RatioRow<'a> {
    pub(crate) one: &'a Comparison,
    /// What it is of: a load or a metric.
    pub(crate) of: String,
    /// Between these differences do not matter.
    band: [f64; 2],
    bounds: Option<[f64; 3]>,
    /// Where it stands in the page; empty for a pair of a ranking.
    id: String,
    /// What limits it.
    reasons: Option<Element>,
}

impl<'a> RatioRow<'a> {
    fn of_load(record: &StudyRecord, one: &'a Comparison) -> RatioRow<'a> {
        RatioRow::of(load_text(record, &one.load), record, one)
    }

    /// One comparison of a record, and what to call what it is of.
    pub(crate) fn of(of: String, record: &StudyRecord, one: &'a Comparison) -> RatioRow<'a> {
        let margin = record.measured.settings.margin;
        RatioRow {
            one,
            of,
            band: [1.0 / (1.0 + margin), 1.0 + margin],
            bounds: drawable(one),
            id: ratio_id(record, one),
            reasons: reasons(record, one),
        }
    }

    /// The ratio of each block that has one.
    fn blocks(&self) -> impl Iterator<Item = f64> {
        let known = self.one.per_block.iter().flatten().copied();
        known.filter(|ratio| is_drawable(*ratio))
    }

    /// Its subjects.
    pub(crate) fn pair(&self) -> String {
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
    pub(crate) fn verdict(&self) -> String {
        let fragile = if self.one.fragile { ", fragile" } else { "" };
        format!("{}{fragile}", word_of(self.one))
    }
}

/// The table of these rows, whose first column names what they are of; nothing
/// without any.
pub(crate) fn table(caption: &str, of: &str, rows: &[RatioRow]) -> Markup {
    let Some(scale) = scale(rows) else {
        return Markup::new();
    };
    let mut baselines: Vec<&str> = rows.iter().map(|row| row.one.baseline.as_str()).collect();
    baselines.dedup();
    let baseline = Some(baselines[0]).filter(|_| baselines.len() == 1);
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
    let row = |row: &RatioRow| {
        let verdict = cell("verdict", "").add(sign(row.one.verdict));
        let of = name_cell("of", &row.of);
        [
            match row.id.as_str() {
                "" => of,
                id => of.with("id", id),
            },
            name_cell("who", &row.who(baseline)),
            verdict.text(&row.verdict()).add_all(row.reasons.clone()),
            cell("ratio", &interval(row)),
            picture_cell(picture_of(row, scale)),
        ]
    };
    let rows = rows.iter().map(row);
    let table = bar_table(&caption, headers, rows, axis(scale, plain));
    element("figure").add(table).into()
}

/// A scale that holds every block and every ratio. An interval that is far wider
/// than its blocks runs out of the picture, or nothing else would be seen.
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

/// The ratio and its interval, as the verdict's sentence has them.
pub(crate) fn interval(row: &RatioRow) -> String {
    row.bounds.map_or_else(
        || match row.one.plain_ratio() {
            Some(ratio) => format!("{}, {NO_INTERVAL}", figure(ratio)),
            None => "no interval".to_owned(),
        },
        |bounds| {
            let shown = ShownRatio::of(row.one.verdict, row.one.at_least, bounds);
            format!("{} ({})", shown.in_signs(&LINE), shown.detail)
        },
    )
}

pub(crate) fn picture_of(row: &RatioRow, scale: Scale) -> Element {
    let interval = interval(row);
    let [pair, of] = [row.pair(), row.of.clone()];
    let is_open = row.one.at_least;
    Bar {
        label: format!("{pair}, {of}: {interval}"),
        tip: format!("{pair}, {of}: {interval}, {}", row.verdict()),
        band: Some(row.band),
        rule: Some(1.0),
        dots: row.blocks().collect(),
        point: row.bounds.map(|[ratio, ..]| ratio),
        ends: row.bounds.map(|[ratio, low, high]| {
            let [low_is_open, high_is_open] = [ratio < 1.0, ratio >= 1.0];
            [
                BarEnd::new(low, is_open && low_is_open),
                BarEnd::new(high, is_open && high_is_open),
            ]
        }),
    }
    .markup(scale)
}

/// How far an interval may reach beyond all blocks, as a factor.
const BEYOND: f64 = 3.0;
