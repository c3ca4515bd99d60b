//! How a run went over time: throughput and response times of each interval of it.

use abx_evidence::CourseInterval;
use abx_verdict::RunView;

use crate::document::{CaptionedFigure, Document, Table};
use crate::html::charts::{
    Plot, PlotAxis, PlotCaption, PlotPoint, PointSize, Scale, Stroke, entry, legend, plain, rate,
    time_text,
};
use crate::html::markup::Markup;
use crate::words::metrics::rate_name;
use crate::words::units::{GLUE, UNKNOWN, count, figure, seconds};

/// Both plots; nothing where the course was not kept, or is too short for a curve.
pub(crate) fn course(run: &RunView) -> Document {
    let mut out = Document::default();
    let Some(course) = run.course() else {
        return out;
    };
    let intervals: Vec<CourseInterval> = course.intervals().collect();
    let Some(last) = intervals.last().filter(|_| intervals.len() > 1) else {
        return out;
    };
    let unit = rate_name(run.load.settings.exchange.shape);
    let length = seconds(course.interval_ns as f64 / 1e9);
    let figures = [
        Some(throughput(&intervals, last.to_s, (unit, &length))),
        times(&intervals, last.to_s, &length),
    ];
    out.figures(figures.into_iter().flatten().collect());
    out
}

fn time_axis(until_s: f64) -> PlotAxis {
    let scale = Scale::linear(0.0, until_s);
    PlotAxis::new("time since the start, s", scale, 8, plain)
}

/// Where an interval stands along the axis.
fn middle(interval: &CourseInterval) -> f64 {
    f64::midpoint(interval.from_s, interval.to_s)
}

fn when(interval: &CourseInterval) -> String {
    let [from, to] = [interval.from_s, interval.to_s].map(figure);
    format!("{from} to {to} s")
}

fn throughput(
    intervals: &[CourseInterval],
    until_s: f64,
    (unit, length): (&str, &str),
) -> CaptionedFigure {
    let has_failed = intervals
        .iter()
        .any(|course_interval| course_interval.failed_per_s > 0.0);
    let shown = if has_failed { &RATES[..] } else { &RATES[..1] };
    let of = |number: usize, course_interval: &CourseInterval| {
        [course_interval.ok_per_s, course_interval.failed_per_s][number]
    };
    let course_intervals = intervals.iter();
    let everything = course_intervals.flat_map(|course_interval| {
        (0..shown.len()).map(move |number| of(number, course_interval))
    });
    let y = PlotAxis::new(
        unit,
        Scale::from_zero(everything.fold(0.0, f64::max)),
        6,
        rate,
    );
    let caption = PlotCaption {
        id: "course-throughput".to_owned(),
        title: "Throughput over time".to_owned(),
        description: format!("{} intervals of {length}.", count(intervals.len() as u64)),
    };
    let mut plot = plot(caption, [time_axis(until_s), y], intervals.len());
    for number in 0..shown.len() {
        let places: Vec<PlotPoint> = intervals
            .iter()
            .map(|course_interval| PlotPoint {
                x: middle(course_interval),
                y: of(number, course_interval),
            })
            .collect();
        plot.curve(number, Stroke::Solid, &places);
        for (course_interval, place) in intervals.iter().zip(&places) {
            let tip = format!("{}: {} {unit}", when(course_interval), figure(place.y));
            plot.point(number, *place, &tip);
        }
    }
    let headers = ["from s", "to s", "verified/s", "failed/s"];
    let row = |course_interval: &CourseInterval| {
        [
            course_interval.from_s,
            course_interval.to_s,
            course_interval.ok_per_s,
            course_interval.failed_per_s,
        ]
        .map(figure)
    };
    CaptionedFigure {
        title: Some("Throughput over time".to_owned()),
        legend: key(shown),
        body: plot.svg(),
        note: format!(
            "Each point is {length} of the run; responses count when they arrived. Points that \
             fall to zero are stalls. A sloping line is a server that warms up or slows down."
        ),
        table: Some(
            Table::new(headers, intervals.iter().map(row)).captioned("Throughput per interval"),
        ),
    }
}

/// `None` when no request ended.
fn times(intervals: &[CourseInterval], until_s: f64, length: &str) -> Option<CaptionedFigure> {
    let known = intervals
        .iter()
        .flat_map(|course_interval| course_interval.quantiles_us)
        .flatten();
    let scale = Scale::log_around(known.map(|us| us as f64))?;
    let y = PlotAxis::new("response time, log scale", scale, 6, time_text);
    let caption = PlotCaption {
        id: "course-times".to_owned(),
        title: "Response times over time".to_owned(),
        description: format!("p50, p90 and p99 of each interval of {length}."),
    };
    let mut plot = plot(caption, [time_axis(until_s), y], intervals.len());
    for number in 0..QUANTILES.len() {
        let place = |course_interval: &CourseInterval| {
            let us = course_interval.quantiles_us[number]?;
            Some(PlotPoint {
                x: middle(course_interval),
                y: us as f64,
            })
        };
        // An interval without a request interrupts the line.
        for part in
            intervals.split(|course_interval| course_interval.quantiles_us[number].is_none())
        {
            let places: Vec<PlotPoint> = part.iter().filter_map(place).collect();
            plot.curve(number, Stroke::Solid, &places);
            for (course_interval, place) in part.iter().zip(&places) {
                let tip = format!("{}: {}", when(course_interval), time_text(place.y));
                plot.point(number, *place, &tip);
            }
        }
    }
    let headers = ["from s", "to s", "p50 µs", "p90 µs", "p99 µs"];
    let row = |course_interval: &CourseInterval| {
        let [p50, p90, p99] = course_interval
            .quantiles_us
            .map(|us| us.map_or_else(|| UNKNOWN.to_owned(), count));
        [
            figure(course_interval.from_s),
            figure(course_interval.to_s),
            p50,
            p90,
            p99,
        ]
    };
    Some(CaptionedFigure {
        title: Some("Response times over time".to_owned()),
        legend: key(&QUANTILES),
        body: plot.svg(),
        note: format!(
            "Each point is an interval of {length}, with the requests that ended in it. Those \
             without a response count with the time they waited. Times are exact to 1{GLUE}%."
        ),
        table: Some(
            Table::new(headers, intervals.iter().map(row)).captioned("Response time per interval"),
        ),
    })
}

fn plot(caption: PlotCaption, axes: [PlotAxis; 2], points: usize) -> Plot {
    let size = match points {
        ..=FEW => PointSize::Usual,
        _ => PointSize::Small,
    };
    Plot::new(caption, axes, HEIGHT).with_points(size)
}

/// What the curves show; nothing where there is one only.
fn key(names: &[&str]) -> Markup {
    let entries = names.iter().enumerate();
    let entries = entries.map(|(number, name)| entry(number, name, None));
    match names {
        [_] => Markup::new(),
        _ => legend(entries),
    }
}

const RATES: [&str; 2] = ["verified", "failed"];
const QUANTILES: [&str; 3] = ["p50", "p90", "p99"];
const FEW: usize = 40;
const HEIGHT: f64 = 220.0;
