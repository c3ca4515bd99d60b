//! The report of a run: one server, one load.

use abx_evidence::{Figure, RunRecord, Times};

use super::findings::findings;
use super::phases;
use crate::words::findings::LoadCount;
use crate::words::load::offered;
use crate::words::run::{headline, listeners, offer, side_lines};
use crate::words::scope;
use crate::words::style::Style;
use crate::words::table::Table;
use crate::words::times::{at_least_legend, time};
use crate::words::units::{TimeUnit, count, share};
use crate::words::wrap::wrap;

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
        style.paragraph(&scope::of_run(&record.scope)),
        findings(&record.findings, LoadCount::One, style),
    ]);
    sections.retain(|section| !section.is_empty());
    style.finish(&sections.join("\n"))
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
    let due = record.offered.as_ref().map(offered).unwrap_or_default();
    let notes = [compared, due].map(|note| style.note(&note));
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
    side_lines(record).into_iter().map(line).collect()
}

/// The columns of the table of times.
const SHOWN: [Figure; 6] = {
    let [p50, p90, p95, p99, p99_9, max, _] = Figure::ALL;
    [p50, p90, p95, p99, p99_9, max]
};
/// Columns of the labels.
const LABEL: usize = 13;
