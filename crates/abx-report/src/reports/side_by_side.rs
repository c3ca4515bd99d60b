//! Several records side by side: every ratio on one axis, and a table of each subject's figures.

use abx_evidence::Figure as Quantile;
use abx_verdict::{Comparison, Metric, StudyRecord, Summary};

use crate::document::{Document, Table};
use crate::html::markup::{Markup, element, missing, note};
use crate::html::page::Page;
use crate::sections::compared::ratios::{RatioRow, table};
use crate::sections::compared::verdicts::title;
use crate::words::metrics::{metric_name, rate_of_all};
use crate::words::style::LINE;
use crate::words::times::{at_least_legend, time};
use crate::words::units::{TimeUnit, UNKNOWN, count, date, figure, or_unknown, percent};
use crate::words::verdict::load_text;
use crate::words::wrap::clean_name;

/// One of several records.
#[derive(Debug, Clone, Copy)]
pub struct NamedRecord<'a> {
    pub id: &'a str,
    pub record: &'a StudyRecord,
}

/// A record that was requested and is not shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotShown {
    /// The id that it was requested by.
    pub id: String,
    pub why: String,
}

/// Records side by side as an HTML page, in the order in which they are given.
#[must_use]
pub fn side_by_side_html(records: &[NamedRecord<'_>], not_shown: &[NotShown]) -> String {
    let sections = [
        ("unread", "Not shown", unread(not_shown)),
        ("ratios", "Ratios", ratios(records)),
        ("figures", "Figures", figures(records)),
        ("subjects", "Subjects", subjects(records)),
        ("records", "Records", about(records)),
    ];
    let how = "Each ratio was measured side by side, within its record. Figures of different \
               records were not: machine, time and settings may differ.";
    let title = format!("{} records side by side", count(records.len() as u64));
    Page::new(title, how, sections).html()
}

/// Every primary comparison, sorted by metric and load.
fn ratios(records: &[NamedRecord<'_>]) -> Markup {
    let comparisons = records.iter().flat_map(|named| {
        let comparisons = named.record.conclusions.primary();
        comparisons.map(move |comparison| (*named, comparison))
    });
    let mut comparisons: Vec<(NamedRecord, &Comparison)> = comparisons.collect();
    let mut loads: Vec<&str> = Vec::new();
    for (_, comparison) in &comparisons {
        if !loads.contains(&comparison.load.as_str()) {
            loads.push(&comparison.load);
        }
    }
    // The sort is stable, so records keep their order within a metric and load.
    comparisons.sort_by_key(|(_, comparison)| {
        let mut metrics = Metric::ALL.into_iter();
        let metric = metrics.position(|metric| metric == comparison.metric);
        let load = loads.iter().position(|load| *load == comparison.load);
        (metric, load)
    });
    let is_one_metric = comparisons
        .windows(2)
        .all(|pair| pair[0].1.metric == pair[1].1.metric);
    let rows = comparisons.iter().map(|(named, comparison)| {
        let load = load_text(named.record, &comparison.load);
        let mut of = format!("{}, {load}", named.id);
        if !is_one_metric {
            of.push_str(&format!(", {}", metric_name(comparison.metric)));
        }
        RatioRow::of(of, named.record, comparison)
    });
    let rows: Vec<RatioRow> = rows.collect();
    let mut out = table("Ratios of all records", "record and load", &rows);
    if out.is_empty() {
        out.push(element("p").text("None of them compares anything."))
    } else {
        out.push(note(HOW_TO_READ))
    }
    out
}

/// The summary of each subject under each load of a record, after its names: record, subject and
/// load.
fn lines<'a>(named: &NamedRecord<'a>) -> impl Iterator<Item = ([String; 3], &'a Summary)> {
    let (id, record) = (named.id, named.record);
    record.conclusions.summaries.iter().map(move |summary| {
        let load = load_text(record, &summary.load);
        ([id.to_owned(), clean_name(&summary.subject), load], summary)
    })
}

fn figures(records: &[NamedRecord<'_>]) -> Markup {
    let lines: Vec<_> = records.iter().flat_map(lines).collect();
    if lines.is_empty() {
        return Markup::new();
    }
    let unit = TimeUnit::of(
        lines
            .iter()
            .map(|(_, summary)| summary.response_time_us.p50),
    );
    let rates: Vec<&str> = records
        .iter()
        .map(|named| rate_of_all(named.record))
        .collect();
    let rate =
        rates.iter().skip(1).fold(
            rates[0],
            |rate, other| {
                if rate == *other { rate } else { "per second" }
            },
        );
    let mut headers: Vec<String> = ["record", "subject", "load", rate]
        .map(str::to_owned)
        .into();
    headers.extend(SHOWN.map(|figure| format!("{} {}", figure.name(), unit.sign())));
    headers.extend(["CPU µs", "ok", "failed"].map(str::to_owned));
    let row = |(names, summary): &([String; 3], &Summary)| {
        let mut cells = names.to_vec();
        cells.push(or_unknown(summary.throughput_per_s, figure));
        cells.extend(SHOWN.map(|figure| time(&summary.response_time_us, figure, unit, &LINE)));
        cells.push(or_unknown(summary.server_cpu_us_per_request, figure));
        cells.extend([
            count(summary.outcomes.ok()),
            count(summary.outcomes.failed()),
        ]);
        cells
    };
    let grid = Table::new(headers, lines.iter().map(row))
        .captioned("What each subject did in each record")
        .named_by(3);
    let at_least = at_least_legend(
        lines.iter().map(|(_, summary)| &summary.response_time_us),
        &SHOWN,
        &LINE,
    );
    let text = format!(
        "p50 to p99.9: response time that this share of the requests does not exceed. CPU: the \
         server's CPU time per response. -: not checked.{at_least}"
    );
    Document::from(grid).explained(&text).html()
}

fn subjects(records: &[NamedRecord<'_>]) -> Markup {
    let rows = |named: &NamedRecord| {
        let subjects = named.record.measured.subjects.iter();
        let rows = subjects.map(|subject| {
            let how = match &subject.address {
                Some(address) => format!("was running at {address}"),
                None => shell_words::join(&subject.command),
            };
            let version = subject.version.clone();
            let version = version.unwrap_or_else(|| UNKNOWN.to_owned());
            [named.id.to_owned(), clean_name(&subject.name), version, how]
        });
        rows.collect::<Vec<_>>()
    };
    let grid = Table::new(
        ["record", "subject", "version, as it reports it", "command"],
        records.iter().flat_map(rows),
    )
    .captioned("Subjects of each record")
    .of_words()
    .named_by(2);
    Document::from(grid).html()
}

fn about(records: &[NamedRecord<'_>]) -> Markup {
    let row = |named: &NamedRecord| {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| UNKNOWN.to_owned());
        let measured = &named.record.measured;
        let machine = &measured.machine;
        [
            named.id.to_owned(),
            date(measured.started_unix_ms),
            measured.abx_version.clone(),
            count(measured.complete_blocks().count() as u64),
            percent(measured.settings.margin),
            text(&machine.cpu_model),
            count(machine.cpus as u64),
            text(&machine.kernel),
        ]
    };
    let headers = [
        "record",
        "started",
        "abx",
        "blocks",
        "margin",
        "processor",
        "processors",
        "kernel",
    ];
    let grid = Table::new(headers, records.iter().map(row))
        .captioned("When and where each was measured")
        .of_words();
    let links = records.iter().map(|named| {
        let link = element("a").with("href", format!("/record/{}", named.id));
        element("li")
            .add(link.text(named.id))
            .text(&format!(" {}", title(named.record)))
    });
    let back = element("p").add(element("a").with("href", "/").text("All records"));
    let mut out = Document::from(grid).html();
    out.push_all([element("ul").add_all(links), back]);
    out
}

fn unread(not_shown: &[NotShown]) -> Markup {
    missing(not_shown.iter().map(|record| {
        let why = format!(": {}", record.why);
        (clean_name(&record.id), why)
    }))
}

const SHOWN: [Quantile; 4] = [Quantile::P50, Quantile::P90, Quantile::P99, Quantile::P999];
const HOW_TO_READ: &str = "Subject over baseline; for times, below 1 is faster. Diamond: the \
                           ratio; bar: its interval; arrow: or further. Dots below: single \
                           blocks. Hatched: differences of up to the margin of that record, which \
                           do not matter.";
