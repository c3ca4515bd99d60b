//! The steps of a scenario in a run: how often each began and failed, and how long it took.

use abx_evidence::Figure;
use abx_evidence::record::RequestSettings;
use abx_verdict::{RunView, StepSummary};

use crate::document::{Document, Table};
use crate::html::charts::{
    Backdrop, Bar, BarEnd, Scale, axis, bar_table, cell, name_cell, picture_cell, time_text,
};
use crate::html::markup::{Element, element, note};
use crate::words::style::Style;
use crate::words::times::{at_least_legend, time_in_words, time_with_unit};
use crate::words::units::{UNKNOWN, count};
use crate::words::wrap::clean_name;

/// A row per step, on a page below a picture; nothing for a load without steps.
pub(crate) fn run_steps(run: &RunView, style: &Style) -> Document {
    let steps = &run.summary.steps;
    let mut out = Document::default();
    if steps.is_empty() {
        return out;
    }
    let requests = &run.load.settings.requests;
    let rows = steps.iter().zip(requests);
    let rows = rows.map(|(step, request)| row(step, request, style));
    let mut headers = vec!["step", "request", "begun", "ok", "failed"];
    headers.extend(SHOWN.map(Figure::name));
    let table = Table::new(headers, rows).captioned("Each step");
    let times = steps.iter().map(|step| &step.response_time_us);
    let legend = format!("{LEGEND}{}", at_least_legend(times, &SHOWN, style));
    if let Some(picture) = picture(steps) {
        out.picture(picture, Document::default());
    }
    out.table(Some(table.named_by(2).with_wide(&["request"])), &legend);
    let failed = steps.iter().filter(|step| !step.failed.is_empty());
    failed.for_each(|step| out.note(failures(step)));
    resent(steps).into_iter().for_each(|text| out.note(text));
    out
}

fn row(step: &StepSummary, request: &RequestSettings, style: &Style) -> Vec<String> {
    let mut cells = vec![
        clean_name(&step.name),
        format!(
            "{} {}",
            clean_name(&request.method),
            clean_name(&request.path)
        ),
        count(step.begun),
        count(step.ok),
        count(step.failed.values().sum()),
    ];
    cells.extend(SHOWN.map(|figure| time_with_unit(&step.response_time_us, figure, style)));
    cells
}

fn failures(step: &StepSummary) -> String {
    let reasons = step.failed.iter();
    let reasons = reasons.map(|(reason, times)| format!("{reason} {}", count(*times)));
    let reasons: Vec<String> = reasons.collect();
    let first = step.first_failure.as_deref().map(clean_name);
    let first = first.map_or_else(String::new, |first| format!(" One of them: {first}."));
    format!(
        "{} failed: {}.{first}",
        clean_name(&step.name),
        reasons.join(", ")
    )
}

fn resent(steps: &[StepSummary]) -> Option<String> {
    let requests = match steps.iter().map(|step| step.resent).sum() {
        0 => return None,
        1 => "1 request was".to_owned(),
        more => format!("{} requests were", count(more)),
    };
    Some(format!(
        "{requests} sent again, because the server had closed an idle connection."
    ))
}

/// `None` if no step has a response time.
fn picture(steps: &[StepSummary]) -> Option<Element> {
    let ends = |step: &StepSummary| {
        let times = &step.response_time_us;
        Some([times.figure(Figure::P50)?, times.figure(Figure::P99)?])
    };
    let scale = Scale::log_around(steps.iter().filter_map(ends).flatten())?;
    let row = |step: &StepSummary| {
        let step_name = clean_name(&step.name);
        let [middle, tail] = [Figure::P50, Figure::P99].map(|quantile| {
            let time = time_in_words(&step.response_time_us, quantile);
            time.unwrap_or_else(|| UNKNOWN.to_owned())
        });
        let text = format!("{middle} (p99 {tail})");
        let known = ends(step);
        let bar = Bar {
            backdrop: Backdrop::default(),
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
    let rows = steps.iter().map(row);
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

const LEGEND: &str = "Response time: from when a step was due to the last byte of its response. A \
     session's first step includes opening its connection.";

const SHOWN: [Figure; 4] = [Figure::P50, Figure::P90, Figure::P99, Figure::Max];
