//! A run in words: what was offered, what came of it, and what it cost.

use abx_evidence::{Figure, Level, Limits, LoadShape, Outcome, Times};
use abx_verdict::{GeneratorSide, RunRecord, ServerSide};

use crate::document::{Document, DocumentPart, sections_markdown, sections_text};
use crate::markdown::code;
use crate::sections::compared::findings::{LoadCount, by_cause, findings, findings_folded};
use crate::sections::measured::held::held_text;
use crate::sections::measured::outcomes::{by_class, run_outcomes};
use crate::sections::measured::phases::run_phases;
use crate::sections::measured::run_times::run_times;
use crate::sections::measured::scope;
use crate::sections::measured::server_times::{run_server_times, server_times_at_a_glance};
use crate::words::fleet::agents;
use crate::words::load::{arrivals, exchange, keep_alive, rate, requests_briefly};
use crate::words::style::{LINE, ReportExtent, Style, Tint};
use crate::words::terms::{definitions, run_terms};
use crate::words::times::time_with_unit;
use crate::words::units::{
    GLUE, TimeUnit, bytes, count, figure, or_unknown, plural, seconds, share, whole_percent,
};
use crate::words::verdict::name;
use crate::words::wrap::clean_name;

/// Where a run went and what it offered, each on a line of its own.
pub(crate) fn offer(record: &RunRecord) -> Document {
    Document::from_iter([clean_name(&record.settings.url)]).explained(&offered_load(record))
}

fn offered_load(record: &RunRecord) -> String {
    let settings = &record.settings;
    let unit = settings.exchange.shape.unit();
    let ordered = [
        settings.duration_s.map(seconds),
        settings.requests.map(|number| plural(number, unit)),
        settings
            .warm_up_s
            .map(|warm_up_s| format!("after {} of warm-up", seconds(warm_up_s))),
    ];
    let is_request = settings.exchange.shape == LoadShape::Request;
    let mut parts = Vec::new();
    let drawn = record.load().filter(|load| load.requests.len() > 1);
    let method = || clean_name(&settings.method);
    parts.extend(is_request.then(|| drawn.map_or_else(method, requests_briefly)));
    parts.extend(arrivals(&settings.arrivals));
    parts.push(plural(settings.connections.into(), "connection"));
    parts.push(plural(settings.threads as u64, "thread"));
    parts.extend(is_request.then(|| keep_alive(settings.keep_alive)));
    parts.extend(exchange(&settings.exchange));
    parts.extend(ordered.into_iter().flatten());
    parts.join(", ")
}

pub(crate) fn headline(record: &RunRecord, style: &Style) -> Document {
    Document::from_iter([match &record.held {
        Some(held) => held_text(held),
        None => throughput(record, style),
    }])
}

/// The headline, limited as the findings limit it.
fn throughput(record: &RunRecord, style: &Style) -> String {
    // What limits times only leaves throughput as it is.
    let findings = record.findings.iter();
    let ours = findings.filter(|finding| finding.limits == Limits::All);
    let worst = ours.map(|finding| finding.level).max();
    let Some(achieved) = record.throughput_per_s else {
        return "Throughput: not measured.".to_owned();
    };
    let (limit, claim) = match worst {
        Some(Level::Void) => (
            "",
            format!(" {}: see below.", style.paint("No result", Tint::Bad)),
        ),
        Some(Level::Bound) => ("at least ", String::new()),
        Some(Level::Note) | None => ("", String::new()),
    };
    let counted = match record.settings.exchange.shape {
        LoadShape::Request => "/s (verified responses)",
        LoadShape::Echo => " messages/s (each echoed back)",
        LoadShape::Broadcast => " broadcasts/s (each received by all listeners)",
        LoadShape::Connections => " connections/s",
        LoadShape::Scenario => " sessions/s (every step succeeded)",
    };
    let asked = rate(&record.settings.arrivals)
        .map_or_else(String::new, |rate| format!(" of {rate} offered"));
    format!(
        "Throughput: {limit}{}{counted}{asked}, measured for {}.{claim}",
        figure(achieved),
        seconds(record.counted_s())
    )
}

/// Response times at a glance: the quantiles that matter, mean and spread. Empty without
/// any time.
pub(crate) fn glance(times: &Times, style: &Style) -> Vec<String> {
    let named = |figure: Figure| {
        times.figure(figure)?;
        let text = time_with_unit(times, figure, style);
        Some(format!("{} {text}", figure.name()))
    };
    let line = |figures: &[Figure], more: Option<String>| {
        let parts: Vec<String> = figures
            .iter()
            .filter_map(|figure| named(*figure))
            .chain(more)
            .collect();
        Some(parts.join(", ")).filter(|line| !line.is_empty())
    };
    let spread = times.standard_deviation.map(|us| {
        let us = us.round() as u64;
        let unit = TimeUnit::of([Some(us)]);
        format!(
            "standard deviation {}{GLUE}{}",
            unit.show(Some(us)),
            unit.sign()
        )
    });
    let quantiles = [Figure::P50, Figure::P99, Figure::P999, Figure::Max];
    [line(&quantiles, None), line(&[Figure::Mean], spread)]
        .into_iter()
        .flatten()
        .collect()
}

/// Complete responses by the class of their status. Older records do not say which status
/// came where another one was expected.
fn statuses(record: &RunRecord) -> String {
    let requests = &record.requests;
    let mut classes = requests.wrong_statuses.classes();
    let figure: u64 = classes.values().sum();
    let other = requests.outcomes.count(Outcome::WrongStatus);
    let expected = requests.completed.saturating_sub(other);
    *classes.entry(record.response.status / 100).or_default() += expected;
    let mut parts = vec![by_class(classes)];
    let untold = other.saturating_sub(figure);
    if untold > 0 {
        let status = record.response.status;
        parts.push(format!("another than {status} {}", count(untold)));
    }
    parts.join(", ")
}

/// Requests without a right response, by what became of them, and those never sent.
fn errors(record: &RunRecord) -> String {
    let outcomes = &record.requests.outcomes;
    // What was sent again is told by what became of it then.
    let is_error = |outcome: Outcome| outcome.is_of_request() || outcome.is_failure();
    let all_parts = outcomes
        .iter()
        .filter(|(outcome, _)| *outcome != Outcome::Ok);
    let each = all_parts.filter(|(outcome, _)| is_error(*outcome));
    let each = each
        .map(|(outcome, times)| format!("{} {}", outcome.name().replace('_', " "), count(times)));
    let mut parts: Vec<String> = each.collect();
    let failed = outcomes.failed();
    if let Some(last) = parts.last_mut().filter(|_| failed > 0) {
        let share = share(failed, record.requests.sent);
        last.push_str(&format!(" ({share} of requests)"));
    }
    let unsent = record.offered.map_or(0, |offered| offered.unsent);
    if unsent > 0 {
        parts.push(format!("{} were due and never sent", count(unsent)));
    }
    if parts.is_empty() {
        "none".to_owned()
    } else {
        parts.join(", ")
    }
}

fn side_lines(record: &RunRecord) -> [(&'static str, String); 4] {
    let rate = (record.elapsed_s > 0.0).then(|| record.bytes as f64 / record.elapsed_s);
    [
        (
            "received",
            format!(
                "{} ({} in bodies), {}",
                bytes(record.bytes as f64),
                bytes(record.body_bytes as f64),
                or_unknown(rate, |rate| format!("{}/s", bytes(rate)))
            ),
        ),
        (
            "connections",
            format!(
                "{}, {} opened after the start",
                count(record.settings.connections.into()),
                count(record.connects)
            ),
        ),
        ("generator", generator(&record.generator)),
        (
            "server",
            record
                .server
                .as_ref()
                .map_or_else(|| NOT_CHECKED.to_owned(), server),
        ),
    ]
}

fn generator(side: &GeneratorSide) -> String {
    let unit = TimeUnit::of([side.lateness_us.p99]);
    let waited = side
        .wait_s
        .map(|wait| format!("waited {} for a CPU", seconds(wait)));
    let late = side.lateness_us.p99;
    let lag = side.loop_lag_us.p99;
    let turns = TimeUnit::of([lag]);
    let turns = lag.map_or_else(String::new, |_| {
        format!(
            "99 % of event loop turns within {}{GLUE}{}, ",
            turns.show(lag),
            turns.sign()
        )
    });
    format!(
        "{} busy, {}, {}, {turns}{}",
        whole_percent(side.busy),
        cpu(side.cpu_us_per_request),
        match late {
            Some(_) => format!(
                "99 % of sends at most {}{GLUE}{} late",
                unit.show(late),
                unit.sign()
            ),
            None => "nothing sent".to_owned(),
        },
        waited.unwrap_or_else(|| format!("waiting for a CPU {NOT_CHECKED}"))
    )
}

fn server(side: &ServerSide) -> String {
    let (name, process) = (name(&side.name), side.process_id);
    format!("{name} (process {process}): {}", used(side))
}

/// What it used, without its process.
fn server_at_a_glance(side: &ServerSide) -> String {
    format!("{}: {}", name(&side.name), used(side))
}

fn used(side: &ServerSide) -> String {
    format!(
        "{} busy, {}, {}",
        whole_percent(side.busy),
        cpu(side.cpu_us_per_request),
        side.rss_bytes.map_or_else(
            || format!("memory {NOT_CHECKED}"),
            |size| format!("{} of memory", bytes(size as f64))
        )
    )
}

fn cpu(us_per_request: Option<f64>) -> String {
    us_per_request.map_or_else(
        || format!("CPU per response {NOT_CHECKED}"),
        |us| format!("{}{GLUE}µs of CPU per response", figure(us)),
    )
}
const NOT_CHECKED: &str = "not checked";

/// The report of a run, ready to be printed.
#[must_use]
pub fn run_text(record: &RunRecord, extent: ReportExtent, style: &Style) -> String {
    let sections = match extent {
        ReportExtent::Full => {
            let mut sections = all_sections(record, style);
            sections.push(findings(&record.findings, LoadCount::One));
            sections
        }
        ReportExtent::Brief => vec![at_a_glance(record, style)],
        ReportExtent::Explained => vec![
            at_a_glance(record, style),
            definitions(&run_terms(record)).collect(),
        ],
    };
    sections_text(sections, style)
}

/// A run in Markdown: its report, its findings before the figures.
#[must_use]
pub fn run_markdown(record: &RunRecord) -> String {
    let url = code(&record.settings.url);
    let headline = match record.throughput_per_s {
        Some(throughput) => format!("{} verified responses/s from {url}", figure(throughput)),
        None => format!("{url}: nothing was measured"),
    };
    let mut sections = vec![findings_folded(&record.findings, LoadCount::One, false)];
    sections.extend(all_sections(record, &LINE));
    sections_markdown([format!("### abx: {headline}\n")], &sections)
}

/// What a run tells on a few lines: how fast, how long, what came and what it cost.
fn at_a_glance(record: &RunRecord, style: &Style) -> Document {
    let mut out = headline(record, style);
    let mut pairs = Vec::new();
    if record.held.is_none() {
        let times = glance(&record.response_time_us, style);
        pairs.extend(["response time", ""].into_iter().zip(times));
        let handshakes = record.handshake_us.as_ref().map(|us| glance(us, style));
        if let Some(line) = handshakes.and_then(|lines| lines.into_iter().next()) {
            pairs.push(("TLS handshake", line + &resumed(record)));
        }
        if record.settings.exchange.shape == LoadShape::Request {
            pairs.push(("status", statuses(record)));
        }
        pairs.push(("errors", errors(record)));
    }
    let server = record.server.as_ref();
    pairs.extend(server.map(|side| ("server", server_at_a_glance(side))));
    let message = server_times_at_a_glance(record);
    if !message.is_empty() {
        pairs.push(("server says", message));
    }
    let url = clean_name(&record.settings.url);
    pairs.push(("load", format!("{url}, {}", offered_load(record))));
    out.0.push(DocumentPart::Pairs {
        caption: "At a glance",
        pairs,
        columns: GLANCE,
    });
    out.append(by_cause(&record.findings));
    out.paragraph("--full prints all figures and remedies; --explain-terms says what words mean.");
    out
}

/// How many handshakes resumed a session, where all were to.
fn resumed(record: &RunRecord) -> String {
    let tls = record.settings.tls.as_ref();
    let share = record
        .handshakes_resumed
        .filter(|_| tls.is_some_and(|tls| tls.resumption));
    share.map_or_else(String::new, |share| {
        format!("; {:.1} % resumed", 100.0 * share)
    })
}

fn all_sections(record: &RunRecord, style: &Style) -> Vec<Document> {
    let mut sections = vec![offer(record), headline(record, style)];
    if record.held.is_none() {
        sections.extend([
            run_outcomes(record),
            run_times(record, style),
            run_phases(record),
            run_server_times(record),
        ]);
    }
    sections.push(sides(record));
    sections.push(Document::from_iter([scope::of_run(&record.scope)]));
    sections
}

/// What both sides did, and the agents that made the load.
pub(crate) fn sides(record: &RunRecord) -> Document {
    let fleet = record.measured.fleet.as_ref();
    let fleet = fleet.map(|fleet| ("agents", agents(fleet)));
    Document(vec![DocumentPart::Pairs {
        caption: "On both sides",
        pairs: side_lines(record).into_iter().chain(fleet).collect(),
        columns: LABEL,
    }])
}

const LABEL: usize = 13;
const GLANCE: usize = 15;
