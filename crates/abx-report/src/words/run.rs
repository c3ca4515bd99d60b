//! A run in words: what was offered, what came of it, and what it cost.

use abx_evidence::{
    Broadcasts, Figure, GeneratorSide, Level, Limits, LoadShape, Outcome, RunRecord, ServerSide,
    Times,
};

use super::failures::by_class;
use super::held::held_text;
use super::load::{arrivals, exchange, keep_alive, rate, requests_briefly};
use super::style::{Style, Tint};
use super::times::time_with_unit;
use super::units::{
    GLUE, TimeUnit, bytes, count, figure, or_unknown, plural, seconds, share, whole_percent,
};
use super::verdict::name;
use super::wrap::clean_name;

/// Where a run went and what it offered, each on a line of its own.
pub(crate) fn offer(record: &RunRecord, style: &Style) -> String {
    let url = style.paragraph(&clean_name(&record.settings.url));
    url + &style.note(&offered_load(record))
}

/// What a run offered.
pub(crate) fn offered_load(record: &RunRecord) -> String {
    let settings = &record.settings;
    let unit = settings.exchange.shape.unit();
    let ordered = [
        settings.duration_s.map(seconds),
        settings.requests.map(|number| plural(number, unit)),
        { settings.warm_up_s }.map(|warm_up_s| format!("after {} of warm-up", seconds(warm_up_s))),
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

/// What there is to be said first.
pub(crate) fn headline(record: &RunRecord, style: &Style) -> String {
    match &record.held {
        Some(held) => style.paragraph(&held_text(held)),
        None => throughput(record, style),
    }
}

/// The headline, limited as the findings limit it.
fn throughput(record: &RunRecord, style: &Style) -> String {
    // What limits times only leaves throughput as it is.
    let all = record.findings.iter();
    let ours = all.filter(|finding| finding.limits == Limits::All);
    let worst = ours.map(|finding| finding.level).max();
    let Some(achieved) = record.throughput_per_s else {
        return "Throughput: not measured.\n".to_owned();
    };
    let (limit, claim) = match worst {
        Some(Level::Void) => (
            "",
            format!(" Not valid: see {} below.", style.paint("VOID", Tint::Bad)),
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
    let text = format!(
        "Throughput: {limit}{}{counted}{asked}, measured for {}.{claim}",
        figure(achieved),
        seconds(record.counted_s())
    );
    style.paragraph(&text)
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
        let parts: Vec<String> = { figures.iter() }
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
pub(crate) fn statuses(record: &RunRecord) -> String {
    let requests = &record.requests;
    let mut classes = requests.wrong_statuses.classes();
    let told: u64 = classes.values().sum();
    let other = requests.outcomes.count(Outcome::WrongStatus);
    let expected = requests.completed.saturating_sub(other);
    *classes.entry(record.answer.status / 100).or_default() += expected;
    let mut parts = vec![by_class(classes)];
    let untold = other.saturating_sub(told);
    if untold > 0 {
        let status = record.answer.status;
        parts.push(format!("another than {status} {}", count(untold)));
    }
    parts.join(", ")
}

/// Requests without a right response, by what became of them, and those never sent.
pub(crate) fn errors(record: &RunRecord) -> String {
    let outcomes = &record.requests.outcomes;
    // What was sent again is told by what became of it then.
    let is_error = |outcome: Outcome| outcome.is_of_request() || outcome.is_failure();
    let all = outcomes
        .iter()
        .filter(|(outcome, _)| *outcome != Outcome::Ok);
    let each = all.filter(|(outcome, _)| is_error(*outcome));
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
    match parts.is_empty() {
        true => "none".to_owned(),
        false => parts.join(", "),
    }
}

/// When listeners had broadcasts, each with its name in the table.
pub(crate) fn listeners(broadcasts: &Broadcasts) -> [(&'static str, &Times); 2] {
    [
        ("first", &broadcasts.first_listener_us),
        ("half", &broadcasts.median_listener_us),
    ]
}

/// What a handshake's time is, behind other sentences.
pub(crate) const HANDSHAKE_LEGEND: &str =
    " Handshake: of TLS, from the connected socket on, for each connection opened after the start.";

/// The same, each line with its label.
pub(crate) fn side_lines(record: &RunRecord) -> [(&'static str, String); 4] {
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

/// What the server used.
fn server(side: &ServerSide) -> String {
    let (name, process) = (name(&side.name), side.process_id);
    format!("{name} (process {process}): {}", used(side))
}

/// What it used, without its process.
pub(crate) fn server_at_a_glance(side: &ServerSide) -> String {
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
