//! The page of a scenario: how many sessions users completed, how long they took, and each step.

use abx_evidence::Figure as Quantile;
use abx_evidence::scenario::{ScenarioRecord, StepRecord};

use crate::formats::scenario_json;
use crate::html::charts::{
    Bar, BarEnd, Scale, axis, bar_table, cell, name_cell, picture_cell, time_text,
};
use crate::html::markup::{Element, Grid, LINE, Markup, element, note, paragraphs};
use crate::html::measurements::how_measured::{command_block, machine, pairs};
use crate::html::pages::page::Page;
use crate::words::scenario::{STEP_LEGEND, at_a_glance, failures, headline, notes};
use crate::words::times::{at_least_legend, time_in_words, time_with_unit};
use crate::words::units::{UNKNOWN, count, date, seconds};
use crate::words::wrap::clean_name;

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
    let sections = [
        ("result", "Result", result(record)),
        ("steps", "Steps", steps(record)),
        ("failures", "Failures", failed(record)),
        ("conduct", "How it was measured", how_measured(record)),
    ];
    let file = format!("abx-scenario-{}.json", record.started_unix_ms);
    Page::new(title, &subtitle, sections)
        .with_record(file, scenario_json(record))
        .html()
}

fn result(record: &ScenarioRecord) -> Markup {
    let mut out = paragraphs(&headline(record));
    out.push_all(notes(record).iter().map(|text| element("p").text(text)));
    out.push(pairs("Sessions and cost", at_a_glance(record, &LINE)).markup());
    out
}

/// The response times of each step: a bar from its median to its 99 % quantile, and a table.
fn steps(record: &ScenarioRecord) -> Markup {
    let mut out = picture(record).map_or_else(Markup::new, Markup::from);
    let row = |step: &StepRecord| {
        let mut cells = vec![
            clean_name(&step.name),
            format!("{} {}", clean_name(&step.method), clean_name(&step.path)),
            count(step.begun),
            count(step.ok),
            count(step.failures()),
        ];
        cells.extend(SHOWN.map(|quantile| time_with_unit(&step.response_time_us, quantile, &LINE)));
        cells
    };
    let mut headers = vec!["step", "request", "begun", "ok", "failed"];
    headers.extend(SHOWN.map(Quantile::name));
    let grid = Grid::figures("Each step", headers, record.steps.iter().map(row));
    out.push(grid.named_by(2).markup());
    let times = record.steps.iter().map(|step| &step.response_time_us);
    let at_least = at_least_legend(times, &SHOWN, &LINE);
    out.push(note(&format!("{STEP_LEGEND}{at_least}")));
    out
}

/// `None` if no step has a response time.
fn picture(record: &ScenarioRecord) -> Option<Element> {
    let ends = |step: &StepRecord| {
        let times = &step.response_time_us;
        Some([times.figure(Quantile::P50)?, times.figure(Quantile::P99)?])
    };
    let scale = Scale::log_around(record.steps.iter().filter_map(ends).flatten())?;
    let row = |step: &StepRecord| {
        let step_name = clean_name(&step.name);
        let [middle, tail] = [Quantile::P50, Quantile::P99].map(|quantile| {
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
                let is_open = step.response_time_us.is_at_least(Quantile::P99);
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

fn failed(record: &ScenarioRecord) -> Markup {
    let failed = record.steps.iter().filter(|step| step.failures() > 0);
    failed
        .map(|step| element("p").text(&failures(step)))
        .collect()
}

fn how_measured(record: &ScenarioRecord) -> Markup {
    let settings = vec![
        ("address", record.url.clone()),
        ("scenario", record.scenario.clone()),
        ("SHA-256 of it", record.scenario_sha256.clone()),
        ("seed", record.seed.to_string()),
    ];
    let mut out = Markup::from(command_block(&shell_words::join(&record.command)));
    let settings = settings.into_iter().chain(machine(&record.machine));
    out.push(pairs("Settings and machine", settings.collect()).markup());
    out
}

/// The quantiles that the page shows.
const SHOWN: [Quantile; 4] = [Quantile::P50, Quantile::P90, Quantile::P99, Quantile::Max];
