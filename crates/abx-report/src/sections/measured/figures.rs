//! The figures behind verdicts, in a table: throughput, times, cost, outcomes.

use abx_evidence::Figure;
use abx_verdict::Summary;

use crate::document::Table;
use crate::words::style::Style;
use crate::words::times::{time, time_with_unit};
use crate::words::units::{TimeUnit, bytes, count, figure, or_unknown, seconds, whole_percent};
use crate::words::wrap::clean_name;

/// What each row is named by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowName {
    Subject,
    Load,
}

/// A row per summary, its throughput in `unit`. Times of subjects share a unit in each column.
/// Times of loads differ too much in size and have a unit each.
pub(crate) fn figures_table(
    summaries: &[&Summary],
    named: RowName,
    unit: &str,
    style: &Style,
) -> Table {
    let shared = TimeUnit::of(summaries.iter().map(|summary| summary.response_time_us.p50));
    let shared = Some(shared).filter(|_| named == RowName::Subject);
    let time_header = |name: &str| match shared {
        Some(unit) => format!("{name} {}", unit.sign()),
        None => name.to_owned(),
    };
    let time_cell = |summary: &Summary, figure: Figure| match shared {
        Some(unit) => time(&summary.response_time_us, figure, unit, style),
        None => time_with_unit(&summary.response_time_us, figure, style),
    };
    let row = |summary: &&Summary| {
        let name = match named {
            RowName::Subject => &summary.subject,
            RowName::Load => &summary.load,
        };
        let mut cells = vec![
            clean_name(name),
            or_unknown(summary.throughput_per_s, figure),
        ];
        cells.extend(TIMES.map(|figure| time_cell(summary, figure)));
        cells.extend([
            or_unknown(summary.server_cpu_us_per_request, figure),
            or_unknown(summary.server_busy, whole_percent),
            or_unknown(summary.server_switches_per_request, figure),
            or_unknown(summary.rss_bytes, |size| bytes(size as f64)),
            or_unknown(summary.bytes_per_request, bytes),
            or_unknown(summary.ready_s, seconds),
            count(summary.ok),
            count(summary.outcomes.failed()),
        ]);
        cells
    };
    let (name, wide): (_, &[&str]) = match named {
        RowName::Subject => ("subject", &["switches", "received", "ready"]),
        RowName::Load => ("load", &["switches", "memory", "received", "ready"]),
    };
    let mut headers = vec![name.to_owned(), unit.to_owned()];
    headers.extend(TIMES.map(|figure| time_header(figure.name())));
    headers.extend(COSTS.map(str::to_owned));
    let wide_times = [Figure::P90, Figure::P999].map(|figure| time_header(figure.name()));
    let wide: Vec<&str> = wide
        .iter()
        .copied()
        .chain(wide_times.iter().map(String::as_str))
        .collect();
    Table::new(headers, summaries.iter().map(row)).with_wide(&wide)
}

/// The meaning of the columns on a terminal.
pub(crate) const FIGURES_LEGEND: &str = "p50, p99: response time that half and 99 % of the \
     requests do not exceed. CPU: the server's CPU time per response. busy: share of its CPUs in \
     use. memory: peak of all its processes together.";

/// The meaning of the columns on a page.
pub(crate) const WIDE_FIGURES_LEGEND: &str = "p50 to p99.9: response time that this share of the \
     requests does not exceed. CPU: the server's CPU time per response. busy: share of its CPUs in \
     use. switches: context switches of its threads per response. memory: peak of all its \
     processes together, median over blocks. received: bytes per response. ready: from start to \
     the first correct response, median over blocks. ok: verified responses. -: not checked.";

pub(crate) const TIMES: [Figure; 4] = [Figure::P50, Figure::P90, Figure::P99, Figure::P999];
const COSTS: [&str; 8] = [
    "CPU µs", "busy", "switches", "memory", "received", "ready", "ok", "failed",
];
