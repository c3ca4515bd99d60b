//! The figures behind verdicts: a table for each load, and what it leaves out.

use abx_evidence::record::LoadRecord;
use abx_evidence::{Figure, LoadShape, Outcome, StudyRecord, Summary};

use crate::document::{Document, Table};
use crate::html::markup::{LINE, Markup, element, note};
use crate::sections::compared::alone::{CURVE_LEGEND, curve_table, is_alone};
use crate::sections::measured::each_load::each_load;
use crate::sections::measured::held::{HELD_LEGEND, held_table};
use crate::sections::measured::outcomes::wrong_statuses;
use crate::sections::measured::server_times::{SERVER_TIMES_LEGEND, server_times_table};
use crate::sections::measured::services::{SERVICES_LEGEND, services_table};
use crate::words::load::{alone, offer, offered};
use crate::words::metrics::rate_name;
use crate::words::style::Style;
use crate::words::times::{at_least_legend, time, time_with_unit};
use crate::words::units::{
    TimeUnit, UNKNOWN, bytes, count, figure, or_unknown, plural, seconds, whole_percent,
};
use crate::words::verdict::{name, place};
use crate::words::wrap::clean_name;

pub(crate) fn summaries_text(record: &StudyRecord, style: &Style) -> String {
    Document::joined(alone(record).map(|load| under(record, load, style))).text(style)
}

/// What the columns mean; empty where nothing was measured.
pub(crate) fn summaries_legend(record: &StudyRecord, style: &Style) -> String {
    let mut measured = record
        .conclusions
        .summaries
        .iter()
        .filter(|summary| summary.sent > 0)
        .peekable();
    if measured.peek().is_none() {
        return String::new();
    }
    let mut legend = FIGURES_LEGEND.to_owned();
    let has_gap = |summary: &Summary| {
        summary.server_cpu_us_per_request.is_none()
            || summary.server_busy.is_none()
            || summary.rss_bytes.is_none()
    };
    let summaries = record.conclusions.summaries.iter();
    let times = summaries.map(|summary| &summary.response_time_us);
    legend.push_str(&at_least_legend(times, &[Figure::P50, Figure::P99], style));
    if measured.any(has_gap) {
        legend.push_str(&format!(" {UNKNOWN}: not checked."));
    }
    style.note(&legend)
}

/// Every subject under one load.
pub(crate) fn under(record: &StudyRecord, load: &LoadRecord, style: &Style) -> Document {
    let summaries: Vec<&Summary> = record.conclusions.under(&load.name).collect();
    let mut out = Document::default();
    out.heading(offer(record, load));
    if let Some(table) = held_table(&summaries) {
        out.table(Some(table), HELD_LEGEND);
        return out;
    }
    if summaries.iter().all(|summary| summary.sent == 0) {
        out.note("nothing was measured");
        return out;
    }
    let shape = load.settings.exchange.shape;
    out.table(Some(figures_table(&summaries, shape, style)), "");
    for summary in &summaries {
        let notes = [neither(summary), other_statuses(summary), unsent(summary)];
        notes.into_iter().flatten().for_each(|text| out.note(text));
    }
    out.0.extend(below(record, load, &summaries).0);
    if let Some(text) = ceiling(record, load) {
        out.note(text);
    }
    out
}

/// What the generator could get at most; `None` where that was not looked for.
fn ceiling(record: &StudyRecord, load: &LoadRecord) -> Option<String> {
    let mut ceilings = record.conclusions.ceilings.iter();
    let ceiling = ceilings.find(|ceiling| ceiling.load == load.name)?;
    let busy = ceiling.generator_busy.map_or(String::new(), |busy| {
        format!("; generator {} busy", whole_percent(busy))
    });
    Some(format!(
        "ceiling: {} requests/s (a server that does nothing{busy})",
        figure(ceiling.throughput_per_s)
    ))
}

/// What the columns of [`table`] mean.
const FIGURES_LEGEND: &str = "p50, p99: response time of half and of 99 % of the \
     requests. CPU: the server's CPU time per response. busy: share of its CPUs in use. memory: \
     peak of all its processes together.";

pub(crate) fn figures_table(summaries: &[&Summary], shape: LoadShape, style: &Style) -> Table {
    let unit = TimeUnit::of(summaries.iter().map(|summary| summary.response_time_us.p50));
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
    let row = |summary: &&Summary| {
        [
            clean_name(&summary.subject),
            or_unknown(summary.throughput_per_s, figure),
            time(&summary.response_time_us, Figure::P50, unit, style),
            time(&summary.response_time_us, Figure::P99, unit, style),
            or_unknown(summary.server_cpu_us_per_request, figure),
            or_unknown(summary.server_busy, whole_percent),
            or_unknown(summary.rss_bytes, |size| bytes(size as f64)),
            count(summary.ok),
            count(summary.outcomes.failed()),
        ]
    };
    Table::new(headers, summaries.iter().map(row))
}

/// Attempts that are in neither of the last two columns.
fn neither(summary: &Summary) -> Option<String> {
    let others: Vec<String> = summary
        .outcomes
        .iter()
        .filter(|(outcome, _)| *outcome != Outcome::Ok && !outcome.is_failure())
        .map(|(outcome, times)| format!("{} {}", count(times), outcome.name()))
        .collect();
    let (who, others) = (name(&summary.subject), others.join(", "));
    (!others.is_empty()).then(|| format!("{who}: neither ok nor failed: {others}."))
}

/// Which statuses one subject gave where another one was expected.
fn other_statuses(summary: &Summary) -> Option<String> {
    let came = wrong_statuses(&summary.wrong_statuses);
    let who = name(&summary.subject);
    (!came.is_empty()).then(|| format!("{who}: wrong status: {came}."))
}

/// What was due to one subject and not sent.
fn unsent(summary: &Summary) -> Option<String> {
    let due = summary.offered.filter(|offered| offered.unsent > 0)?;
    Some(format!("{}: {}", name(&summary.subject), offered(&due)))
}

/// For how long subjects were loaded, and what may be unseen for that.
pub(crate) fn loaded(record: &StudyRecord) -> Document {
    let mut out = Document::default();
    for load in alone(record) {
        let spans = record
            .conclusions
            .under(&load.name)
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
        out.paragraph(text);
    }
    out
}

/// A table for each load, what its columns mean, and how much was measured.
pub(crate) fn summaries(record: &StudyRecord) -> Markup {
    let mut out = match record.measured.loads.first() {
        Some(load) if is_curve(record) => of_curve(record, load),
        _ => each_load(record, |load| of_load(record, load)),
    };
    if record.conclusions.any_sent() {
        let summaries = record.conclusions.summaries.iter();
        let times = summaries.map(|summary| &summary.response_time_us);
        let text = format!("{LEGEND}{}", at_least_legend(times, &SHOWN, &LINE));
        out.push(note(&text));
    }
    out.push(loaded(record).html());
    out
}

/// Whether one subject's loads stand in one table, with a row per load.
fn is_curve(record: &StudyRecord) -> bool {
    is_alone(record) && record.measured.loads.len() > 1 && curve_table(record, &LINE).is_some()
}

fn of_curve(record: &StudyRecord, load: &LoadRecord) -> Markup {
    let summaries: Vec<&Summary> = record.conclusions.summaries.iter().collect();
    let mut out = Markup::from(table("Each load", BY_LOAD, load, &summaries).markup());
    out.push(note(CURVE_LEGEND));
    for load in &record.measured.loads {
        let summaries: Vec<&Summary> = record.conclusions.under(&load.name).collect();
        out.push(below(record, load, &summaries).html());
    }
    out.push_all(summaries.iter().map(|summary| left_out(summary)));
    out
}

fn of_load(record: &StudyRecord, load: &LoadRecord) -> Markup {
    let summaries: Vec<&Summary> = record.conclusions.under(&load.name).collect();
    let caption = offer(record, load);
    if let Some(table) = held_table(&summaries) {
        let table = table.captioned(caption.trim_end_matches(':'));
        return [table.markup(), note(HELD_LEGEND)].into_iter().collect();
    }
    if summaries.iter().all(|summary| summary.sent == 0) {
        return element("p")
            .text(&format!("{caption} nothing was measured."))
            .into();
    }
    let grid = table(caption.trim_end_matches(':'), "subject", load, &summaries);
    let mut out = Markup::from(grid.markup());
    if let Some(ceiling) = record
        .conclusions
        .ceilings
        .iter()
        .find(|this_ceiling| this_ceiling.load == load.name)
    {
        let text = format!(
            "The generator got {} requests/s from a server that does nothing, in the same blocks.",
            figure(ceiling.throughput_per_s)
        );
        out.push(element("p").text(&text));
    }
    out.push(below(record, load, &summaries).html());
    out.push_all(summaries.iter().map(|summary| left_out(summary)));
    out
}

/// Attempts that the table does not show.
fn left_out(summary: &Summary) -> Markup {
    let lines = [neither(summary), unsent(summary)].into_iter().flatten();
    lines.map(|line| element("p").text(&line)).collect()
}

/// A row per summary, named by subject or by load. A column in which nothing is known is left
/// out, as the start of a server that was running already.
fn table(caption: &str, names: &str, load: &LoadRecord, summaries: &[&Summary]) -> Table {
    let rate = rate_name(load.settings.exchange.shape);
    let shared = TimeUnit::of(summaries.iter().map(|summary| summary.response_time_us.p50));
    // Subjects are compared down a column; along a curve, times are of different sizes.
    let unit = Some(shared).filter(|_| names != BY_LOAD);
    let mut headers = vec![names.to_owned(), rate.to_owned()];
    headers.extend(SHOWN.map(|quantile| match unit {
        Some(unit) => format!("{} {}", quantile.name(), unit.sign()),
        None => quantile.name().to_owned(),
    }));
    headers.extend(COSTS.map(str::to_owned));
    let mut rows: Vec<Vec<String>> = summaries
        .iter()
        .map(|summary| cells(names, unit, summary))
        .collect();
    for column in (1..headers.len()).rev() {
        if rows.iter().all(|row| row[column] == UNKNOWN) {
            headers.remove(column);
            for row in &mut rows {
                row.remove(column);
            }
        }
    }
    Table::new(headers, rows).captioned(caption)
}

fn cells(names: &str, unit: Option<TimeUnit>, summary: &Summary) -> Vec<String> {
    let named = if names == BY_LOAD {
        &summary.load
    } else {
        &summary.subject
    };
    let mut cells = vec![
        clean_name(named),
        or_unknown(summary.throughput_per_s, figure),
    ];
    let times = &summary.response_time_us;
    cells.extend(SHOWN.map(|quantile| match unit {
        Some(unit) => time(times, quantile, unit, &LINE),
        None => time_with_unit(times, quantile, &LINE),
    }));
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
}

/// What services used, and what the subjects said of their own time.
fn below(record: &StudyRecord, load: &LoadRecord, summaries: &[&Summary]) -> Document {
    let caption = offer(record, load);
    let captioned = |what: &str, table: Option<Table>| {
        let caption = format!("{what}, {}", caption.trim_end_matches(':'));
        Some(table?.captioned(caption))
    };
    let mut out = Document::default();
    let services = captioned("Services", services_table(summaries));
    out.table(services, SERVICES_LEGEND);
    let times = captioned("Server timings", server_times_table(record, &load.name));
    out.table(times, SERVER_TIMES_LEGEND);
    out
}

/// The header of the first column if loads name the rows.
const BY_LOAD: &str = "load";
const SHOWN: [Figure; 4] = [Figure::P50, Figure::P90, Figure::P99, Figure::P999];
const COSTS: [&str; 8] = [
    "CPU µs", "busy", "switches", "memory", "received", "ready", "ok", "failed",
];
const LEGEND: &str = "p50 to p99.9: response time that this share of the requests does not \
                      exceed. CPU: the server's CPU time per response. busy: share of its CPUs in \
                      use. switches: context switches of its threads per response. memory: peak \
                      of all its processes together, median over blocks. received: bytes per \
                      response. ready: from start to the first correct response, median over \
                      blocks. ok: verified responses. -: not checked.";
