//! The subjects' own times, from `Server-Timing`: a table for each load.

use std::collections::BTreeSet;

use abx_verdict::{MeanInterval, RunView, ServerTime, StudyRecord};

use crate::document::{CellDetail, Document, Matrix, MatrixHeader, MatrixRow, Table};
use crate::words::units::{GLUE, UNKNOWN, count, figure, or_unknown};
use crate::words::wrap::{clean_name, shorten};

pub(crate) const SERVER_TIMES_LEGEND: &str = "server timings: durations that the subjects \
    reported in the header Server-Timing of verified responses: mean over blocks, with its \
    interval. Below them: subject minus baseline.";

/// A row for each name and subject under a load, then for each name and pair; `None` if no
/// subject reported any.
pub(crate) fn server_times_table(record: &StudyRecord, load: &str) -> Option<Table> {
    let conclusions = &record.conclusions;
    let times = conclusions.server_times.iter();
    let times = times.filter(|time| time.load == load).map(|time| {
        let [name, subject] = [&time.name, &time.subject].map(|text| clean_name(text));
        row(format!("{name} of {subject}"), &time.us, count(time.count))
    });
    let pairs = conclusions.server_time_differences.iter();
    let pairs = pairs.filter(|pair| pair.load == load).map(|pair| {
        let names = [&pair.name, &pair.subject, &pair.baseline];
        let [name, subject, baseline] = names.map(|text| clean_name(text));
        let name = format!("{name} of {subject} minus {baseline}");
        row(name, &pair.us, UNKNOWN.to_owned())
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
    for list in [&mut names, &mut subjects] {
        let mut seen = BTreeSet::new();
        list.retain(|name| seen.insert(*name));
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

/// `810 ±72`: a mean and half the width of its interval, which is symmetric.
fn around(us: &MeanInterval) -> String {
    let mean = figure(us.mean);
    match us.low.zip(us.high) {
        Some((low, high)) => format!("{mean} ±{}", figure((high - low) / 2.0)),
        None => mean,
    }
}

/// More timings than this do not have a row each in a text.
const ROWS_MAX: usize = 24;
const GLANCE_LEGEND: &str = "server timings in µs: durations in the header Server-Timing of \
     verified responses, mean ± half of the 95 % interval. `--html` has the differences.";

const RUN_SERVER_TIMES_LEGEND: &str = "server timings: durations that the server reported in the \
    header Server-Timing of verified responses, and their mean.";

/// A row for each name that a server reported in a run; nothing without any.
pub(crate) fn run_server_times(run: &RunView) -> Document {
    let rows = run.conclusions.server_times.iter().map(|time| {
        let name = clean_name(&time.name);
        [name, figure(time.us.mean), count(time.count)]
    });
    let table = Table::new(["server timing", "mean µs", "responses"], rows);
    let table = Some(table.captioned("Server timings")).filter(|table| !table.rows.is_empty());
    let mut out = Document::default();
    out.table(table, RUN_SERVER_TIMES_LEGEND);
    out
}

/// [`run_server_times`] on one line, the longest first; empty without any.
pub(crate) fn run_server_times_at_a_glance(run: &RunView) -> String {
    let mut times: Vec<&ServerTime> = run.conclusions.server_times.iter().collect();
    times.sort_by(|a, b| b.us.mean.total_cmp(&a.us.mean));
    let shown = times.iter().take(SHOWN_AT_A_GLANCE);
    let texts = shown.map(|time| {
        let name = shorten(&clean_name(&time.name), 16);
        format!("{name} {}{GLUE}µs", figure(time.us.mean))
    });
    let more = times.len().saturating_sub(SHOWN_AT_A_GLANCE);
    let more = (more > 0).then(|| format!("{more} more"));
    texts.chain(more).collect::<Vec<_>>().join(", ")
}

const SHOWN_AT_A_GLANCE: usize = 3;

fn row(name: String, us: &MeanInterval, responses: String) -> [String; 4] {
    let interval = or_unknown(us.low.zip(us.high), |(low, high)| {
        format!("{} to {}", figure(low), figure(high))
    });
    [name, figure(us.mean), interval, responses]
}
