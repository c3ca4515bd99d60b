//! The quantiles of each kind of time of a run, on a page with a plot.

use abx_evidence::{Figure, Times};
use abx_verdict::RunView;

use crate::document::{CaptionedFigure, Document, Table};
use crate::html::charts::{
    Plot, PlotAxis, PlotCaption, PlotPoint, Scale, Stroke, entry, legend, nines, tail_axis,
    time_text,
};
use crate::html::markup::Markup;
use crate::sections::measured::histogram::histogram;
use crate::words::style::{LINE, Style};
use crate::words::times::{at_least_legend, time};
use crate::words::units::TimeUnit;

/// A table, and for a page a longer one and plots.
pub(crate) fn run_times(run: &RunView, style: &Style) -> Document {
    let main = response_and_service(run);
    let is_open = run.load.settings.arrivals.is_open();
    let lateness = ("lateness", &run.summary.lateness_us);
    let handshakes = run.summary.handshake_us.iter().map(|us| ("handshake", us));
    let listeners = run.summary.broadcasts.iter().flat_map(|broadcasts| {
        [
            ("first", &broadcasts.first_listener_us),
            ("half", &broadcasts.median_listener_us),
        ]
    });
    let others: Vec<(&str, &Times)> = listeners.chain(handshakes).collect();
    let text_rows = main
        .into_iter()
        .chain(is_open.then_some(lateness))
        .chain(others.iter().copied());
    let lag = ("loop lag", &run.summary.loop_lag_us);
    let page_rows = main
        .into_iter()
        .chain([lateness, lag])
        .chain(others.iter().copied());
    let mut out = Document::default();
    let page = Document::from(page_table(page_rows)).html();
    out.picture(page, text_table(text_rows, is_open, style).into());
    out.note(explained(run, style));
    out.append(histogram(run));
    out.figures(quantiles(run).into_iter().collect());
    out
}

/// A row per kind of time. In a closed loop, response and service times share a unit.
fn text_table<'a>(
    rows: impl Iterator<Item = (&'a str, &'a Times)>,
    is_open: bool,
    style: &Style,
) -> Table {
    let rows: Vec<(&str, &Times)> = rows.collect();
    let shared = TimeUnit::of(rows[..2].iter().map(|(_, times)| times.p50));
    // An overloaded server's response times are a thousand times its
    // service times: each row has its own unit.
    let row = |(number, (name, times)): (usize, &(&str, &Times))| {
        let (name, unit) = if number < 2 && !is_open {
            ((*name).to_owned(), shared)
        } else {
            let unit = TimeUnit::of([times.p50]);
            (format!("{name} {}", unit.sign()), unit)
        };
        cells(vec![name], times, &SHOWN, unit, style)
    };
    let first = if is_open {
        "time".to_owned()
    } else {
        format!("time in {}", shared.sign())
    };
    let headers = std::iter::once(first).chain(SHOWN.map(|figure| figure.name().to_owned()));
    Table::new(headers, rows.iter().enumerate().map(row))
}

fn page_table<'a>(rows: impl Iterator<Item = (&'a str, &'a Times)>) -> Table {
    let row = |(name, times): (&str, &Times)| {
        let unit = TimeUnit::of([times.p50]);
        let names = vec![name.to_owned(), unit.sign().to_owned()];
        cells(names, times, &Figure::ALL, unit, &LINE)
    };
    let headers = ["time", "unit"]
        .into_iter()
        .chain(Figure::ALL.map(Figure::name));
    Table::new(headers, rows.map(row))
        .captioned("Times that a share of the requests does not exceed")
        .named_by(2)
}

fn cells(
    mut names: Vec<String>,
    times: &Times,
    figures: &[Figure],
    unit: TimeUnit,
    style: &Style,
) -> Vec<String> {
    names.extend(
        figures
            .iter()
            .map(|figure| time(times, *figure, unit, style)),
    );
    names
}

fn explained(run: &RunView, style: &Style) -> String {
    let mut text = "Response time is counted from the intended send, service time from the actual \
                    send"
        .to_owned();
    if run.load.settings.arrivals.is_open() {
        text.push_str("; lateness is what the generator adds");
    }
    text.push('.');
    if run.summary.handshake_us.is_some() {
        text.push_str(
            " Handshake: TLS handshake, from the connected socket to its end, per connection \
             opened after the start.",
        );
    }
    if run.summary.broadcasts.is_some() {
        text.push_str(
            " A broadcast is complete when the last listener has it; first and half: when the \
             first listener and half of them have it.",
        );
    }
    let times = response_and_service(run).map(|(_, times)| times);
    text + &at_least_legend(times.into_iter(), &SHOWN, style)
}

fn response_and_service<'a>(run: &RunView<'a>) -> [(&'static str, &'a Times); 2] {
    [
        ("response", &run.summary.response_time_us),
        ("service", &run.summary.service_time_us),
    ]
}

/// `None` without any time.
fn quantiles(run: &RunView) -> Option<CaptionedFigure> {
    let keys = PLOTTED.iter().enumerate();
    Some(CaptionedFigure {
        title: Some("Quantiles".to_owned()),
        legend: legend(keys.map(|(number, name)| entry(number, name, None))),
        body: plot(run)?,
        note:
            "In the table: lateness is the delay that the generator adds; loop lag is how long it \
             did not read its clock."
                .to_owned(),
        table: None,
    })
}

fn plot(run: &RunView) -> Option<Markup> {
    let all_times = [&run.summary.response_time_us, &run.summary.service_time_us];
    let places = all_times.map(|times| {
        let place = |(figure, share)| {
            let (x, y) = (nines(share), times.figure(figure)?);
            Some((figure, PlotPoint { x, y }))
        };
        let quantiles = Figure::QUANTILES.into_iter();
        quantiles.filter_map(place).collect::<Vec<_>>()
    });
    let values = places.iter().flatten().map(|(_, place)| place.y);
    let scale = Scale::log_around(values)?;
    let y = PlotAxis::new("time, log scale", scale, 6, time_text);
    let caption = PlotCaption {
        id: "quantiles".to_owned(),
        title: "Quantiles of response and service times".to_owned(),
        description: "The table above has the figures.".to_owned(),
    };
    let mut plot = Plot::new(caption, [tail_axis(nines(0.999)), y], 220.0);
    for (number, (places, times)) in places.iter().zip(all_times).enumerate() {
        let curve: Vec<PlotPoint> = places.iter().map(|(_, place)| *place).collect();
        plot.curve(number, Stroke::Solid, &curve);
        for (figure, place) in places {
            let limit = if times.is_at_least(*figure) {
                "at least "
            } else {
                ""
            };
            let [what, name] = [PLOTTED[number], figure.name()];
            plot.point(
                number,
                *place,
                &format!("{what}, {name}: {limit}{}", time_text(place.y)),
            );
        }
    }
    Some(plot.svg())
}

const SHOWN: [Figure; 6] = {
    let [p50, p90, p95, p99, p99_9, max, _] = Figure::ALL;
    [p50, p90, p95, p99, p99_9, max]
};
const PLOTTED: [&str; 2] = ["response time", "service time"];
