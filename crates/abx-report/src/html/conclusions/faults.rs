//! What was done to subjects on purpose: a picture of the requests around each fault, all
//! subjects over each other, and what it cost.

use abx_evidence::record::FaultRecord;
use abx_evidence::{FaultMoment, StudyRecord, fault_course};

use crate::html::charts::{
    Plot, PlotAxis, PlotCaption, PlotPoint, Scale, Stroke, Subjects, plain, share_text,
};
use crate::html::markup::{CaptionedFigure, Grid, Markup, note, paragraphs};
use crate::words::faults::{fault_legend, fault_table, heading, lost_sentence};
use crate::words::style::Style;
use crate::words::verdict::name;

/// A picture and a table for each fault; empty without any.
pub(crate) fn faults(record: &StudyRecord, subjects: &Subjects) -> Markup {
    let mut out = Markup::new();
    let all = record.measured.faults.iter().enumerate();
    for (number, fault) in all {
        if let Some(figure) = picture(record, (number, fault), subjects) {
            out.push(figure.markup());
        }
        let table = fault_table(record, fault);
        let rows = table.rows.into_iter().map(Vec::from);
        out.push(Grid::figures(heading(record, fault), table.headers, rows).markup());
        let lost = record.conclusions.lost_to_faults.iter();
        for one in lost.filter(|one| one.fault == fault.name) {
            out.push(paragraphs(&lost_sentence(one, &Style::plain())));
        }
    }
    if !out.is_empty() {
        out.push(note(&fault_legend(record)));
    }
    out
}

/// The share of requests with a right answer in time around a fault.
fn picture(
    record: &StudyRecord,
    (number, fault): (usize, &FaultRecord),
    subjects: &Subjects,
) -> Option<CaptionedFigure> {
    let stretch_ns = (fault.within_ns / STRETCHES).max(1);
    let course = |subject| fault_course(&record.measured, fault, subject, stretch_ns);
    let courses = subjects
        .iter()
        .map(|(place, subject)| (place, course(subject)));
    let courses: Vec<(usize, Vec<FaultMoment>)> =
        courses.filter(|(_, course)| course.len() > 1).collect();
    let moments = || courses.iter().flat_map(|(_, course)| course);
    let first = moments().map(|one| one.since_ns).min()?;
    let last = moments().map(|one| one.since_ns).max()?;
    let at = name(&fault.name);
    let caption = PlotCaption {
        id: format!("fault-{number}"),
        title: format!("Requests answered in time around {at}"),
        description: format!(
            "The share of the requests due that had a right response in time, by when they were \
             due, before and after {at}, by subject."
        ),
    };
    let [low, high] = [first, last].map(|ns| ns as f64 / 1e9);
    let x = PlotAxis::new(
        "s from the fault to when requests were due",
        Scale::linear(low, high),
        8,
        plain,
    );
    let label = "requests answered rightly and in time";
    let y = PlotAxis::new(label, Scale::linear(0.0, 1.0), 5, share_text);
    let mut plot = Plot::new(caption, [x, y], 200.0);
    plot.rule_x("even", 0.0);
    for (place, course) in &courses {
        let points = course.iter().map(|one| PlotPoint {
            x: one.since_ns as f64 / 1e9,
            y: one.in_time,
        });
        plot.curve(*place, Stroke::Solid, &points.collect::<Vec<_>>());
    }
    let rows = courses.iter().flat_map(|(place, course)| {
        let subject = subjects.iter().find(|(number, _)| number == place);
        let subject = subject.map_or(String::new(), |(_, subject)| name(subject));
        let disturbed = course.iter().filter(|one| one.in_time < 1.0);
        disturbed.map(move |one| {
            vec![
                subject.clone(),
                format!("{:.2}", one.since_ns as f64 / 1e9),
                share_text(one.in_time),
                share_text(one.failed),
            ]
        })
    });
    let headers = ["subject", "s from the fault", "in time", "lost"];
    let table = Grid::figures(
        format!("Stretches around {at} with lost or delayed requests"),
        headers,
        rows.collect::<Vec<_>>(),
    );
    Some(CaptionedFigure {
        title: Some(format!("Around {at}")),
        legend: subjects.legend(courses.iter().map(|(place, _)| *place)),
        body: plot.svg(),
        note: "Median over blocks; the vertical line is the fault. What is missing to the top was \
               lost or delayed."
            .to_owned(),
        table: Some(table),
    })
}

/// A picture has so many stretches of time.
const STRETCHES: u64 = 120;
