//! The figures behind verdicts: a table for each load, and what it leaves out.

use abx_evidence::{Figure, LoadShape, Outcome, StudyRecord, Summary};

use super::failures::wrong_statuses;
use super::load::{alone, offered};
use super::metrics::rate_name;
use super::style::Style;
use super::table::Table;
use super::times::time;
use super::units::{TimeUnit, bytes, count, figure, or_unknown, plural, seconds, whole_percent};
use super::verdict::{name, place};
use super::wrap::clean_name;

/// What the columns of [`table`] mean.
pub(crate) const FIGURES_LEGEND: &str = "p50, p99: response time of half and of 99 % of the \
     requests. CPU: the server's CPU time per response. busy: share of its CPUs in use. memory: \
     peak of all its processes together.";

pub(crate) fn table(summaries: &[&Summary], shape: LoadShape, style: &Style) -> Table<9> {
    let unit = TimeUnit::of(summaries.iter().map(|one| one.response_time_us.p50));
    let headers = [
        "subject".to_owned(),
        rate_name(shape).to_owned(),
        format!("p50 {}", unit.sign()),
        format!("p99 {}", unit.sign()),
        "CPU µs".to_owned(),
        "busy".to_owned(),
        "memory".to_owned(),
        "ok".to_owned(),
        "failed".to_owned(),
    ];
    let row = |one: &&Summary| {
        [
            clean_name(&one.subject),
            or_unknown(one.throughput_per_s, figure),
            time(&one.response_time_us, Figure::P50, unit, style),
            time(&one.response_time_us, Figure::P99, unit, style),
            or_unknown(one.server_cpu_us_per_request, figure),
            or_unknown(one.server_busy, whole_percent),
            or_unknown(one.rss_bytes, |size| bytes(size as f64)),
            count(one.ok),
            count(one.outcomes.failed()),
        ]
    };
    Table::new(headers, summaries.iter().map(row))
}

/// Attempts that are in neither of the last two columns.
pub(crate) fn neither(summary: &Summary, style: &Style) -> String {
    let others: Vec<String> = summary
        .outcomes
        .iter()
        .filter(|(outcome, _)| *outcome != Outcome::Ok && !outcome.is_failure())
        .map(|(outcome, times)| format!("{} {}", count(times), outcome.name()))
        .collect();
    if others.is_empty() {
        return String::new();
    }
    let text = format!(
        "{}: neither ok nor failed: {}.",
        name(&summary.subject),
        others.join(", ")
    );
    style.note(&text)
}

/// Which statuses one subject gave where another one was expected; empty where it gave none.
pub(crate) fn other_statuses(summary: &Summary, style: &Style) -> String {
    match wrong_statuses(&summary.wrong_statuses) {
        came if came.is_empty() => came,
        came => style.note(&format!(
            "{}: wrong status: {came}.",
            name(&summary.subject)
        )),
    }
}

/// What was due to one subject and not sent; empty when there is nothing to say.
pub(crate) fn unsent(summary: &Summary, style: &Style) -> String {
    let Some(due) = summary.offered.filter(|offered| offered.unsent > 0) else {
        return String::new();
    };
    let text = format!("{}: {}", name(&summary.subject), offered(&due));
    style.note(&text)
}

/// For how long subjects were loaded, and what may be unseen for that.
pub(crate) fn loaded(record: &StudyRecord, style: &Style) -> String {
    let mut out = String::new();
    for load in alone(record) {
        let spans = { record.conclusions.under(&load.name) }
            .map(|summary| summary.loaded_s)
            .filter(|loaded_s| *loaded_s > 0.0);
        let least = spans.clone().fold(f64::INFINITY, f64::min);
        let most = spans.fold(0.0, f64::max);
        if most <= 0.0 {
            continue;
        }
        let [shortest, longest] = [least, most].map(seconds);
        let span = if shortest == longest {
            shortest
        } else {
            format!("{shortest} to {longest}")
        };
        let under = if record.measured.loads.len() > 1 {
            format!(" {}", place(record, &load.name))
        } else {
            String::new()
        };
        let blocks = record.measured.block_loads(&load.name).count() as u64;
        let text = format!(
            "Each subject was loaded for {span}{under} in {}; stalls rarer than one in {} may go \
             unseen.",
            plural(blocks, "block"),
            seconds(least / 3.0)
        );
        out.push_str(&style.paragraph(&text));
    }
    out
}
