//! The page of a run: one server, one load, no comparison.

use abx_verdict::RunRecord;

use crate::document::{Document, Table, pages};
use crate::html::page::Page;
use crate::json::record_json;
use crate::reports::run::{headline, offer, sides};
use crate::sections::compared::findings::all_findings;
use crate::sections::measured::course::course;
use crate::sections::measured::how_measured::machine;
use crate::sections::measured::outcomes::run_outcomes;
use crate::sections::measured::phases::run_phases;
use crate::sections::measured::run_times::run_times;
use crate::sections::measured::scope;
use crate::sections::measured::server_times::run_server_times;
use crate::words::load::hashed;
use crate::words::style::LINE;
use crate::words::units::{count, date, seconds};
use crate::words::wrap::clean_name;

/// The report of a run as an HTML page, ready to be written to a file.
///
/// The page needs no other file and asks for none; the record is in it.
#[must_use]
pub fn run_html(record: &RunRecord) -> String {
    let subtitle = format!(
        "{}, {}, abx {}.",
        date(record.started_unix_ms),
        seconds(record.elapsed_s),
        record.abx_version
    );
    let sections = pages([
        ("throughput", "Throughput", result(record)),
        ("course", "Over time", course(record)),
        ("times", "Times", run_times(record, &LINE)),
        ("phases", "Where the time goes", where_time_goes(record)),
        ("outcomes", "Outcomes", run_outcomes(record)),
        ("cost", "Cost", sides(record)),
        ("findings", "Findings", all_findings(&record.findings, 1)),
        ("conduct", "How it was measured", how_measured(record)),
    ]);
    let title = format!("One run against {}", clean_name(&record.settings.url));
    let file = format!("abx-run-{}.json", record.started_unix_ms);
    Page::new(title, &subtitle, sections)
        .with_record(file, record_json(record))
        .html()
}

fn result(record: &RunRecord) -> Document {
    let mut out = headline(record, &LINE);
    out.append(offer(record));
    out.explained(&scope::of_run(&record.scope))
}

/// Where the time of requests goes, and what the server says of its own.
fn where_time_goes(record: &RunRecord) -> Document {
    let mut out = run_phases(record);
    out.append(run_server_times(record));
    out
}

fn how_measured(record: &RunRecord) -> Document {
    let settings = &record.settings;
    let mut all_pairs = vec![
        ("address", settings.url.clone()),
        ("method", settings.method.clone()),
        ("connections", count(settings.connections.into())),
        ("time-out", seconds(settings.timeout.as_secs_f64())),
        ("bodies hashed", hashed(settings)),
    ];
    all_pairs.extend(machine(&record.machine));
    Table::pairs("Settings and machine", all_pairs).into()
}
