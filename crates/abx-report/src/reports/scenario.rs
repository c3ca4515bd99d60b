//! A scenario in words: its sessions, what failed in each step, and what limits the figures.

use abx_evidence::Figure;
use abx_evidence::scenario::{ScenarioRecord, StepRecord};

use crate::document::{Document, DocumentPart, Table, pages, sections_text};
use crate::html::charts::{
    Bar, BarEnd, Scale, axis, bar_table, cell, name_cell, picture_cell, time_text,
};
use crate::html::markup::{Element, element, note};
use crate::html::page::Page;
use crate::json::record_json;
use crate::reports::run::glance;
use crate::sections::measured::how_measured::machine;
use crate::words::style::{LINE, Style};
use crate::words::times::{at_least_legend, time_in_words, time_with_unit};
use crate::words::units::{GLUE, UNKNOWN, count, date, figure, percent, plural, seconds};
use crate::words::wrap::clean_name;

fn headline(record: &ScenarioRecord) -> String {
    let rate = record.sessions_per_s.unwrap_or_default();
    let limit = if record.is_generator_bound() {
        "at least "
    } else {
        ""
    };
    let stopped = if record.interrupted {
        " Stopped before its end."
    } else {
        ""
    };
    format!(
        "Throughput: {limit}{} sessions/s (every step succeeded), {} in {}.{stopped}",
        figure(rate),
        plural(record.sessions.completed, "session"),
        seconds(record.elapsed_s),
    )
}

fn sessions(record: &ScenarioRecord, style: &Style) -> DocumentPart {
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
    DocumentPart::Pairs {
        caption: "Sessions and cost",
        pairs: lines,
        columns: LABEL,
    }
}

fn failures(record: &ScenarioRecord) -> impl Iterator<Item = String> {
    let failed = record.steps.iter().filter(|step| step.failures() > 0);
    failed.map(failures_of)
}

fn failures_of(step: &StepRecord) -> String {
    let each: Vec<String> = step
        .failed
        .iter()
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

const STEP_LEGEND: &str = "Response time: from when a step was due to the last byte of \
     its response. A session's first step includes opening its connection.";

/// The report of a scenario, ready to be printed.
#[must_use]
pub fn scenario_text(record: &ScenarioRecord, style: &Style) -> String {
    let mut first = Document::from_iter([headline(record)]);
    first.0.push(sessions(record, style));
    let mut steps = steps(record, style);
    let texts = failures(record).chain(notes(record));
    texts.for_each(|text| steps.note(text));
    sections_text([first, steps], style)
}

/// A row for each step; a page has a picture above it.
fn steps(record: &ScenarioRecord, style: &Style) -> Document {
    let row = |step: &StepRecord| {
        let mut cells = vec![
            clean_name(&step.name),
            format!("{} {}", clean_name(&step.method), clean_name(&step.path)),
            count(step.begun),
            count(step.ok),
            count(step.failures()),
        ];
        cells.extend(SHOWN.map(|figure| time_with_unit(&step.response_time_us, figure, style)));
        cells
    };
    let mut headers = vec!["step", "request", "begun", "ok", "failed"];
    headers.extend(SHOWN.map(Figure::name));
    let table = Table::new(headers, record.steps.iter().map(row)).captioned("Each step");
    let times = record.steps.iter().map(|step| &step.response_time_us);
    let legend = format!("{STEP_LEGEND}{}", at_least_legend(times, &SHOWN, style));
    let mut out = Document::default();
    if let Some(picture) = picture(record) {
        out.picture(picture, Document::default());
    }
    out.table(Some(table.named_by(2).with_wide(&["request"])), &legend);
    out
}

const SHOWN: [Figure; 4] = [Figure::P50, Figure::P90, Figure::P99, Figure::Max];
const LABEL: usize = 16;

/// The report of a scenario as an HTML page; the record is in it.
#[must_use]
pub fn scenario_html(record: &ScenarioRecord) -> String {
    let title = format!(
        "{}: {} users at {}",
        clean_name(&record.scenario),
        count(record.users.into()),
        clean_name(&record.url)
    );
    let subtitle = format!(
        "{}, {}, abx {}.",
        date(record.started_unix_ms),
        seconds(record.elapsed_s),
        clean_name(&record.abx_version)
    );
    let sections = pages([
        ("result", "Result", result(record)),
        ("steps", "Steps", steps(record, &LINE)),
        ("failures", "Failures", failures(record).collect()),
        ("conduct", "How it was measured", how_measured(record)),
    ]);
    let file = format!("abx-scenario-{}.json", record.started_unix_ms);
    Page::new(title, &subtitle, sections)
        .with_record(file, record_json(record))
        .html()
}

fn result(record: &ScenarioRecord) -> Document {
    let lines = std::iter::once(headline(record)).chain(notes(record));
    let mut out: Document = lines.collect();
    out.0.push(sessions(record, &LINE));
    out
}

/// `None` if no step has a response time.
fn picture(record: &ScenarioRecord) -> Option<Element> {
    let ends = |step: &StepRecord| {
        let times = &step.response_time_us;
        Some([times.figure(Figure::P50)?, times.figure(Figure::P99)?])
    };
    let scale = Scale::log_around(record.steps.iter().filter_map(ends).flatten())?;
    let row = |step: &StepRecord| {
        let step_name = clean_name(&step.name);
        let [middle, tail] = [Figure::P50, Figure::P99].map(|quantile| {
            let time = time_in_words(&step.response_time_us, quantile);
            time.unwrap_or_else(|| UNKNOWN.to_owned())
        });
        let text = format!("{middle} (p99 {tail})");
        let label = format!("{step_name}: {text}");
        let known = ends(step);
        let bar = Bar {
            tip: label.clone(),
            label,
            band: None,
            rule: None,
            dots: Vec::new(),
            point: known.map(|[middle, _]| middle),
            ends: known.map(|[middle, tail]| {
                let is_open = step.response_time_us.is_at_least(Figure::P99);
                [BarEnd::new(middle, false), BarEnd::new(tail, is_open)]
            }),
        };
        [
            name_cell("who", &step_name),
            cell("ratio", &text),
            picture_cell(bar.markup(scale)),
        ]
    };
    let headers = ["step", "median", "response time, log scale"];
    let rows = record.steps.iter().map(row);
    let table = bar_table(
        "Response time by step",
        headers,
        rows,
        axis(scale, time_text),
    );
    let how =
        note("Diamond: median; bar: up to the time that 99 % of the responses did not exceed.");
    Some(element("figure").add(table).add(how))
}

fn how_measured(record: &ScenarioRecord) -> Document {
    let settings = vec![
        ("address", record.url.clone()),
        ("scenario", record.scenario.clone()),
        ("SHA-256 of it", record.scenario_sha256.clone()),
        ("seed", record.seed.to_string()),
    ];
    let settings = settings.into_iter().chain(machine(&record.machine));
    let settings = Table::pairs("Settings and machine", settings.collect());
    let command = shell_words::join(&record.command);
    Document(vec![
        DocumentPart::Verbatim(command),
        DocumentPart::Table(settings),
    ])
}
