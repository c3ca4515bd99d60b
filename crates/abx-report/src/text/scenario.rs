//! The report of a scenario: sessions of users, and each step of them.

use abx_evidence::Figure;
use abx_evidence::scenario::{ScenarioRecord, StepRecord};

use crate::words::run::glance;
use crate::words::style::Style;
use crate::words::table::Table;
use crate::words::times::{at_least_legend, time};
use crate::words::units::{GLUE, TimeUnit, count, figure, percent, plural, seconds};
use crate::words::wrap::{clean_name, wrap};

/// The report of a scenario, ready to be printed.
#[must_use]
pub fn scenario_text(record: &ScenarioRecord, style: &Style) -> String {
    let mut out = style.paragraph(&headline(record));
    for (label, text) in at_a_glance(record, style) {
        let first = format!("{label:LABEL$}");
        out.push_str(&wrap(&text, &first, &" ".repeat(LABEL), style.columns()));
    }
    out.push('\n');
    out.push_str(&steps(record, style));
    let failed = record.steps.iter().filter(|step| step.failures() > 0);
    for text in failed.map(failures).chain(notes(record)) {
        out.push_str(&style.note(&text));
    }
    style.finish(&out)
}

fn headline(record: &ScenarioRecord) -> String {
    let rate = record.sessions_per_s.unwrap_or_default();
    let limit = match record.is_generator_bound() {
        true => "at least ",
        false => "",
    };
    let stopped = match record.interrupted {
        true => " Stopped before its end.",
        false => "",
    };
    format!(
        "Throughput: {limit}{} sessions/s (every step succeeded), {} in {}.{stopped}",
        figure(rate),
        plural(record.sessions.completed, "session"),
        seconds(record.elapsed_s),
    )
}

fn at_a_glance(record: &ScenarioRecord, style: &Style) -> Vec<(&'static str, String)> {
    let sessions = &record.sessions;
    let mut lines = vec![(
        "sessions",
        format!(
            "{} begun: {} completed, {} failed, {} cut off by the end",
            count(sessions.begun),
            count(sessions.completed),
            count(sessions.failed),
            count(sessions.cut_off)
        ),
    )];
    let whole = glance(&record.session_us, style).into_iter().next();
    lines.extend(whole.map(|line| ("session time", line)));
    // Without a pause anywhere both are the same.
    if record.session_us.mean != record.session_without_think_us.mean {
        let line = glance(&record.session_without_think_us, style);
        let line = line.into_iter().next();
        lines.extend(line.map(|line| ("without pauses", line)));
    }
    if let Some(cpu_s) = record.server_cpu_s {
        let each = record.server_us_per_session();
        let each = each.map(|us| format!(", {}{GLUE}µs per completed session", figure(us)));
        let each = each.unwrap_or_default();
        lines.push(("server", format!("{} of CPU time{each}", seconds(cpu_s))));
    }
    let generator = &record.generator;
    lines.push((
        "generator",
        format!(
            "{}, {} of CPU time, the busiest {} busy",
            plural(generator.threads as u64, "thread"),
            seconds(generator.cpu_s),
            percent(generator.busy)
        ),
    ));
    lines.push((
        "load",
        format!(
            "{}, {} of {}, {} in all",
            clean_name(&record.url),
            plural(record.users.into(), "user"),
            clean_name(&record.scenario),
            plural(record.connections, "connection")
        ),
    ));
    lines
}

fn steps(record: &ScenarioRecord, style: &Style) -> String {
    let times = || record.steps.iter().map(|step| &step.response_time_us);
    let unit = TimeUnit::of(times().map(|times| times.p50));
    let row = |step: &StepRecord| {
        let shown = |one| time(&step.response_time_us, one, unit, style);
        [
            clean_name(&step.name),
            count(step.begun),
            count(step.ok),
            count(step.failures()),
            shown(SHOWN[0]),
            shown(SHOWN[1]),
            shown(SHOWN[2]),
            shown(SHOWN[3]),
        ]
    };
    let sign = unit.sign();
    let headers = [
        "step".to_owned(),
        "begun".to_owned(),
        "ok".to_owned(),
        "failed".to_owned(),
        format!("p50 {sign}"),
        "p90".to_owned(),
        "p99".to_owned(),
        "max".to_owned(),
    ];
    let table = Table::new(headers, record.steps.iter().map(row));
    let mut legend = "Response times from when a step was due to the last byte of its answer; a \
                      session's first step includes its connection."
        .to_owned();
    legend.push_str(&at_least_legend(times(), &SHOWN, style));
    table.text(style.columns()) + &style.note(&legend)
}

fn failures(step: &StepRecord) -> String {
    let each: Vec<String> = { step.failed.iter() }
        .map(|(reason, times)| format!("{reason} {}", count(*times)))
        .collect();
    let first = step.first_failure.as_deref().map(clean_name);
    let first = first.map_or_else(String::new, |first| format!(" The first: {first}."));
    format!(
        "{} failed: {}.{first}",
        clean_name(&step.name),
        each.join(", ")
    )
}

/// What limits the figures.
fn notes(record: &ScenarioRecord) -> Vec<String> {
    let mut out = Vec::new();
    if record.is_too_short() {
        out.push(
            "Sessions are long beside the load: those that the end cut off are more than one in \
             twenty, so sessions/s is too low. Take a longer -d, or -n for sessions that all end."
                .to_owned(),
        );
    }
    if record.is_generator_bound() {
        out.push(
            "The generator was at its limit, so times are too long and the server may do more: add \
             threads (-t), or take another machine for the load."
                .to_owned(),
        );
    }
    let resent: u64 = record.steps.iter().map(|step| step.resent).sum();
    if resent > 0 {
        out.push(format!(
            "{} sent again, since the server had closed the connection while it was idle.",
            match resent {
                1 => "1 request was".to_owned(),
                more => format!("{} requests were", count(more)),
            }
        ));
    }
    out
}

/// The figures of steps.
const SHOWN: [Figure; 4] = [Figure::P50, Figure::P90, Figure::P99, Figure::Max];
/// Room for the words before a line.
const LABEL: usize = 16;
