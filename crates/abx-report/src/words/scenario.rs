//! A scenario in words: its sessions, what failed in each step, and what limits the figures.

use abx_evidence::scenario::{ScenarioRecord, StepRecord};

use super::run::glance;
use super::style::Style;
use super::units::{GLUE, count, figure, percent, plural, seconds};
use super::wrap::clean_name;

/// The throughput in completed sessions.
pub(crate) fn headline(record: &ScenarioRecord) -> String {
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

/// What was counted, each line with its label.
pub(crate) fn at_a_glance(record: &ScenarioRecord, style: &Style) -> Vec<(&'static str, String)> {
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

/// The failures of one step by reason, with the first of them.
pub(crate) fn failures(step: &StepRecord) -> String {
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
pub(crate) fn notes(record: &ScenarioRecord) -> Vec<String> {
    let mut out = Vec::new();
    if record.is_too_short() {
        out.push(
            "Sessions are long compared with the load: its end cut off more than one in twenty, so \
             sessions/s is too low. Use a longer -d, or -n so that every session ends."
                .to_owned(),
        );
    }
    if record.is_generator_bound() {
        out.push(
            "The generator was at its limit, so times are too long and the server may do more: add \
             threads (-t), or send the load from another machine."
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

/// From when a step's response time is counted.
pub(crate) const STEP_LEGEND: &str = "Response time: from when a step was due to the last byte of \
     its response. A session's first step includes opening its connection.";
