//! Throughput and response times over the course of a run, interval by interval.

use abx_evidence::CourseInterval;
use abx_verdict::RunView;

use crate::document::{CaptionedFigure, Document, Table};
use crate::html::charts::{
    Plot, PlotAxis, PlotCaption, PlotPoint, PointSize, Scale, Stroke, entry, legend, plain, rate,
    time_text,
};
use crate::html::markup::Markup;
use crate::words::metrics::rate_name;
use crate::words::units::{GLUE, count, figure, or_unknown, seconds};

/// Both plots; nothing if the course was not recorded, or is too short for a curve.
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

/// The place of an interval along the axis.
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
    let has_failed = intervals.iter().any(|interval| interval.failed_per_s > 0.0);
    let shown = if has_failed { &RATES[..] } else { &RATES[..1] };
    let rates = |interval: &CourseInterval| [interval.ok_per_s, interval.failed_per_s];
    // Without failures, their rate of zero is never the highest.
    let highest = intervals.iter().flat_map(rates).fold(0.0, f64::max);
    let y = PlotAxis::new(unit, Scale::from_zero(highest), 6, rate);
    let caption = PlotCaption {
        id: "course-throughput".to_owned(),
        title: "Throughput over time".to_owned(),
        description: format!("{} intervals of {length}.", count(intervals.len() as u64)),
    };
    let mut plot = plot(caption, [time_axis(until_s), y], intervals.len());
    for curve in 0..shown.len() {
        let places: Vec<PlotPoint> = intervals
            .iter()
            .map(|interval| PlotPoint {
                x: middle(interval),
                y: rates(interval)[curve],
            })
            .collect();
        plot.curve(curve, Stroke::Solid, &places);
        for (interval, place) in intervals.iter().zip(&places) {
            let tip = format!("{}: {} {unit}", when(interval), figure(place.y));
            plot.point(curve, *place, &tip);
        }
    }
    let headers = ["from s", "to s", "verified/s", "failed/s"];
    let row = |interval: &CourseInterval| {
        let [verified, failed] = rates(interval);
        [interval.from_s, interval.to_s, verified, failed].map(figure)
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
    let times_us = intervals
        .iter()
        .flat_map(|interval| interval.quantiles_us)
        .flatten();
    let scale = Scale::log_around(times_us.map(|us| us as f64))?;
    let y = PlotAxis::new("response time, log scale", scale, 6, time_text);
    let caption = PlotCaption {
        id: "course-times".to_owned(),
        title: "Response times over time".to_owned(),
        description: format!("p50, p90 and p99 of each interval of {length}."),
    };
    let mut plot = plot(caption, [time_axis(until_s), y], intervals.len());
    for quantile in 0..QUANTILES.len() {
        let place = |interval: &CourseInterval| {
            let us = interval.quantiles_us[quantile]?;
            Some(PlotPoint {
                x: middle(interval),
                y: us as f64,
            })
        };
        // An interval without a request interrupts the line.
        for part in intervals.split(|interval| interval.quantiles_us[quantile].is_none()) {
            let places: Vec<PlotPoint> = part.iter().filter_map(place).collect();
            plot.curve(quantile, Stroke::Solid, &places);
            for (interval, place) in part.iter().zip(&places) {
                let tip = format!("{}: {}", when(interval), time_text(place.y));
                plot.point(quantile, *place, &tip);
            }
        }
    }
    let headers = ["from s", "to s", "p50 µs", "p90 µs", "p99 µs"];
    let row = |interval: &CourseInterval| {
        let [from, to] = [interval.from_s, interval.to_s].map(figure);
        let [p50, p90, p99] = interval.quantiles_us.map(|us| or_unknown(us, count));
        [from, to, p50, p90, p99]
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

/// The legend; empty if there is only one curve.
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
