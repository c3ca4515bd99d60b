//! One subject alone under several loads: a line per load, and bars of what changes with them.

use abx_evidence::{Figure, StudyRecord, Summary};

use crate::words::alone::sentences;
use crate::words::curve::{CURVE_LEGEND, along_rates, curve_table, curve_unit};
use crate::words::style::Style;
use crate::words::times::time_with_unit;
use crate::words::units::figure;
use crate::words::wrap::clean_name;

/// Columns of the longest bar.
const BAR: f64 = 40.0;

/// What was found out of the subject, in sentences; that nothing was when that is so.
pub(crate) fn found(record: &StudyRecord, style: &Style) -> String {
    let sentences = sentences(record);
    if sentences.is_empty() && !record.conclusions.any_sent() {
        return "Nothing was measured.\n".to_owned();
    }
    sentences.iter().map(|text| style.paragraph(text)).collect()
}

/// A line per load, then a bar per load; empty if no requests were counted.
pub(crate) fn curve(record: &StudyRecord, style: &Style) -> String {
    let Some(table) = curve_table(record, style) else {
        return String::new();
    };
    let bars = match along_rates(record) {
        Some(along) => bars_of_times(&along, style),
        None => bars_of_throughput(record, style),
    };
    let table = table.text(style.columns());
    format!("{table}{}\n{bars}", style.note(CURVE_LEGEND))
}

/// One load's bar.
struct CurveBar {
    label: String,
    length: f64,
    text: String,
}

/// The 99 % quantiles of response times by offered rate: throughput would only repeat the rate.
fn bars_of_times(along: &[(f64, &Summary)], style: &Style) -> String {
    let bar = |(rate, summary): &(f64, &Summary)| {
        let times = &summary.response_time_us;
        CurveBar {
            label: format!("{}/s", figure(*rate)),
            length: times.figure(Figure::P99).unwrap_or_default(),
            text: time_with_unit(times, Figure::P99, style),
        }
    };
    let heading = "p99 response time by offered rate, from zero:";
    bars(heading, &along.iter().map(bar).collect::<Vec<_>>(), style)
}

fn bars_of_throughput(record: &StudyRecord, style: &Style) -> String {
    let bar = |summary: &Summary| {
        let rate = summary.throughput_per_s.unwrap_or_default();
        CurveBar {
            label: clean_name(&summary.load),
            length: rate,
            text: figure(rate),
        }
    };
    let all = record.conclusions.summaries.iter().map(bar);
    let heading = format!("{}, from zero:", curve_unit(record));
    bars(&heading, &all.collect::<Vec<_>>(), style)
}

/// Bars on one scale from zero; empty if all are zero.
fn bars(heading: &str, all: &[CurveBar], style: &Style) -> String {
    let longest = all.iter().map(|bar| bar.length).fold(0.0, f64::max);
    if longest <= 0.0 {
        return String::new();
    }
    let labels = all.iter().map(|bar| bar.label.chars().count());
    let width = labels.max().unwrap_or_default();
    let sign = if style.unicode { "█" } else { "#" };
    let mut out = style.paragraph(heading);
    for bar in all {
        let drawn = sign.repeat((BAR * bar.length / longest).round() as usize);
        let gap = if drawn.is_empty() { "" } else { " " };
        out.push_str(&format!(
            "  {:>width$}  {drawn}{gap}{}\n",
            bar.label, bar.text
        ));
    }
    out
}
