//! A record in a list of records: the cells of its line.

use abx_evidence::history::{Entry, OutlineComparison, RecordKind};
use abx_evidence::{Metric, Verdict};

use super::metrics::metric_name;
use super::units::{UNKNOWN, count, figure, moment, or_unknown, plural, ratios};
use super::verdict::word;
use super::wrap::clean_name;

/// Columns of a line; the three in the middle share the room that is left.
pub(crate) type Cells = [String; COLUMNS];

/// What a record has in each column.
pub(crate) fn cells(entry: &Entry) -> Cells {
    let outline = &entry.outline;
    let names = |all: &mut dyn Iterator<Item = &String>| {
        let all: Vec<String> = all.map(|name| clean_name(name)).collect();
        all.join(", ")
    };
    let loads = match &outline.loads[..] {
        [only] => clean_name(only),
        several => plural(several.len() as u64, "load"),
    };
    let blocks = match outline.kind {
        RecordKind::Study => count(outline.blocks as u64),
        RecordKind::Run | RecordKind::Scenario => UNKNOWN.to_owned(),
    };
    [
        entry.id.clone(),
        moment(outline.started_unix_ms),
        names(&mut outline.subjects.iter().map(|subject| &subject.name)),
        loads,
        verdict(entry),
        blocks,
    ]
}

/// What came of it, in short: a run and a scenario have their throughput for a verdict.
fn verdict(entry: &Entry) -> String {
    let outline = &entry.outline;
    match (&outline.comparisons[..], outline.kind) {
        ([], RecordKind::Run) => or_unknown(outline.throughput_per_s, |rate| {
            format!("{}/s", figure(rate))
        }),
        ([], RecordKind::Scenario) => or_unknown(outline.throughput_per_s, |rate| {
            format!("{} sessions/s", figure(rate))
        }),
        ([], RecordKind::Study) => UNKNOWN.to_owned(),
        ([only], _) => one_verdict(only),
        (several, _) => plural(several.len() as u64, "verdict"),
    }
}

/// How often there is each verdict, where there are several: they would not fit
/// into the column.
pub(crate) fn verdicts(entry: &Entry) -> Option<String> {
    let outline = &entry.outline;
    if outline.comparisons.len() < 2 {
        return None;
    }
    let counts = outline.verdicts();
    let each = counts
        .iter()
        .map(|(verdict, times)| format!("{} {}", count(*times as u64), word(*verdict)));
    Some(each.collect::<Vec<_>>().join(", "))
}

fn one_verdict(one: &OutlineComparison) -> String {
    let ratio = one.ratio.zip(one.low.zip(one.high));
    match ratio.filter(|_| one.verdict != Verdict::Inconclusive) {
        Some((ratio, (low, high))) => {
            let [ratio, ..] = ratios([ratio, low, high]);
            // The column is narrow, so whatever is not throughput has a short name.
            let of = match one.metric {
                Metric::Throughput => "",
                Metric::ServerCpu => " CPU",
                Metric::ResponseP50 => " p50",
                Metric::ResponseP90 => " p90",
                Metric::ResponseP99 => " p99",
                Metric::ResponseP999 => " p99.9",
                metric => &format!(" {}", metric_name(metric)),
            };
            format!("{ratio} {}{of}", word(one.verdict))
        }
        None => word(one.verdict).to_owned(),
    }
}

pub(crate) const COLUMNS: usize = 6;
/// What each column is called.
pub(crate) const COLUMN_NAMES: [&str; COLUMNS] =
    ["id", "when (UTC)", "subjects", "loads", "verdict", "blocks"];
