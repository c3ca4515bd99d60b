//! The report of a run: one server, one load.

use abx_evidence::{Figure, LoadShape, RunRecord, Times};

use super::findings::{by_cause, findings};
use super::phases;
use super::study::ReportExtent;
use super::terms::definitions;
use crate::words::failures::wrong_statuses;
use crate::words::findings::LoadCount;
use crate::words::fleet::agents;
use crate::words::load::offered;
use crate::words::run::{
    HANDSHAKE_LEGEND, errors, glance, headline, listeners, offer, offered_load, server_at_a_glance,
    side_lines, statuses,
};
use crate::words::scope;
use crate::words::server_times::{
    RUN_SERVER_TIMES_LEGEND, run_server_times_table, server_times_at_a_glance,
};
use crate::words::style::Style;
use crate::words::table::Table;
use crate::words::terms::run_terms;
use crate::words::times::{at_least_legend, time};
use crate::words::units::{TimeUnit, count, share};
use crate::words::wrap::{clean_name, wrap};

/// The report of a run, ready to be printed.
#[must_use]
pub fn run_text(record: &RunRecord, extent: ReportExtent, style: &Style) -> String {
    let mut sections = match extent {
        ReportExtent::Full => all_sections(record, style),
        ReportExtent::Brief => vec![at_a_glance(record, style)],
        ReportExtent::Explained => vec![
            at_a_glance(record, style),
            definitions(&run_terms(record), style),
        ],
    };
    sections.retain(|section| !section.is_empty());
    style.finish(&sections.join("\n"))
}

/// What a run tells on a few lines: how fast, how long, what came and what it cost.
fn at_a_glance(record: &RunRecord, style: &Style) -> String {
    let mut out = headline(record, style);
    let mut add = |label: &str, text: &str| {
        let first = format!("{label:GLANCE$}");
        out.push_str(&wrap(text, &first, &" ".repeat(GLANCE), style.columns()));
    };
    if record.held.is_none() {
        let times = glance(&record.response_time_us, style);
        for (label, line) in ["response time", ""].iter().zip(&times) {
            add(label, line);
        }
        let handshakes = record.handshake_us.as_ref().map(|us| glance(us, style));
        if let Some(line) = handshakes.and_then(|lines| lines.into_iter().next()) {
            add("TLS handshake", &(line + &resumed(record)));
        }
        if record.settings.exchange.shape == LoadShape::Request {
            add("status", &statuses(record));
        }
        add("errors", &errors(record));
    }
    if let Some(side) = &record.server {
        add("server", &server_at_a_glance(side));
    }
    let said = server_times_at_a_glance(record);
    if !said.is_empty() {
        add("server says", &said);
    }
    let url = clean_name(&record.settings.url);
    add("load", &format!("{url}, {}", offered_load(record)));
    out.push_str(&by_cause(&record.findings, style));
    let rest = "--full prints all figures and remedies; --explain-terms says what words mean.";
    out + &style.paragraph(rest)
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

fn all_sections(record: &RunRecord, style: &Style) -> Vec<String> {
    let mut sections = vec![offer(record, style), headline(record, style)];
    if record.held.is_none() {
        sections.extend([
            outcomes(record, style),
            times(record, style),
            phases::of_run(record, style),
            server_times(record, style),
        ]);
    }
    sections.extend([
        sides(record, style),
        style.paragraph(&scope::of_run(&record.scope)),
        findings(&record.findings, LoadCount::One, style),
    ]);
    sections
}

/// What the server said of its own time; empty where it said nothing.
fn server_times(record: &RunRecord, style: &Style) -> String {
    run_server_times_table(record).map_or_else(String::new, |table| {
        table.text(style.columns()) + &style.note(RUN_SERVER_TIMES_LEGEND)
    })
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
    let table = Table::new(["outcome", "count", "share"], rows);
    let compared = format!(
        "Of {} complete {}, {} verified.",
        count(requests.completed),
        if requests.completed == 1 {
            "response"
        } else {
            "responses"
        },
        match requests.hashed {
            1 => "1 body was".to_owned(),
            hashed => format!("{} bodies were", count(hashed)),
        },
    );
    let wrong = match wrong_statuses(&requests.wrong_statuses) {
        came if came.is_empty() => came,
        came => format!("Wrong status: {came}."),
    };
    let due = record.offered.as_ref().map(offered).unwrap_or_default();
    let notes = [compared, wrong, due].map(|note| style.note(&note));
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
        "Response time is counted from the intended send, service time from the actual send"
            .to_owned();
    let (title, mut rows) = if record.settings.arrivals.is_open() {
        legend.push_str("; lateness is what the generator adds");
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
    if let Some(times) = &record.handshake_us {
        rows.push(own("handshake", times));
        legend.push_str(HANDSHAKE_LEGEND);
    }
    if record.broadcasts.is_some() {
        legend.push_str(
            " A broadcast is complete when the last listener has it; first and half: when the \
             first listener and half of them have it.",
        );
    }
    legend.push_str(&at_least_legend(
        [response, service].into_iter(),
        &SHOWN,
        style,
    ));
    let table = Table::new([&title, "p50", "p90", "p95", "p99", "p99.9", "max"], rows);
    table.text(style.columns()) + &style.note(&legend)
}

/// What went over the wire, and what it cost on both sides.
fn sides(record: &RunRecord, style: &Style) -> String {
    let line = |(label, text): (&str, String)| {
        let first = format!("{label:LABEL$}");
        wrap(&text, &first, &" ".repeat(LABEL), style.columns())
    };
    let fleet = record.measured.fleet.as_ref();
    let fleet = fleet.map(|fleet| ("agents", agents(fleet)));
    let lines = side_lines(record).into_iter().chain(fleet);
    lines.map(line).collect()
}

/// The columns of the table of times.
const SHOWN: [Figure; 6] = {
    let [p50, p90, p95, p99, p99_9, max, _] = Figure::ALL;
    [p50, p90, p95, p99, p99_9, max]
};
/// Columns of the labels.
const LABEL: usize = 13;
/// The same of those of a run at a glance.
const GLANCE: usize = 15;
