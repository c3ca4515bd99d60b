//! One subject under several loads: a line per load, and its response times along rates.

use abx_evidence::{Axis, Figure, Metric, StudyRecord, Summary, Sweep};

use super::metrics::{metric_under, rate_name, rate_under};
use super::style::Style;
use super::table::Table;
use super::times::{time_in_words, time_with_unit};
use super::units::{count, figure, or_unknown, whole_percent};
use super::verdict::name;
use super::wrap::clean_name;

/// How the names of loads are read.
pub(crate) const CURVE_LEGEND: &str = "load: c10 is 10 connections, r500 a rate of 500 per \
     second, r25pct 25 % of the server's highest throughput.";

/// A line per load. `None` if no requests were counted, as with connections that are only held.
pub(crate) fn curve_table(record: &StudyRecord, style: &Style) -> Option<Table<8>> {
    let summaries = &record.conclusions.summaries;
    if summaries.iter().any(|summary| summary.held.is_some()) || !record.conclusions.any_sent() {
        return None;
    }
    let headers = [
        "load",
        curve_unit(record),
        "p50",
        "p99",
        "CPU µs",
        "busy",
        "ok",
        "failed",
    ];
    let row = |summary: &Summary| {
        let quantile = |figure| time_with_unit(&summary.response_time_us, figure, style);
        [
            clean_name(&summary.load),
            or_unknown(summary.throughput_per_s, figure),
            quantile(Figure::P50),
            quantile(Figure::P99),
            or_unknown(summary.server_cpu_us_per_request, figure),
            or_unknown(summary.server_busy, whole_percent),
            count(summary.ok),
            count(summary.outcomes.failed()),
        ]
    };
    Some(Table::new(headers, summaries.iter().map(row)))
}

/// What throughput is counted in under the loads of a curve.
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
    let along = along_rates(record)?;
    let is_search = { record.measured.loads.iter() }.any(|load| load.settings.objective.is_some());
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
