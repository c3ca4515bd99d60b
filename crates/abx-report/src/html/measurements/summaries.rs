//! The figures behind the verdicts: the terminal's table.

use abx_evidence::record::LoadRecord;
use abx_evidence::{Figure as Quantile, StudyRecord, Summary};

use crate::html::markup::{Grid, LINE, Markup, element, note, paragraphs};
use crate::html::measurements::each_load::each_load;
use crate::words::alone::is_alone;
use crate::words::curve::{CURVE_LEGEND, curve_table};
use crate::words::figures::{loaded, neither, unsent};
use crate::words::held::{HELD_LEGEND, held_table};
use crate::words::load::offer;
use crate::words::metrics::rate_name;
use crate::words::server_times::{SERVER_TIMES_LEGEND, server_times_table};
use crate::words::services::{SERVICES_LEGEND, services_table};
use crate::words::table::Table;
use crate::words::times::{at_least_legend, time, time_with_unit};
use crate::words::units::{
    TimeUnit, UNKNOWN, bytes, count, figure, or_unknown, seconds, whole_percent,
};
use crate::words::wrap::clean_name;

/// A table for each load, what its columns mean, and how much was measured.
pub(crate) fn summaries(record: &StudyRecord) -> Markup {
    let mut out = match record.measured.loads.first() {
        Some(load) if is_curve(record) => of_curve(record, load),
        _ => each_load(record, |load| of_load(record, load)),
    };
    if record.conclusions.any_sent() {
        let all = record.conclusions.summaries.iter();
        let times = all.map(|one| &one.response_time_us);
        let text = format!("{LEGEND}{}", at_least_legend(times, &SHOWN, &LINE));
        out.push(note(&text));
    }
    out.push(paragraphs(&loaded(record, &LINE)));
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
        out.push(below(record, load, &summaries));
    }
    out.push_all(summaries.iter().map(|summary| left_out(summary)));
    out
}

fn of_load(record: &StudyRecord, load: &LoadRecord) -> Markup {
    let summaries: Vec<&Summary> = record.conclusions.under(&load.name).collect();
    let caption = offer(record, load);
    if let Some(Table { headers, rows }) = held_table(&summaries) {
        let grid = Grid::figures(
            caption.trim_end_matches(':'),
            headers,
            rows.into_iter().map(Vec::from),
        );
        let legend = note(HELD_LEGEND);
        return [grid.markup(), legend]
            .into_iter()
            .map(Markup::from)
            .collect();
    }
    if summaries.iter().all(|one| one.sent == 0) {
        return element("p")
            .text(&format!("{caption} nothing was measured."))
            .into();
    }
    let grid = table(caption.trim_end_matches(':'), "subject", load, &summaries);
    let mut out = Markup::from(grid.markup());
    if let Some(ceiling) = { record.conclusions.ceilings.iter() }.find(|one| one.load == load.name)
    {
        let text = format!(
            "The generator got {} requests/s from a server that does nothing, in the same blocks.",
            figure(ceiling.throughput_per_s)
        );
        out.push(element("p").text(&text));
    }
    out.push(below(record, load, &summaries));
    out.push_all(summaries.iter().map(|summary| left_out(summary)));
    out
}

/// Attempts that the table does not show.
fn left_out(summary: &Summary) -> Markup {
    let lines = [neither(summary, &LINE), unsent(summary, &LINE)];
    lines.iter().map(|line| paragraphs(line)).collect()
}

/// A row per summary, named by subject or by load. A column in which nothing is known is left
/// out, as the start of a server that was running already.
fn table(caption: &str, names: &str, load: &LoadRecord, summaries: &[&Summary]) -> Grid {
    let rate = rate_name(load.settings.exchange.shape);
    let shared = TimeUnit::of(summaries.iter().map(|one| one.response_time_us.p50));
    // Subjects are compared down a column; along a curve, times are of different sizes.
    let unit = Some(shared).filter(|_| names != BY_LOAD);
    let mut headers = vec![names.to_owned(), rate.to_owned()];
    headers.extend(SHOWN.map(|quantile| match unit {
        Some(unit) => format!("{} {}", quantile.name(), unit.sign()),
        None => quantile.name().to_owned(),
    }));
    headers.extend(COSTS.map(str::to_owned));
    let mut rows: Vec<Vec<String>> = { summaries.iter() }
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
    Grid::figures(caption, headers, rows)
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
fn below(record: &StudyRecord, load: &LoadRecord, summaries: &[&Summary]) -> Markup {
    let caption = offer(record, load);
    let services = services_table(summaries);
    let server_times = server_times_table(record, &load.name);
    let tables = [
        ("Services", services, SERVICES_LEGEND),
        ("Server timings", server_times, SERVER_TIMES_LEGEND),
    ];
    let each = tables.into_iter().filter_map(|(what, table, legend)| {
        let Table { headers, rows } = table?;
        let title = format!("{what}, {}", caption.trim_end_matches(':'));
        let grid = Grid::figures(title, headers, rows.into_iter().map(Vec::from));
        Some([grid.markup(), note(legend)].map(Markup::from))
    });
    each.flatten().collect()
}

/// The header of the first column if loads name the rows.
const BY_LOAD: &str = "load";
const SHOWN: [Quantile; 4] = [Quantile::P50, Quantile::P90, Quantile::P99, Quantile::P999];
const COSTS: [&str; 8] = [
    "CPU µs", "busy", "switches", "memory", "received", "ready", "ok", "failed",
];
const LEGEND: &str = "p50 to p99.9: response time that this share of the requests does not \
                      exceed. CPU: the server's CPU time per response. busy: share of its CPUs in \
                      use. switches: context switches of its threads per response. memory: peak \
                      of all its processes together, median over blocks. received: bytes per \
                      response. ready: from start to the first correct response, median over \
                      blocks. ok: verified responses. -: not checked.";
