//! The time of requests by phase, in µs.

use abx_evidence::record::LoadRecord;
use abx_evidence::{Phase, PhaseTime, PhaseTimes};
use abx_verdict::{RunView, StudyRecord};

use crate::document::{CaptionedFigure, Document, Table};
use crate::html::charts::{
    Scale, axis, bar_table, cell, legend, name_cell, percent as share, picture_cell, px, time_text,
};
use crate::html::markup::{Element, element, with_unit};
use crate::sections::each_load::each_load;
use crate::words::load::alone;
use crate::words::units::{GLUE, UNKNOWN, count, figure, or_unknown, whole_percent};
use crate::words::verdict::{name, place};
use crate::words::wrap::clean_name;

fn cells(times: &PhaseTimes, phase: Phase) -> [String; 5] {
    let phase_time = times.phase(phase);
    let share = phase_time.p50_us.map(|_| times.share(phase));
    [
        phase.name().to_owned(),
        mean(phase_time),
        or_unknown(share, whole_percent),
        or_unknown(phase_time.p50_us, time),
        or_unknown(phase_time.p99_us, time),
    ]
}

/// A time in µs. Times below 1.5 µs are indistinguishable.
fn time(time_us: u64) -> String {
    match time_us {
        0 | 1 => "<2".to_owned(),
        _ => count(time_us),
    }
}

/// The mean in µs; unknown if no request had the phase.
fn mean(time: PhaseTime) -> String {
    or_unknown(time.p50_us.map(|_| time.mean_us), figure)
}

/// A table of means for each load under which a subject spends notable time in other phases than
/// the first byte.
pub(crate) fn mean_phases(record: &StudyRecord) -> Document {
    let tables = alone(record).filter_map(|load| {
        let pairs = under(record, load);
        let is_notable = pairs.iter().any(|(_, times)| times.is_notable());
        is_notable.then(|| {
            let mut out = Document::default();
            let place = place(record, &load.name);
            out.heading(format!("Where the time goes {place}, on average:"));
            out.table(Some(means(&pairs)), "");
            out
        })
    });
    Document::joined(tables).explained(&format!("{LEGEND}."))
}

fn under<'a>(record: &'a StudyRecord, load: &'a LoadRecord) -> Vec<(&'a str, &'a PhaseTimes)> {
    let summaries = record.conclusions.under(&load.name);
    summaries
        .filter_map(|summary| Some((summary.subject.as_str(), summary.phases.as_ref()?)))
        .collect()
}

fn means(pairs: &[(&str, &PhaseTimes)]) -> Table {
    let row = |(subject, times): &(&str, &PhaseTimes)| {
        let [waiting, connect, first_byte, body] = Phase::ALL.map(|phase| mean(times.phase(phase)));
        let subject = clean_name(subject);
        let requests = count(times.requests);
        [subject, waiting, connect, first_byte, body, requests]
    };
    let [waiting, connect, first_byte, body] =
        Phase::ALL.map(|phase| format!("{} µs", phase.name()));
    Table::new(
        [
            "subject".to_owned(),
            waiting,
            connect,
            first_byte,
            body,
            "sampled".to_owned(),
        ],
        pairs.iter().map(row),
    )
}

const LEGEND: &str = "waiting: until the request is sent and earlier responses on its \
                                 connection are complete; connect: opening a connection for it; \
                                 first byte: until the first byte of the response; body: until \
                                 the last. -: no request had this phase";
const NOT_RECORDED: &str = "Where the time goes: not recorded. It is timed for the responses that `--verify-every` \
     samples.";

/// The phases of a run: a figure on a page, elsewhere a table. If there were responses but no
/// phases were recorded, a note on that.
pub(crate) fn run_phases(run: &RunView) -> Document {
    let mut out = Document::default();
    let Some(times) = &run.summary.phases else {
        if run.slice.completed > 0 {
            out.paragraph(NOT_RECORDED);
        }
        return out;
    };
    let table = Table::new(
        ["where time goes", "mean µs", "share", "p50 µs", "p99 µs"],
        Phase::ALL.map(|phase| cells(times, phase)),
    );
    let mean = figure(times.response_us());
    let legend = format!(
        "Mean of {} responses, sampled at random: {mean}{GLUE}µs. {LEGEND}, or too few for a p99.",
        count(times.requests)
    );
    let row = PhaseRow {
        who: "the server".to_owned(),
        times: Some(times),
    };
    if let Some(page) = phases_figure("Mean response time".to_owned(), &[row]) {
        out.picture(page.markup(), Document::from(table).explained(&legend));
    }
    out
}

/// A figure for each load. If requests were sent but no phases were recorded, a note on that.
pub(crate) fn phases(record: &StudyRecord) -> Document {
    let mut out = each_load(record, |load| {
        let title = format!("Mean response time {}", place(record, &load.name));
        let mut out = Document::default();
        out.figures(
            phases_figure(title, &rows(record, load))
                .into_iter()
                .collect(),
        );
        out
    });
    if out.is_empty() && record.conclusions.any_sent() {
        out.paragraph(NOT_RECORDED);
    }
    out
}

struct PhaseRow<'a> {
    who: String,
    /// `None` if no response was sampled.
    times: Option<&'a PhaseTimes>,
}

fn rows<'a>(record: &'a StudyRecord, load: &'a LoadRecord) -> Vec<PhaseRow<'a>> {
    let summaries = record.conclusions.under(&load.name);
    let rows = summaries.map(|summary| PhaseRow {
        who: name(&summary.subject),
        times: summary.phases.as_ref(),
    });
    rows.collect()
}

/// The bars with a legend and a table; `None` if no row has times.
fn phases_figure(title: String, rows: &[PhaseRow]) -> Option<CaptionedFigure> {
    let means = rows.iter().filter_map(|row| row.times);
    let longest = means.map(PhaseTimes::response_us).reduce(f64::max)?;
    let scale = Scale::from_zero(longest);
    let cells = |row: &PhaseRow| {
        let mean = row
            .times
            .map(|times| with_unit(&figure(times.response_us()), "µs"));
        [
            name_cell("who", &row.who),
            cell("ratio", mean.as_deref().unwrap_or(UNKNOWN)),
            picture_cell(bar(row, scale)),
        ]
    };
    let headers = ["subject", "mean", "from the intended send to the last byte"];
    let axis = axis(scale, time_text);
    let body = bar_table(&title, headers, rows.iter().map(cells), axis);
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
            "Responses sampled at random: {}. {LEGEND}, or too few for a p99.",
            samples.join(", ")
        ),
        table: Some(table(&title, rows)),
    })
}

/// A bar divided into phases, each with its label.
fn bar(row: &PhaseRow, scale: Scale) -> Element {
    let picture = element("svg").class("bar").with("height", px(HEIGHT));
    let Some(times) = row.times else {
        return picture;
    };
    let mut from_us = 0.0;
    let parts = Phase::ALL.map(|phase| {
        let mean_us = times.phase(phase).mean_us;
        let ends = [from_us, from_us + mean_us].map(|us| scale.place(us));
        from_us += mean_us;
        (part(phase, ends), aria_label(times, phase))
    });
    let parts = parts.into_iter();
    let drawn = parts.filter_map(|(part, label)| Some(part?.with("aria-label", label)));
    picture.add_all(drawn)
}

/// One phase of a bar; `None` if it took no time.
fn part(phase: Phase, [from, to]: [f64; 2]) -> Option<Element> {
    let part = element("rect")
        .class(format!("pt {}", class(phase)))
        .with("x", share(from))
        .with("width", share(to - from))
        .with("y", px(BAR_FROM))
        .with("height", px(HEIGHT - 2.0 * BAR_FROM));
    (to > from).then_some(part)
}

fn aria_label(times: &PhaseTimes, phase: Phase) -> String {
    let [name, mean, share, ..] = cells(times, phase);
    match times.phase(phase).p50_us {
        Some(_) => format!("{name} {} ({share})", with_unit(&mean, "µs")),
        None => format!("{name} {UNKNOWN}"),
    }
}

fn table(title: &str, rows: &[PhaseRow]) -> Table {
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
    let phase_rows = known.flat_map(|(row, times)| {
        Phase::ALL.map(|phase| {
            let [name, figures @ ..] = cells(times, phase);
            let mut phase_row = vec![row.who.clone(), count(times.requests), name];
            phase_row.extend(figures);
            phase_row
        })
    });
    Table::new(headers, phase_rows)
        .captioned(format!("{title}, by phase"))
        .named_by(3)
}

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

/// The height of a row's picture, and the top of the bar in it.
const HEIGHT: f64 = 34.0;
const BAR_FROM: f64 = 6.0;
