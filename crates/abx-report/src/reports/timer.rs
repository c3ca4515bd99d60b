//! The marker table: where the time of a command goes, by its own markers.

use abx_verdict::MeanInterval;
use abx_verdict::timer::{MarkerTime, P99_RUNS, TimerRecord};

use crate::document::{Document, Table, sections_text};
use crate::words::style::Style;
use crate::words::units::{UNKNOWN, count, figure, or_unknown, percent, plural};
use crate::words::wrap::clean_name;

/// The marker table of a command, ready to be printed.
#[must_use]
pub fn timer_text(record: &TimerRecord, style: &Style) -> String {
    let start = ["start", "0", UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN];
    let markers = record
        .markers
        .iter()
        .map(|marker| row(&name(marker), marker));
    let rows = [start.map(str::to_owned)]
        .into_iter()
        .chain(markers)
        .chain([row("end", &record.rest), whole(record)]);
    let headers = [
        "marker",
        "time index",
        "execution time",
        "share",
        "p50",
        "p99",
        "95 % interval",
    ];
    let mut table = Document::from(Table::new(headers, rows)).explained(LEGEND);
    for text in notes(record) {
        table.note(text);
    }
    sections_text([Document::from_iter([headline(record)]), table], style)
}

fn headline(record: &TimerRecord) -> String {
    let command = clean_name(&shell_words::join(&record.command));
    let runs = record.runs.len() as u64;
    let runs = match u64::from(record.asked_runs) {
        requested if requested == runs => plural(runs, "run"),
        requested => format!(
            "{} of {} before it was stopped",
            plural(runs, "run"),
            count(requested)
        ),
    };
    format!("{command}: {runs}.")
}

/// A marker's name, with its number from the second of that name in a run on.
fn name(marker: &MarkerTime) -> String {
    let name = clean_name(&marker.name);
    match marker.occurrence {
        1 => name,
        number => format!("{name} #{}", count(number.into())),
    }
}

fn row(name: &str, marker: &MarkerTime) -> [String; 7] {
    [
        name.to_owned(),
        ms(marker.index_us),
        ms(marker.us.mean),
        percent(marker.share),
        ms(marker.p50_us),
        or_unknown(marker.p99_us, ms),
        interval(&marker.us),
    ]
}

fn whole(record: &TimerRecord) -> [String; 7] {
    let total = &record.total;
    [
        "whole run".to_owned(),
        UNKNOWN.to_owned(),
        ms(total.us.mean),
        percent(1.0),
        ms(total.p50_us),
        or_unknown(total.p99_us, ms),
        interval(&total.us),
    ]
}

fn interval(us: &MeanInterval) -> String {
    let ends = us.low.zip(us.high);
    or_unknown(ends, |(low, high)| format!("{} to {}", ms(low), ms(high)))
}

fn ms(us: f64) -> String {
    figure(us / 1e3)
}

/// Notes on the limits of the table.
fn notes(record: &TimerRecord) -> Vec<String> {
    let runs = record.runs.len();
    let mut out = Vec::new();
    let partial: Vec<String> = record
        .markers
        .iter()
        .filter(|marker| marker.runs < runs)
        .map(|marker| format!("{} in {}", name(marker), count(marker.runs as u64)))
        .collect();
    if !partial.is_empty() {
        let runs = plural(runs as u64, "run");
        let partial = partial.join(", ");
        out.push(format!("Not in every one of {runs}: {partial}."));
    }
    match runs {
        1 => out.push("One run: `-n 30` gives intervals.".to_owned()),
        few if few < P99_RUNS => out.push(format!("p99 needs at least {P99_RUNS} runs.")),
        _ => {}
    }
    if record.together > 0 {
        out.push(format!(
            "{} came in one piece with the one before, so the time between them is unknown: the \
             command buffers its output. Print markers to standard error, or flush after each \
             (`python3 -u`, `stdbuf -oL`).",
            plural(record.together as u64, "marker")
        ));
    }
    out
}

const LEGEND: &str = "Times in ms. time index: from the start of a run; execution time: since the \
     marker before, the mean over runs with its interval; share: of all the time of all runs.";
