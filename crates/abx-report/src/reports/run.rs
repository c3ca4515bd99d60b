//! A run in words and as a page: what was offered, what came of it, and what it cost.

use abx_evidence::record::ListenerRecord;
use abx_evidence::{Figure, Finding, Level, Limits, LoadShape, Outcome, Times};
use abx_verdict::RunView;

use crate::document::{Document, DocumentPart, Table, pages, sections_markdown};
use crate::html::page::Page;
use crate::markdown::code;
use crate::sections::compared::findings::{
    LoadCount, all_findings, by_cause, findings, findings_folded, limits_briefly,
};
use crate::sections::flame_graphs::flame_graphs;
use crate::sections::measured::course::course;
use crate::sections::measured::held::held_text;
use crate::sections::measured::how_measured::{labelled, machine, machine_briefly};
use crate::sections::measured::outcomes::{by_class, run_outcomes};
use crate::sections::measured::phases::run_phases;
use crate::sections::measured::run_times::run_times;
use crate::sections::measured::scope;
use crate::sections::measured::server_times::{run_server_times, run_server_times_at_a_glance};
use crate::sections::steps::run_steps;
use crate::sections::why::of_one;
use crate::words::fleet::agents;
use crate::words::load::{arrivals, exchange, hashed, keep_alive, rate, requests_briefly};
use crate::words::style::{LINE, ReportExtent, Style, Tint};
use crate::words::terms::{definitions, run_terms};
use crate::words::times::time_with_unit;
use crate::words::units::{
    GLUE, TimeUnit, bytes, count, date, figure, or_unknown, plural, seconds, share, whole_percent,
};
use crate::words::verdict::name;
use crate::words::wrap::clean_name;

/// Where a run went and what it offered, each on a line of its own.
fn offer(run: &RunView) -> Document {
    Document::from_iter([clean_name(run.url())]).explained(&offered_load(run))
}

fn offered_load(run: &RunView) -> String {
    let (settings, ordered) = (&run.load.settings, run.pilot);
    let unit = settings.exchange.shape.unit();
    let ordered = [
        Some(match ordered.slice_requests {
            None => seconds(ordered.slice_ns as f64 / 1e9),
            Some(number) => plural(number, unit),
        }),
        (ordered.warm_up_ns > 0).then(|| {
            let warm_up_s = ordered.warm_up_ns as f64 / 1e9;
            format!("after {} of warm-up", seconds(warm_up_s))
        }),
    ];
    let is_request = settings.exchange.shape == LoadShape::Request;
    let connections = u64::from(settings.connections);
    let mut parts = Vec::new();
    parts.extend(is_request.then(|| match &settings.requests[..] {
        [request] => clean_name(&request.method),
        _ => requests_briefly(settings),
    }));
    parts.extend(arrivals(&settings.arrivals));
    parts.push(match &settings.scenario {
        Some(scenario) => {
            let users = plural(connections, "user");
            format!("{users} of {}", clean_name(&scenario.file))
        }
        None => plural(connections, "connection"),
    });
    parts.push(plural(run.measured.settings.threads as u64, "thread"));
    parts.extend(is_request.then(|| keep_alive(settings.keep_alive)));
    parts.extend(exchange(&settings.exchange));
    parts.extend(ordered.into_iter().flatten());
    parts.join(", ")
}

fn headline(run: &RunView, style: &Style) -> Document {
    Document::from_iter([match &run.readings.held {
        Some(held) => held_text(held),
        None => throughput(run, style),
    }])
}

/// The headline, limited as the findings limit it.
fn throughput(run: &RunView, style: &Style) -> String {
    // What limits times only leaves throughput as it is.
    let findings = findings_of(run).iter();
    let ours = findings.filter(|finding| finding.limits == Limits::All);
    let worst = ours.map(|finding| finding.level).max();
    let Some(achieved) = run.summary.throughput_per_s else {
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
    let counted = match run.load.settings.exchange.shape {
        LoadShape::Request => "/s (verified responses)",
        LoadShape::Echo => " messages/s (each echoed back)",
        LoadShape::Broadcast => " broadcasts/s (each received by all listeners)",
        LoadShape::Connections => " connections/s",
        LoadShape::Scenario => " sessions/s (every step succeeded)",
    };
    let offered = rate(&run.load.settings.arrivals)
        .map_or_else(String::new, |rate| format!(" of {rate} offered"));
    format!(
        "Throughput: {limit}{}{counted}{offered}, measured for {}.{claim}",
        figure(achieved),
        seconds(run.counted_s())
    )
}

/// Response times at a glance: the quantiles that matter, mean and spread. Empty without
/// any time.
fn glance(times: &Times, style: &Style) -> Vec<String> {
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

/// Complete responses by the class of their status. Older records do not state which status
/// came where another one was expected.
fn statuses(run: &RunView) -> Option<String> {
    let status = run.response?.status;
    let mut classes = run.summary.wrong_statuses.classes();
    let figure: u64 = classes.values().sum();
    let other = run.slice.outcomes.count(Outcome::WrongStatus);
    let expected = run.slice.completed.saturating_sub(other);
    *classes.entry(status / 100).or_default() += expected;
    let mut parts = vec![by_class(classes)];
    let untold = other.saturating_sub(figure);
    if untold > 0 {
        parts.push(format!("another than {status} {}", count(untold)));
    }
    Some(parts.join(", "))
}

/// Requests without a right response, by what became of them, and those never sent.
fn errors(run: &RunView) -> String {
    let outcomes = &run.slice.outcomes;
    // What was sent again is counted by what became of it then.
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
        let share = share(failed, run.slice.sent);
        last.push_str(&format!(" ({share} of requests)"));
    }
    let unsent = run.summary.offered.map_or(0, |offered| offered.unsent);
    if unsent > 0 {
        parts.push(format!("{} were due and never sent", count(unsent)));
    }
    if parts.is_empty() {
        "none".to_owned()
    } else {
        parts.join(", ")
    }
}

fn side_lines(run: &RunView) -> [(&'static str, String); 4] {
    let slice = run.slice;
    let rate = (slice.wall_ns > 0).then(|| slice.bytes as f64 / run.elapsed_s());
    [
        (
            "received",
            format!(
                "{} ({} in bodies), {}",
                bytes(slice.bytes as f64),
                bytes(slice.body_bytes as f64),
                or_unknown(rate, |rate| format!("{}/s", bytes(rate)))
            ),
        ),
        (
            "connections",
            format!(
                "{}, {} opened after the start",
                count(run.load.settings.connections.into()),
                count(slice.connects)
            ),
        ),
        ("generator", generator(run)),
        (
            "server",
            used(run).map_or_else(
                || NOT_CHECKED.to_owned(),
                |(listener, used)| {
                    let (name, process) = (name(&listener.name), listener.process_id);
                    format!("{name} (process {process}): {used}")
                },
            ),
        ),
    ]
}

fn generator(run: &RunView) -> String {
    let late = run.summary.lateness_us.p99;
    let unit = TimeUnit::of([late]);
    let waited = run
        .slice
        .generator_wait_ns
        .map(|ns| format!("waited {} for a CPU", seconds(ns as f64 / 1e9)));
    let lag = run.summary.loop_lag_us.p99;
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
        whole_percent(run.generator_busy()),
        cpu(run, run.generator_cpu_us()),
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

/// The process that listens, and what its process tree used; `None` when it cannot be seen.
fn used<'a>(run: &RunView<'a>) -> Option<(&'a ListenerRecord, String)> {
    let listener = run.life.listener.as_ref()?;
    let used = format!(
        "{} busy, {}, {}",
        whole_percent(run.server_busy()?),
        cpu(run, run.summary.server_cpu_us_per_request),
        run.life.rss_bytes_max.map_or_else(
            || format!("memory {NOT_CHECKED}"),
            |size| format!("{} of memory", bytes(size as f64))
        )
    );
    Some((listener, used))
}

fn cpu(run: &RunView, us_per_request: Option<f64>) -> String {
    let unit = match run.load.settings.exchange.shape {
        LoadShape::Scenario => "session",
        _ => "response",
    };
    us_per_request.map_or_else(
        || format!("CPU per {unit} {NOT_CHECKED}"),
        |us| format!("{}{GLUE}µs of CPU per {unit}", figure(us)),
    )
}
const NOT_CHECKED: &str = "not checked";

fn run_why(run: &RunView) -> Document {
    of_one(&run.conclusions.cpu_ledgers)
}

fn findings_of<'a>(run: &RunView<'a>) -> &'a [Finding] {
    &run.conclusions.validity.findings
}

pub(crate) fn run_sections(run: &RunView, extent: ReportExtent, style: &Style) -> Vec<Document> {
    match extent {
        ReportExtent::Full => {
            let mut sections = all_sections(run, style);
            sections.push(findings(findings_of(run), LoadCount::One));
            sections
        }
        ReportExtent::Brief => vec![at_a_glance(run, style), run_steps(run, style), run_why(run)],
        ReportExtent::Explained => vec![
            at_a_glance(run, style),
            run_steps(run, style),
            run_why(run),
            definitions(&run_terms(run)).collect(),
        ],
    }
}

/// A run in Markdown: its report, its findings before the figures.
pub(crate) fn run_markdown(run: &RunView) -> String {
    let url = code(run.url());
    let headline = match run.summary.throughput_per_s {
        Some(throughput) => format!("{} verified responses/s from {url}", figure(throughput)),
        None => format!("{url}: nothing was measured"),
    };
    let mut sections = vec![findings_folded(findings_of(run), LoadCount::One, false)];
    sections.extend(all_sections(run, &LINE));
    sections_markdown([format!("### abx: {headline}\n")], &sections)
}

/// The report of a run as an HTML page: one server, one load, no comparison.
pub(crate) fn run_page(run: &RunView, title: String) -> Page {
    let measured = run.measured;
    let subtitle = format!(
        "{}, {}, abx {}.",
        date(measured.started_unix_ms),
        seconds(run.elapsed_s()),
        measured.abx_version
    );
    let mut result = headline(run, &LINE);
    result.append(offer(run));
    result.append(limits_briefly(findings_of(run)));
    result.paragraph(format!("On {}.", machine_briefly(&measured.machine)));
    let mut cpu_time = run_why(run);
    cpu_time.append(flame_graphs(measured, run.conclusions));
    let mut where_time_goes = run_phases(run);
    where_time_goes.append(run_server_times(run));
    let sections = pages([
        ("throughput", "Throughput", result.explained(&scope(run))),
        ("course", "Over time", course(run)),
        ("times", "Times", run_times(run, &LINE)),
        ("steps", "Steps", run_steps(run, &LINE)),
        ("phases", "Where the time goes", where_time_goes),
        ("outcomes", "Outcomes", run_outcomes(run)),
        ("why", "CPU time", cpu_time),
        ("cost", "Cost", sides(run)),
        ("findings", "Findings", all_findings(findings_of(run), 1)),
        ("conduct", "How it was measured", how_measured(run)),
    ]);
    Page::new(title, &subtitle, sections).folded_after("throughput")
}

fn scope(run: &RunView) -> String {
    scope::of_run(&run.conclusions.scope)
}

fn how_measured(run: &RunView) -> Document {
    let settings = &run.load.settings;
    let method = settings.requests.first();
    let mut all_pairs = vec![
        ("address", run.url().to_owned()),
        (
            "method",
            method.map_or_else(String::new, |request| request.method.clone()),
        ),
        ("connections", count(settings.connections.into())),
        ("time-out", seconds(settings.timeout.as_secs_f64())),
        ("bodies hashed", hashed(settings)),
    ];
    let label = run.measured.label.as_deref();
    all_pairs.extend(label.map(|label| ("label", clean_name(label))));
    all_pairs.extend(machine(&run.measured.machine));
    Table::pairs("Settings and machine", all_pairs).into()
}

/// A run on a few lines: how fast, how long, what came and what it cost.
fn at_a_glance(run: &RunView, style: &Style) -> Document {
    let mut out = headline(run, style);
    let mut pairs = Vec::new();
    if run.readings.held.is_none() {
        let times = glance(&run.summary.response_time_us, style);
        let label = match run.load.settings.exchange.shape {
            LoadShape::Scenario => "session time",
            _ => "response time",
        };
        pairs.extend([label, ""].into_iter().zip(times));
        let handshakes = run
            .summary
            .handshake_us
            .as_ref()
            .map(|us| glance(us, style));
        if let Some(line) = handshakes.and_then(|lines| lines.into_iter().next()) {
            pairs.push(("TLS handshake", line + &resumed(run)));
        }
        if run.load.settings.exchange.shape == LoadShape::Request {
            pairs.extend(statuses(run).map(|text| ("status", text)));
        }
        pairs.push(("errors", errors(run)));
    }
    let used = used(run).map(|(listener, used)| format!("{}: {used}", name(&listener.name)));
    pairs.extend(used.map(|used| ("server", used)));
    let message = run_server_times_at_a_glance(run);
    if !message.is_empty() {
        pairs.push(("server says", message));
    }
    let url = clean_name(run.url());
    pairs.push(("load", format!("{url}, {}", offered_load(run))));
    out.0.push(DocumentPart::Pairs {
        caption: "At a glance",
        pairs,
        columns: GLANCE,
    });
    out.append(by_cause(findings_of(run), LoadCount::One));
    out.paragraph("--full prints all figures and remedies; --explain-terms explains the terms.");
    out
}

/// How many handshakes resumed a session, where all were to.
fn resumed(run: &RunView) -> String {
    let tls = run.load.settings.tls.as_ref();
    let share = run
        .summary
        .handshakes_resumed
        .filter(|_| tls.is_some_and(|tls| tls.resumption));
    share.map_or_else(String::new, |share| {
        format!("; {:.1} % resumed", 100.0 * share)
    })
}

fn all_sections(run: &RunView, style: &Style) -> Vec<Document> {
    let mut sections = vec![offer(run), headline(run, style)];
    if run.readings.held.is_none() {
        sections.extend([
            run_outcomes(run),
            run_times(run, style),
            run_steps(run, style),
            run_phases(run),
            run_server_times(run),
        ]);
    }
    sections.extend([run_why(run), sides(run)]);
    let label = labelled(run.measured.label.as_deref());
    sections.push(std::iter::once(scope(run)).chain(label).collect());
    sections
}

/// What both sides did, and the agents that made the load.
fn sides(run: &RunView) -> Document {
    let fleet = run.measured.fleet.as_ref();
    let fleet = fleet.map(|fleet| ("agents", agents(fleet)));
    Document(vec![DocumentPart::Pairs {
        caption: "On both sides",
        pairs: side_lines(run).into_iter().chain(fleet).collect(),
        columns: LABEL,
    }])
}

const LABEL: usize = 13;
const GLANCE: usize = 15;
