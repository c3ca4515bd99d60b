//! One subject alone under several loads: a line for each, and throughputs as bars.

use abx_evidence::{Figure, StudyRecord, Summary};

use crate::words::alone::sentences;
use crate::words::metrics::rate_name;
use crate::words::style::Style;
use crate::words::table::Table;
use crate::words::times::time;
use crate::words::units::{TimeUnit, count, figure, or_unknown, whole_percent};
use crate::words::wrap::clean_name;

/// Columns of the longest bar.
const BAR: f64 = 40.0;

/// What was found out of the subject, in sentences; that nothing was when that is so.
pub(crate) fn found(record: &StudyRecord, style: &Style) -> String {
    let said = sentences(record);
    if said.is_empty() && !record.conclusions.any_sent() {
        return "Nothing was measured.\n".to_owned();
    }
    said.iter().map(|text| style.paragraph(text)).collect()
}

/// A line for each load, then a bar for each; empty where that says nothing, as of
/// connections that are only held.
pub(crate) fn curve(record: &StudyRecord, style: &Style) -> String {
    let all = &record.conclusions.summaries;
    if all.iter().any(|one| one.held.is_some()) || !record.conclusions.any_sent() {
        return String::new();
    }
    let shape = record.measured.loads.first();
    let unit = rate_name(shape.map_or_else(Default::default, |load| load.settings.exchange.shape));
    let times = TimeUnit::of(all.iter().map(|one| one.response_time_us.p50));
    let headers = [
        "load".to_owned(),
        unit.to_owned(),
        format!("p50 {}", times.sign()),
        format!("p99 {}", times.sign()),
        "CPU µs".to_owned(),
        "busy".to_owned(),
        "ok".to_owned(),
        "failed".to_owned(),
    ];
    let row = |one: &Summary| {
        [
            clean_name(&one.load),
            or_unknown(one.throughput_per_s, figure),
            time(&one.response_time_us, Figure::P50, times, style),
            time(&one.response_time_us, Figure::P99, times, style),
            or_unknown(one.server_cpu_us_per_request, figure),
            or_unknown(one.server_busy, whole_percent),
            count(one.ok),
            count(one.outcomes.failed()),
        ]
    };
    let table = Table::new(headers, all.iter().map(row)).text(style.columns());
    let legend = "load: c10 is 10 connections, r500 a rate of 500 per second, r25pct 25 % of what the \
                  server can do.";
    format!("{table}{}\n{}", style.note(legend), bars(all, unit, style))
}

/// Throughputs on one scale from zero.
fn bars(all: &[Summary], unit: &str, style: &Style) -> String {
    let highest = { all.iter() }
        .filter_map(|one| one.throughput_per_s)
        .fold(0.0, f64::max);
    if highest <= 0.0 {
        return String::new();
    }
    let longest = all.iter().map(|one| clean_name(&one.load).chars().count());
    let width = longest.max().unwrap_or_default();
    let sign = if style.unicode { "█" } else { "#" };
    let mut out = style.paragraph(&format!("{unit}, from zero:"));
    for one in all {
        let rate = one.throughput_per_s.unwrap_or_default();
        let bar = sign.repeat((BAR * rate / highest).round() as usize);
        let load = clean_name(&one.load);
        out.push_str(&format!("  {load:width$}  {bar} {}\n", figure(rate)));
    }
    out
}
