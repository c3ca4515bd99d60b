//! Capacities: the highest rate at which each subject keeps to an objective, a
//! table for each objective whose last column is the picture.

use abx_evidence::{Capacity, StudyRecord};

use crate::html::charts::{
    Bar, BarEnd, Scale, axis, bar_table, cell, name_cell, picture_cell, rate,
};
use crate::html::markup::{Element, Markup, element, note, with_unit};
use crate::words::sweeps::{alike, is_without_interval, rate_of, tried};
use crate::words::units::{figure, percent};
use crate::words::verdict::name;

/// A table for each objective and load, and how to read the pictures.
pub(crate) fn capacities(record: &StudyRecord) -> Markup {
    let mut out: Markup = { alike(&record.conclusions.capacities) }
        .map(|all| table(record, all))
        .collect();
    if !out.is_empty() {
        let text = format!(
            " Hatched: within {} of the baseline, which does not matter.",
            percent(record.measured.settings.margin)
        );
        let hatched = record.measured.only_baseline().map_or("", |_| &text);
        let text = "Diamond: highest rate that meets the objective; bar: its interval; arrow: \
                    outside the rates that were tried, which are the dots below.";
        out.push(note(&format!("{text}{hatched}")));
    }
    out
}

/// Capacities of one objective under one load.
fn table(record: &StudyRecord, all: &[Capacity]) -> Markup {
    let first = &all[0];
    let tried = tried(record, &first.objective);
    let known = all
        .iter()
        .flat_map(|one| [one.rate_per_s, one.low, one.high]);
    let Some(scale) = Scale::log_around(known.flatten().chain(tried.iter().copied())) else {
        return Markup::new();
    };
    let caption = format!(
        "Highest rate that meets {} under {} ({} interval)",
        first.objective,
        name(&first.load),
        percent(first.confidence)
    );
    let unit = rate_of(record, &first.objective);
    let scaled = format!("{unit}, log scale");
    let headers = ["subject", "capacity (interval)", &scaled];
    let band = band(record, all);
    let rows = all.iter().map(|one| {
        [
            name_cell("who", &name(&one.subject)),
            cell("ratio", &interval(one, unit)),
            picture_cell(picture(one, unit, scale, &tried, band)),
        ]
    });
    let table = bar_table(&caption, headers, rows, axis(scale, rate));
    element("figure").add(table).into()
}

/// Rates that do not matter beside the baseline's, where that is known.
fn band(record: &StudyRecord, all: &[Capacity]) -> Option<[f64; 2]> {
    let baseline = record.measured.only_baseline()?;
    let is_baseline = |one: &&Capacity| one.subject == baseline;
    let rate = all.iter().find(is_baseline)?.rate_per_s?;
    let wide = 1.0 + record.measured.settings.margin;
    Some([rate / wide, rate * wide])
}

/// A capacity in words, with its unit: a narrow page has no headers.
fn interval(one: &Capacity, unit: &str) -> String {
    let rate = |rate: f64| with_unit(&figure(rate), unit);
    match (one.rate_per_s, one.low, one.high) {
        (Some(found), Some(low), Some(high)) => {
            format!("{} ({} to {})", rate(found), figure(low), figure(high))
        }
        (Some(found), None, None) => format!("{} (no interval yet)", rate(found)),
        (_, Some(low), None) => format!("at least {}", rate(low)),
        (_, None, Some(high)) => format!("at most {}", rate(high)),
        _ => "outside the rates that were tried".to_owned(),
    }
}

fn picture(
    one: &Capacity,
    unit: &str,
    scale: Scale,
    tried: &[f64],
    band: Option<[f64; 2]>,
) -> Element {
    let subject = name(&one.subject);
    let said = format!("{subject}: {}", interval(one, unit));
    let [lowest, highest] = scale.ends();
    Bar {
        label: said.clone(),
        tip: said,
        band,
        rule: None,
        dots: tried.to_vec(),
        point: one.rate_per_s,
        ends: (!is_without_interval(one)).then(|| {
            [
                BarEnd::new(one.low.unwrap_or(lowest), one.low.is_none()),
                BarEnd::new(one.high.unwrap_or(highest), one.high.is_none()),
            ]
        }),
    }
    .markup(scale)
}
