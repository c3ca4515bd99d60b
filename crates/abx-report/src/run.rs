//! The report of a run: one server, one load.

use abx_evidence::{
    Broadcasts, Figure, GeneratorSide, Level, Limits, LoadShape, RunRecord, ServerSide, Times,
};

use crate::arrivals::{arrivals, exchange, keep_alive, offered, rate};
use crate::findings::{Loads, findings};
use crate::held::held_text;
use crate::phases;
use crate::style::{Style, Tint};
use crate::table::Table;
use crate::times::{at_least_legend, time};
use crate::units::{
    GLUE, TimeUnit, bytes, count, figure, or_unknown, plural, seconds, share, whole_percent,
};
use crate::verdict::name;
use crate::wrap::{clean_name, wrap};

/// The report of a run, ready to be printed.
#[must_use]
pub fn run_text(record: &RunRecord, style: &Style) -> String {
    let mut sections = vec![offer(record, style), headline(record, style)];
    if record.held.is_none() {
        sections.extend([
            outcomes(record, style),
            times(record, style),
            phases::of_run(record, style),
        ]);
    }
    sections.extend([
        sides(record, style),
        findings(&record.findings, Loads::One, style),
    ]);
    sections.retain(|section| !section.is_empty());
    style.finish(&sections.join("\n"))
}

pub(crate) fn offer(record: &RunRecord, style: &Style) -> String {
    let settings = &record.settings;
    let unit = settings.exchange.shape.unit();
    let ordered = [
        settings.duration_s.map(seconds),
        settings.requests.map(|number| plural(number, unit)),
    ];
    let is_request = settings.exchange.shape == LoadShape::Request;
    let mut parts = Vec::new();
    parts.extend(is_request.then(|| clean_name(&settings.method)));
    parts.extend(arrivals(&settings.arrivals));
    parts.push(plural(settings.connections.into(), "connection"));
    parts.push(plural(settings.threads as u64, "thread"));
    parts.extend(is_request.then(|| keep_alive(settings.keep_alive)));
    parts.extend(exchange(&settings.exchange));
    parts.extend(ordered.into_iter().flatten());
    let url = wrap(&clean_name(&settings.url), "", "  ", style.columns());
    url + &wrap(&parts.join(", "), "  ", "  ", style.columns())
}

/// What there is to be said first.
pub(crate) fn headline(record: &RunRecord, style: &Style) -> String {
    match &record.held {
        Some(held) => wrap(&held_text(held), "", "  ", style.columns()),
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
            format!(
                " No claim stands: see {} below.",
                style.paint("VOID", Tint::Bad)
            ),
        ),
        Some(Level::Bound) => ("at least ", String::new()),
        Some(Level::Note) | None => ("", String::new()),
    };
    let counted = match record.settings.exchange.shape {
        LoadShape::Request => "/s (verified answers)",
        LoadShape::Echo => " messages/s (each of them came back)",
        LoadShape::Broadcast => " broadcasts/s (all listeners have each)",
        LoadShape::Connections => " connections/s",
    };
    let asked = rate(&record.settings.arrivals)
        .map_or_else(String::new, |rate| format!(" of {rate} offered"));
    let text = format!(
        "Throughput: {limit}{}{counted}{asked}, measured for {}.{claim}",
        figure(achieved),
        seconds(record.elapsed_s)
    );
    wrap(&text, "", "  ", style.columns())
}

fn outcomes(record: &RunRecord, style: &Style) -> String {
    let requests = &record.requests;
    let row = |name: &str, times: u64| [name.to_owned(), count(times), share(times, requests.sent)];
    // A run without any ok answer says so.
    let without_ok = (requests.ok == 0).then(|| row("ok", 0));
    let each = requests.outcomes.iter();
    let rows = without_ok
        .into_iter()
        .chain(each.map(|(outcome, times)| row(outcome.name(), times)))
        .chain([row("sent", requests.sent)]);
    let table = Table {
        headers: ["outcome", "count", "share"].map(str::to_owned),
        rows: rows.collect(),
    };
    let compared = format!(
        "Of {} whole {}, {} compared.",
        count(requests.completed),
        if requests.completed == 1 {
            "answer"
        } else {
            "answers"
        },
        match requests.hashed {
            1 => "1 body was".to_owned(),
            hashed => format!("{} bodies were", count(hashed)),
        },
    );
    let due = record.offered.as_ref().map(offered).unwrap_or_default();
    let notes = [compared, due].map(|note| wrap(&note, "  ", "  ", style.columns()));
    table.text(style.columns()) + &notes.concat()
}

fn times(record: &RunRecord, style: &Style) -> String {
    let [response, service] = [&record.response_time_us, &record.service_time_us];
    let row = |name: String, times: &Times, unit: TimeUnit| {
        let mut cells = vec![name];
        cells.extend(SHOWN.map(|figure| time(times, figure, unit, style)));
        <[String; 7]>::try_from(cells).expect("a name and six times")
    };
    // An overloaded server's response times are a thousand times its
    // service times: each row has its own unit.
    let own = |name: &str, times: &Times| {
        let unit = TimeUnit::of([times.p50]);
        row(format!("{name} {}", unit.sign()), times, unit)
    };
    let mut legend =
        "Response time runs from the intended send, service time from the actual one".to_owned();
    let (title, mut rows) = if record.settings.arrivals.is_open() {
        legend.push_str("; lateness is what the generator itself adds");
        let rows = vec![
            own("response", response),
            own("service", service),
            own("lateness", &record.generator.lateness_us),
        ];
        ("time".to_owned(), rows)
    } else {
        let unit = TimeUnit::of([response.p50, service.p50]);
        let rows = vec![
            row("response".to_owned(), response, unit),
            row("service".to_owned(), service, unit),
        ];
        (format!("time in {}", unit.sign()), rows)
    };
    let listeners = record.broadcasts.iter().flat_map(listeners);
    rows.extend(listeners.map(|(name, times)| own(name, times)));
    legend.push('.');
    if record.broadcasts.is_some() {
        legend.push_str(
            " A broadcast's response ends when the last listener has it; first and half: when the \
             first and half of the listeners have it.",
        );
    }
    legend.push_str(&at_least_legend(
        [response, service].into_iter(),
        &SHOWN,
        style,
    ));
    let table = Table {
        headers: [&title, "p50", "p90", "p95", "p99", "p99.9", "max"].map(str::to_owned),
        rows,
    };
    table.text(style.columns()) + &wrap(&legend, "  ", "  ", style.columns())
}

/// When listeners had broadcasts, each with its name in the table.
pub(crate) fn listeners(broadcasts: &Broadcasts) -> [(&'static str, &Times); 2] {
    [
        ("first", &broadcasts.first_listener_us),
        ("half", &broadcasts.median_listener_us),
    ]
}

/// What went over the wire, and what it cost on both sides.
fn sides(record: &RunRecord, style: &Style) -> String {
    let line = |(label, text): (&str, String)| {
        let first = format!("{label:LABEL$}");
        wrap(&text, &first, &" ".repeat(LABEL), style.columns())
    };
    side_lines(record).into_iter().map(line).collect()
}

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
        .map(|wait| format!("waited {} for a processor", seconds(wait)));
    let late = side.lateness_us.p99;
    let lag = side.loop_lag_us.p99;
    let turns = TimeUnit::of([lag]);
    let turns = lag.map_or_else(String::new, |_| {
        format!(
            "99 % of its turns at most {}{GLUE}{} long, ",
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
            None => "no send to be late".to_owned(),
        },
        waited.unwrap_or_else(|| format!("its waiting {NOT_CHECKED}"))
    )
}

fn server(side: &ServerSide) -> String {
    format!(
        "{} (process {}): {} busy, {}, {}",
        name(&side.name),
        side.process_id,
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
        || format!("CPU for each answer {NOT_CHECKED}"),
        |us| format!("{}{GLUE}µs of CPU for each answer", figure(us)),
    )
}

/// The columns of the table of times.
const SHOWN: [Figure; 6] = [
    Figure::P50,
    Figure::P90,
    Figure::P95,
    Figure::P99,
    Figure::P999,
    Figure::Max,
];
const NOT_CHECKED: &str = "not checked";
/// Columns of the labels.
const LABEL: usize = 13;
