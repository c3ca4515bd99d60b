//! The results of a study of a single subject.

use abx_evidence::Figure;
use abx_verdict::{Axis, Capacity, KNEE_SHARE, Knee, Metric, StudyRecord, Summary, Sweep};

use crate::document::{Document, DocumentPart, Table};
use crate::sections::compared::sweeps::{rate_of, tried};
use crate::sections::measured::figures::{RowName, figures_table};
use crate::words::metrics::{metric_under, rate_name, rate_under};
use crate::words::style::Style;
use crate::words::times::{time_in_words, time_with_unit};
use crate::words::units::{count, figure, or_unknown, percent};
use crate::words::verdict::name;
use crate::words::wrap::clean_name;

/// Whether a single subject was measured, so that nothing is compared.
pub(crate) fn is_alone(record: &StudyRecord) -> bool {
    !record.measured.is_comparison()
}

/// The results, a sentence each: capacities, the ends of curves over rates, knees.
pub(crate) fn sentences(record: &StudyRecord) -> Vec<String> {
    let conclusions = &record.conclusions;
    let knees = conclusions.sweeps.iter().flat_map(|sweep| &sweep.knees);
    let rates = conclusions
        .sweeps
        .iter()
        .filter_map(|sweep| ends_of_rates(record, sweep));
    let capacities = conclusions
        .capacities
        .iter()
        .map(|capacity| capacity_sentence(record, capacity));
    let knees = knees.map(|knee| knee_sentence(record, knee));
    capacities.chain(rates).chain(knees).collect()
}

fn capacity_sentence(record: &StudyRecord, capacity: &Capacity) -> String {
    let unit = rate_of(record, capacity);
    let rate = |rate: f64| format!("{} {unit}", figure(rate));
    let (who, objective) = (name(&capacity.subject), &capacity.objective);
    match (capacity.rate_per_s, capacity.low, capacity.high) {
        (Some(result), Some(low), Some(high)) => format!(
            "{who} meets {objective} up to {} ({} to {}, {} interval).{}",
            rate(result),
            figure(low),
            figure(high),
            percent(capacity.confidence),
            in_every_block(capacity)
        ),
        (Some(result), None, None) => format!(
            "{who} meets {objective} up to {} in the only block.{}",
            rate(result),
            in_every_block(capacity)
        ),
        (_, Some(low), None) => format!("{who} meets {objective} up to at least {}.", rate(low)),
        (_, None, Some(high)) => {
            let lowest = tried(record, capacity).first().copied();
            format!(
                "{who} meets {objective} up to {} at most: some blocks missed it at every rate, \
                 down to {}. Loosen the objective, or find its response times at lower rates with \
                 `abx run URL -r auto`.",
                rate(high),
                or_unknown(lowest, figure)
            )
        }
        _ => format!("{who} meets {objective} up to a rate outside those that were tried."),
    }
}

/// The highest rate that every block met, and the lowest that every block missed; empty unless
/// both exist.
fn in_every_block(capacity: &Capacity) -> String {
    match (capacity.held_per_s, capacity.missed_per_s) {
        (Some(held), Some(missed)) => format!(
            " It holds in every block at {} and fails in every block at {}.",
            figure(held),
            figure(missed)
        ),
        _ => String::new(),
    }
}

fn knee_sentence(record: &StudyRecord, knee: &Knee) -> String {
    let highest = format!("{} {}", figure(knee.highest_per_s), curve_unit(record));
    match knee.connections {
        Some(connections) => format!(
            "At {} or more connections, {} reaches {} or more of its highest throughput, \
             {highest}: more connections mostly wait longer.",
            count(connections as u64),
            name(&knee.subject),
            percent(KNEE_SHARE)
        ),
        None => format!(
            "{} reaches its highest throughput, {highest}, with the most connections tried: try more \
             to find its limit.",
            name(&knee.subject)
        ),
    }
}

pub(crate) const CURVE_LEGEND: &str = "load: c10 is 10 connections, r500 a rate of 500 per \
     second, r25pct 25 % of the server's highest throughput.";

/// A row per load. `None` if no requests were counted, as with connections that are only held.
pub(crate) fn curve_table(record: &StudyRecord, style: &Style) -> Option<Table> {
    let summaries = &record.conclusions.summaries;
    if summaries.iter().any(|summary| summary.held.is_some()) || !record.conclusions.any_sent() {
        return None;
    }
    let summaries: Vec<&Summary> = summaries.iter().collect();
    Some(figures_table(&summaries, RowName::Load, curve_unit(record), style).captioned("Each load"))
}

pub(crate) fn curve_unit(record: &StudyRecord) -> &'static str {
    let load = record.measured.loads.first();
    rate_name(load.map_or_else(Default::default, |load| load.settings.exchange.shape))
}

/// Each load's offered rate per second with its summary. `None` if a load has no constant
/// rate, so that throughput is a result and not what was offered.
pub(crate) fn along_rates(record: &StudyRecord) -> Option<Vec<(f64, &Summary)>> {
    let rate = |summary: &Summary| {
        let mut loads = record.measured.loads.iter();
        let load = loads.find(|load| load.name == summary.load)?;
        load.settings.arrivals.rate_per_s
    };
    let summaries = record.conclusions.summaries.iter();
    summaries
        .map(|summary| Some((rate(summary)?, summary)))
        .collect()
}

/// The response time at both ends of a sweep over rates. `None` for other sweeps, and for the
/// rates of a search for a capacity, which has a sentence of its own.
pub(crate) fn ends_of_rates(record: &StudyRecord, sweep: &Sweep) -> Option<String> {
    let mut along = along_rates(record)?;
    along.retain(|(_, summary)| sweep.loads.contains(&summary.load));
    let is_search = record
        .measured
        .loads
        .iter()
        .any(|load| load.settings.objective.is_some());
    let (Some(first), Some(last)) = (along.first(), along.last()) else {
        return None;
    };
    if sweep.axis != Axis::Rate || is_search || along.len() < 2 {
        return None;
    }
    let unit = rate_under(record, &first.1.load);
    let at = |(rate, summary): &(f64, &Summary)| {
        let time = time_in_words(&summary.response_time_us, Figure::P99)?;
        Some(format!("{time} at {} {unit}", figure(*rate)))
    };
    Some(format!(
        "The {} of {} is {} and {}.",
        metric_under(record, &first.1.load, Metric::ResponseP99),
        name(&first.1.subject),
        at(first)?,
        at(last)?
    ))
}

/// Columns of the longest bar.
const BAR: f64 = 40.0;

/// The results in sentences, or a sentence that nothing was measured.
pub(crate) fn results(record: &StudyRecord) -> Document {
    let sentences = sentences(record);
    if sentences.is_empty() && !record.conclusions.any_sent() {
        return Document::from_iter(["Nothing was measured."]);
    }
    sentences.into_iter().collect()
}

/// A row per load, then a bar per load; nothing if no requests were counted.
pub(crate) fn curve(record: &StudyRecord, style: &Style) -> Document {
    let mut out = Document::default();
    let Some(table) = curve_table(record, style) else {
        return out;
    };
    out.table(Some(table), CURVE_LEGEND);
    out.0.push(DocumentPart::Gap);
    out.0
        .push(DocumentPart::Verbatim(match along_rates(record) {
            Some(along) => bars_of_times(record, &along, style),
            None => bars_of_throughput(record, style),
        }));
    out
}

struct CurveBar {
    label: String,
    length: f64,
    text: String,
}

/// The p99 response time by offered rate: throughput would only repeat the rate.
fn bars_of_times(record: &StudyRecord, along: &[(f64, &Summary)], style: &Style) -> String {
    let has_several = record.conclusions.sweeps.len() > 1;
    let bar = |(rate, summary): &(f64, &Summary)| {
        let times = &summary.response_time_us;
        CurveBar {
            label: if has_several {
                clean_name(&summary.load)
            } else {
                format!("{}/s", figure(*rate))
            },
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
    let curve_bars = record.conclusions.summaries.iter().map(bar);
    let heading = format!("{}, from zero:", curve_unit(record));
    bars(&heading, &curve_bars.collect::<Vec<_>>(), style)
}

/// Bars on one scale from zero; empty if all are zero.
fn bars(heading: &str, curve_bars: &[CurveBar], style: &Style) -> String {
    let longest = curve_bars.iter().map(|bar| bar.length).fold(0.0, f64::max);
    if longest <= 0.0 {
        return String::new();
    }
    let labels = curve_bars.iter().map(|bar| bar.label.chars().count());
    let width = labels.max().unwrap_or_default();
    let sign = if style.unicode { "█" } else { "#" };
    let mut out = style.paragraph(heading);
    for bar in curve_bars {
        let drawn = sign.repeat((BAR * bar.length / longest).round() as usize);
        let gap = if drawn.is_empty() { "" } else { " " };
        out.push_str(&format!(
            "  {:>width$}  {drawn}{gap}{}\n",
            bar.label, bar.text
        ));
    }
    out
}
