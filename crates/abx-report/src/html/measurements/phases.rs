//! Where the time of requests goes: a bar for each subject, all on one axis, cut
//! into phases that differ in pattern as well as in colour.

use abx_evidence::record::LoadRecord;
use abx_evidence::{Phase, PhaseTimes, RunRecord, StudyRecord};

use crate::html::charts::{
    Scale, axis, bar_table, cell, legend, name_cell, percent as share, picture_cell, plain, px,
};
use crate::html::markup::{CaptionedFigure, Element, Grid, Markup, element, paragraphs, with_unit};
use crate::html::measurements::each_load::each_load;
use crate::words::phases::{LEGEND, NOT_RECORDED, cells};
use crate::words::units::{UNKNOWN, count, figure as number};
use crate::words::verdict::{name, place};

/// A figure for each load; that nothing was recorded when there was anything to see.
pub(crate) fn phases(record: &StudyRecord) -> Markup {
    let out = each_load(record, |load| {
        let title = format!("Mean response time {}", place(record, &load.name));
        let figure = figure(title, &rows(record, load));
        figure.map(CaptionedFigure::markup).into_iter().collect()
    });
    match out.is_empty() && record.conclusions.any_sent() {
        true => paragraphs(NOT_RECORDED),
        false => out,
    }
}

/// The figure of a run.
pub(crate) fn of_run(record: &RunRecord) -> Markup {
    let row = PhaseRow {
        who: "the server".to_owned(),
        times: record.phases.as_ref(),
    };
    match figure("Mean response time".to_owned(), &[row]) {
        Some(figure) => figure.markup().into(),
        None if record.requests.completed > 0 => paragraphs(NOT_RECORDED),
        None => Markup::new(),
    }
}

/// One subject.
struct PhaseRow<'a> {
    who: String,
    /// `None` when it gave no answer that was sampled.
    times: Option<&'a PhaseTimes>,
}

fn rows<'a>(record: &'a StudyRecord, load: &'a LoadRecord) -> Vec<PhaseRow<'a>> {
    let summaries = record.conclusions.under(&load.name);
    let row = summaries.map(|one| PhaseRow {
        who: name(&one.subject),
        times: one.phases.as_ref(),
    });
    row.collect()
}

/// The bars, what they mean, and the same as a table; `None` when no row has any.
fn figure(title: String, rows: &[PhaseRow]) -> Option<CaptionedFigure> {
    let means = rows.iter().filter_map(|row| row.times);
    let longest = means.map(PhaseTimes::response_us).reduce(f64::max)?;
    let scale = Scale::from_zero(longest);
    let cells = |row: &PhaseRow| {
        let mean = row
            .times
            .map(|times| with_unit(&number(times.response_us()), "µs"));
        [
            name_cell("who", &row.who),
            cell("ratio", mean.as_deref().unwrap_or(UNKNOWN)),
            picture_cell(bar(row, scale)),
        ]
    };
    let headers = [
        "subject",
        "mean",
        "µs, from the intended send to the last byte",
    ];
    let body = bar_table(&title, headers, rows.iter().map(cells), axis(scale, plain));
    let samples = rows.iter().filter_map(|row| {
        let requests = row.times?.requests;
        Some(format!("{} of {}", count(requests), row.who))
    });
    let samples: Vec<String> = samples.collect();
    let keys = Phase::ALL.map(key);
    Some(CaptionedFigure {
        title: None,
        legend: legend(keys.into_iter()),
        body: body.into(),
        note: format!(
            "Responses sampled at random: {}. {LEGEND}",
            samples.join(", ")
        ),
        table: Some(table(&title, rows)),
    })
}

/// A bar cut into phases, each of which says what it is.
fn bar(row: &PhaseRow, scale: Scale) -> Element {
    let picture = element("svg").class("bar").with("height", px(HEIGHT));
    let Some(times) = row.times else {
        return picture.with("aria-hidden", "true");
    };
    let mut from_us = 0.0;
    let parts = Phase::ALL.map(|phase| {
        let mean_us = times.phase(phase).mean_us;
        let ends = [from_us, from_us + mean_us].map(|us| scale.place(us));
        from_us += mean_us;
        (part(phase, ends), said(times, phase))
    });
    let label: Vec<&str> = parts.iter().map(|(_, said)| said.as_str()).collect();
    let label = format!("{}: {}", row.who, label.join("; "));
    let drawn = parts.iter().filter_map(|(part, said)| {
        let part = part.clone()?;
        Some(part.with("aria-label", format!("{}, {said}", row.who)))
    });
    picture
        .with("role", "img")
        .with("aria-label", label)
        .add_all(drawn)
}

/// One phase of a bar; `None` when it took no time.
fn part(phase: Phase, [from, to]: [f64; 2]) -> Option<Element> {
    let part = element("rect")
        .class(format!("pt {}", class(phase)))
        .with("x", share(from))
        .with("width", share(to - from))
        .with("y", px(BAR_FROM))
        .with("height", px(HEIGHT - 2.0 * BAR_FROM));
    (to > from).then_some(part)
}

/// A phase in words.
fn said(times: &PhaseTimes, phase: Phase) -> String {
    let [name, mean, share, ..] = cells(times, phase);
    match times.phase(phase).p50_us {
        Some(_) => format!("{name} {} ({share})", with_unit(&mean, "µs")),
        None => format!("{name} {UNKNOWN}"),
    }
}

fn table(title: &str, rows: &[PhaseRow]) -> Grid {
    let headers = [
        "subject",
        "responses",
        "phase",
        "mean µs",
        "share",
        "p50 µs",
        "p99 µs",
    ];
    let known = rows.iter().filter_map(|row| Some((row, row.times?)));
    let lines = known.flat_map(|(row, times)| {
        Phase::ALL.map(|phase| {
            let [name, figures @ ..] = cells(times, phase);
            let mut line = vec![row.who.clone(), count(times.requests), name];
            line.extend(figures);
            line
        })
    });
    Grid::figures(format!("{title}, by phase"), headers, lines).named_by(3)
}

/// What the pattern of a phase means.
fn key(phase: Phase) -> Element {
    let swatch = element("rect")
        .class(class(phase))
        .with("x", -6)
        .with("y", -5)
        .with("width", 12)
        .with("height", 10);
    let sign = element("svg").class("key").with("viewBox", "-6 -6 12 12");
    let sign = sign.with("aria-hidden", "true").add(swatch);
    element("li").add(sign).text(phase.name())
}

fn class(phase: Phase) -> &'static str {
    match phase {
        Phase::Waiting => "phase waiting",
        Phase::Connect => "phase connect",
        Phase::FirstByte => "phase first-byte",
        Phase::Body => "phase body",
    }
}

/// The height of a row's picture, and where in it the bar begins.
const HEIGHT: f64 = 34.0;
const BAR_FROM: f64 = 6.0;
