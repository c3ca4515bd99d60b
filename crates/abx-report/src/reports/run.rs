//! A run in words and as a page: its load, its results and its costs.

use abx_evidence::record::ListenerRecord;
use abx_evidence::{Figure, Finding, Level, Limits, LoadShape, Outcome, Times};
use abx_verdict::RunView;

use crate::document::{Document, DocumentPart, Table, pages, sections_markdown};
use crate::html::page::Page;
use crate::markdown::{code, escape};
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
use crate::words::metrics::cost_unit;
use crate::words::style::{LINE, ReportExtent, Style, Tint};
use crate::words::terms::{definitions, run_terms};
use crate::words::times::time_with_unit;
use crate::words::units::{
    GLUE, TimeUnit, bytes, count, date, figure, nanos, or_unknown, plural, seconds, share,
    whole_percent,
};
use crate::words::verdict::name;
use crate::words::wrap::clean_name;

/// The URL and the load of a run, each on a line of its own.
fn offer(run: &RunView) -> Document {
    Document::from_iter([clean_name(run.url())]).explained(&offered_load(run))
}

fn offered_load(run: &RunView) -> String {
    let (settings, pilot) = (&run.load.settings, run.pilot);
    let length = match pilot.slice_requests {
        None => nanos(pilot.slice_ns),
        Some(number) => plural(number, settings.exchange.shape.unit()),
    };
    let warm_up =
        (pilot.warm_up_ns > 0).then(|| format!("after {} of warm-up", nanos(pilot.warm_up_ns)));
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
    parts.push(length);
    parts.extend(warm_up);
    parts.join(", ")
}

fn headline(run: &RunView, style: &Style) -> Document {
    Document::from_iter([match &run.readings.held {
        Some(held) => held_text(held),
        None => throughput(run, style),
    }])
}

/// Throughput, with the limits that findings set to it.
fn throughput(run: &RunView, style: &Style) -> String {
    // Findings that limit only times do not limit throughput.
    let findings = findings_of(run).iter();
    let limiting = findings.filter(|finding| finding.limits == Limits::All);
    let worst = limiting.map(|finding| finding.level).max();
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

/// Response times at a glance: a line of quantiles, and one of mean and standard deviation. Empty
/// without any time.
fn glance(times: &Times, style: &Style) -> Vec<String> {
    let named = |figure: &Figure| {
        times.figure(*figure)?;
        let text = time_with_unit(times, *figure, style);
        Some(format!("{} {text}", figure.name()))
    };
    let line = |figures: &[Figure], more: Option<String>| {
        let parts = figures.iter().filter_map(named).chain(more);
        let line = parts.collect::<Vec<_>>().join(", ");
        (!line.is_empty()).then_some(line)
    };
    let deviation = times.standard_deviation.map(|us| {
        let us = us.round() as u64;
        let unit = TimeUnit::of([Some(us)]);
        format!(
            "standard deviation {}{GLUE}{}",
            unit.show(Some(us)),
            unit.sign()
        )
    });
    let quantiles = [Figure::P50, Figure::P99, Figure::P999, Figure::Max];
    [line(&quantiles, None), line(&[Figure::Mean], deviation)]
        .into_iter()
        .flatten()
        .collect()
}

/// Complete responses by the class of their status. Records of older versions lack the statuses of
/// wrong responses.
fn statuses(run: &RunView) -> Option<String> {
    let status = run.response?.status;
    let mut classes = run.summary.wrong_statuses.classes();
    let recorded: u64 = classes.values().sum();
    let wrong = run.slice.outcomes.count(Outcome::WrongStatus);
    let expected = run.slice.completed.saturating_sub(wrong);
    *classes.entry(status / 100).or_default() += expected;
    let mut parts = vec![by_class(classes)];
    let unrecorded = wrong.saturating_sub(recorded);
    if unrecorded > 0 {
        parts.push(format!("other than {status} {}", count(unrecorded)));
    }
    Some(parts.join(", "))
}

/// Requests without a correct response by outcome, and requests that were never sent.
fn errors(run: &RunView) -> String {
    let outcomes = &run.slice.outcomes;
    // A request that was sent again counts by its final outcome.
    let is_error = |outcome: Outcome| {
        outcome != Outcome::Ok && (outcome.is_of_request() || outcome.is_failure())
    };
    let errors = outcomes.iter().filter(|(outcome, _)| is_error(*outcome));
    let texts = errors
        .map(|(outcome, times)| format!("{} {}", outcome.name().replace('_', " "), count(times)));
    let mut parts: Vec<String> = texts.collect();
    let failed = outcomes.failed();
    if let Some(last) = parts.last_mut().filter(|_| failed > 0) {
        let share = share(failed, outcomes.requests());
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
    let time = |us: u64| {
        let unit = TimeUnit::of([Some(us)]);
        format!("{}{GLUE}{}", unit.show(Some(us)), unit.sign())
    };
    let late = run.summary.lateness_us.p99;
    let late = late.map(|us| format!("99 % of sends at most {} late", time(us)));
    let waited = run.slice.generator_wait_ns;
    let waited = waited.map(|ns| format!("waited {} for a CPU", nanos(ns)));
    let lag = run.summary.loop_lag_us.p99;
    let turns = lag.map(|us| format!("99 % of event loop turns within {}, ", time(us)));
    format!(
        "{} busy, {}, {}, {}{}",
        whole_percent(run.generator_busy()),
        cpu(run, run.generator_cpu_us()),
        late.unwrap_or_else(|| "nothing sent".to_owned()),
        turns.unwrap_or_default(),
        waited.unwrap_or_else(|| format!("waiting for a CPU {NOT_CHECKED}"))
    )
}

/// The process that listens, and the use of its process tree; `None` if abx cannot see it.
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
    let unit = cost_unit(run.load.settings.exchange.shape);
    us_per_request.map_or_else(
        || format!("CPU per {unit} {NOT_CHECKED}"),
        |us| format!("{}{GLUE}µs of CPU per {unit}", figure(us)),
    )
}

const NOT_CHECKED: &str = "not checked";

fn run_why(run: &RunView) -> Document {
    let unit = cost_unit(run.load.settings.exchange.shape);
    of_one(&run.conclusions.cpu_ledgers, &|_| unit)
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
    let headline = match &run.readings.held {
        Some(held) => held_text(held),
        None => throughput(run, &LINE),
    };
    let mut sections = vec![findings_folded(findings_of(run), LoadCount::One, false)];
    sections.extend(all_sections(run, &LINE));
    let heading = format!("### abx: {url}: {}\n", escape(&headline));
    sections_markdown([heading], &sections)
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
    let mut pairs = vec![
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
    pairs.extend(label.map(|label| ("label", clean_name(label))));
    pairs.extend(machine(&run.measured.machine));
    Table::pairs("Settings and machine", pairs).into()
}

/// A run on a few lines: throughput, times, outcomes, costs and findings.
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
        let handshakes = run.summary.handshake_us.as_ref();
        let handshakes = handshakes.and_then(|times| glance(times, style).into_iter().next());
        pairs.extend(handshakes.map(|line| ("TLS handshake", line + &resumed(run))));
        if run.load.settings.exchange.shape == LoadShape::Request {
            pairs.extend(statuses(run).map(|text| ("status", text)));
        }
        pairs.push(("errors", errors(run)));
    }
    let used = used(run).map(|(listener, used)| format!("{}: {used}", name(&listener.name)));
    pairs.extend(used.map(|used| ("server", used)));
    let server_times = run_server_times_at_a_glance(run);
    if !server_times.is_empty() {
        pairs.push(("server says", server_times));
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

/// The share of handshakes that resumed a session, if the load requests resumption.
fn resumed(run: &RunView) -> String {
    let tls = run.load.settings.tls.as_ref();
    match run.summary.handshakes_resumed {
        Some(share) if tls.is_some_and(|tls| tls.resumption) => {
            format!("; {:.1} % resumed", 100.0 * share)
        }
        _ => String::new(),
    }
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

/// The figures of both sides, and the agents that made the load.
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
