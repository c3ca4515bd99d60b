//! The figures behind the verdicts: the terminal's table.

use abx_evidence::record::LoadRecord;
use abx_evidence::{Figure as Quantile, StudyRecord, Summary};

use crate::html::markup::{Grid, LINE, Markup, element, note, paragraphs};
use crate::html::measurements::each_load::each_load;
use crate::words::figures::{loaded, neither, unsent};
use crate::words::held::{HELD_LEGEND, held_table};
use crate::words::load::offer;
use crate::words::metrics::rate_name;
use crate::words::server_times::{SERVER_TIMES_LEGEND, server_times_table};
use crate::words::services::{SERVICES_LEGEND, services_table};
use crate::words::table::Table;
use crate::words::times::{at_least_legend, time};
use crate::words::units::{TimeUnit, bytes, count, figure, or_unknown, seconds, whole_percent};
use crate::words::wrap::clean_name;

/// A table for each load, what its columns mean, and how much was measured.
pub(crate) fn summaries(record: &StudyRecord) -> Markup {
    let mut out = each_load(record, |load| of_load(record, load));
    if record.conclusions.any_sent() {
        let all = record.conclusions.summaries.iter();
        let times = all.map(|one| &one.response_time_us);
        let text = format!("{LEGEND}{}", at_least_legend(times, &SHOWN, &LINE));
        out.push(note(&text));
    }
    out.push(paragraphs(&loaded(record, &LINE)));
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
    let unit = TimeUnit::of(summaries.iter().map(|one| one.response_time_us.p50));
    let rate = rate_name(load.settings.exchange.shape);
    let mut headers = vec!["subject".to_owned(), rate.to_owned()];
    headers.extend(SHOWN.map(|one| format!("{} {}", one.name(), unit.sign())));
    headers.extend(COSTS.map(str::to_owned));
    let row = |one: &&Summary| {
        let mut cells = vec![
            clean_name(&one.subject),
            or_unknown(one.throughput_per_s, figure),
        ];
        cells.extend(SHOWN.map(|figure| time(&one.response_time_us, figure, unit, &LINE)));
        cells.extend([
            or_unknown(one.server_cpu_us_per_request, figure),
            or_unknown(one.server_busy, whole_percent),
            or_unknown(one.server_switches_per_request, figure),
            or_unknown(one.rss_bytes, |size| bytes(size as f64)),
            or_unknown(one.bytes_per_request, bytes),
            or_unknown(one.ready_s, seconds),
            count(one.ok),
            count(one.outcomes.failed()),
        ]);
        cells
    };
    let grid = Grid::figures(
        caption.trim_end_matches(':'),
        headers,
        summaries.iter().map(row),
    );
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
    for one in summaries {
        out.push(paragraphs(&neither(one, &LINE)));
        out.push(paragraphs(&unsent(one, &LINE)));
    }
    out
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
