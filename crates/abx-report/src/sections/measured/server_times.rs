//! The subjects' own times, from `Server-Timing`: a table for each load.

use std::collections::BTreeSet;

use abx_verdict::{MeanInterval, RunView, ServerTime, StudyRecord};

use crate::document::{CellDetail, Document, Matrix, MatrixHeader, MatrixRow, Table};
use crate::words::units::{GLUE, UNKNOWN, count, figure};
use crate::words::wrap::{clean_name, shorten};

pub(crate) const SERVER_TIMES_LEGEND: &str = "server timings: durations that subjects themselves \
     gave in the header Server-Timing of the responses that are verified: the mean over blocks, \
     and its interval. Below them, subject less baseline.";

/// A row for each name and subject under a load, then for each name and pair; `None` where no
/// subject gave any.
pub(crate) fn server_times_table(record: &StudyRecord, load: &str) -> Option<Table> {
    let conclusions = &record.conclusions;
    let times = conclusions
        .server_times
        .iter()
        .filter(|server_time| server_time.load == load);
    let times = times.map(|server_time| {
        let name = format!(
            "{} of {}",
            clean_name(&server_time.name),
            clean_name(&server_time.subject)
        );
        row(name, &server_time.us, count(server_time.count))
    });
    let pairs = conclusions.server_time_differences.iter();
    let pairs = pairs
        .filter(|time_difference| time_difference.load == load)
        .map(|time_difference| {
            let [name, subject, baseline] = [
                &time_difference.name,
                &time_difference.subject,
                &time_difference.baseline,
            ]
            .map(|text| clean_name(text));
            row(
                format!("{name} of {subject} less {baseline}"),
                &time_difference.us,
                UNKNOWN.to_owned(),
            )
        });
    let headers = ["server timing", "mean µs", "95 % interval", "responses"];
    let table = Table::new(headers, times.chain(pairs));
    (!table.rows.is_empty()).then_some(table)
}

/// A row per subject and a column per name, for a text of many of both; `None` if they are few.
pub(crate) fn server_times_at_a_glance(record: &StudyRecord, load: &str) -> Option<Document> {
    let times = record.conclusions.server_times.iter();
    let times: Vec<&ServerTime> = times.filter(|time| time.load == load).collect();
    if times.len() <= ROWS_MAX {
        return None;
    }
    let mut names: Vec<&str> = times.iter().map(|time| time.name.as_str()).collect();
    let mut subjects: Vec<&str> = times.iter().map(|time| time.subject.as_str()).collect();
    for of_times in [&mut names, &mut subjects] {
        let mut seen = BTreeSet::new();
        of_times.retain(|name| seen.insert(*name));
    }
    let rows = subjects.iter().map(|subject| {
        let cells = names.iter().map(|name| {
            let mut times = times.iter();
            let time = times.find(|time| [time.subject.as_str(), &time.name] == [*subject, *name]);
            time.map_or(UNKNOWN.to_owned(), |time| around(&time.us))
        });
        MatrixRow::of_figures(clean_name(subject), cells)
    });
    let headers = names.iter().map(|name| clean_name(name));
    Some(Document::from(Matrix {
        caption: "Server timings".to_owned(),
        headers: headers.map(MatrixHeader::named).collect(),
        rows: rows.collect(),
        legend: GLANCE_LEGEND.to_owned(),
        detail: CellDetail::Whole,
    }))
}

/// `810 ±72`: a mean and half of its interval, which is as long to both sides.
fn around(us: &MeanInterval) -> String {
    let mean = figure(us.mean);
    match us.low.zip(us.high) {
        Some((low, high)) => format!("{mean} ±{}", figure((high - low) / 2.0)),
        None => mean,
    }
}

/// Timings of which each has a row.
const ROWS_MAX: usize = 24;
const GLANCE_LEGEND: &str = "server timings in µs: durations in the header Server-Timing of \
     verified responses, mean ± half of the 95 % interval. `--html` has the differences.";

const RUN_SERVER_TIMES_LEGEND: &str = "server timings: durations that the server itself \
     gave in the header Server-Timing of the responses that are verified, and their mean.";

/// A row for each name that a server gave in a run; nothing where it gave none.
pub(crate) fn run_server_times(run: &RunView) -> Document {
    let rows = run.conclusions.server_times.iter().map(|server_time| {
        let name = clean_name(&server_time.name);
        [name, figure(server_time.us.mean), count(server_time.count)]
    });
    let table = Table::new(["server timing", "mean µs", "responses"], rows);
    let table = Some(table.captioned("Server timings")).filter(|table| !table.rows.is_empty());
    let mut out = Document::default();
    out.table(table, RUN_SERVER_TIMES_LEGEND);
    out
}

/// The same on one line, the longest first; empty where it gave none.
pub(crate) fn run_server_times_at_a_glance(run: &RunView) -> String {
    let mut times: Vec<&ServerTime> = run.conclusions.server_times.iter().collect();
    times.sort_by(|server_time, other| other.us.mean.total_cmp(&server_time.us.mean));
    let shown = times.iter().take(SHOWN_AT_A_GLANCE);
    let each = shown.map(|server_time| {
        let name = shorten(&clean_name(&server_time.name), 16);
        format!("{name} {}{GLUE}µs", figure(server_time.us.mean))
    });
    let more = times.len().saturating_sub(SHOWN_AT_A_GLANCE);
    let more = (more > 0).then(|| format!("{more} more"));
    each.chain(more).collect::<Vec<_>>().join(", ")
}

const SHOWN_AT_A_GLANCE: usize = 3;

fn row(name: String, us: &MeanInterval, responses: String) -> [String; 4] {
    let ends = us.low.zip(us.high);
    let interval = ends.map(|(low, high)| format!("{} to {}", figure(low), figure(high)));
    let interval = interval.unwrap_or_else(|| UNKNOWN.to_owned());
    [name, figure(us.mean), interval, responses]
}
