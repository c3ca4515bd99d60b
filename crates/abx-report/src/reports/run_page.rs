//! The page of a run: one server, one load, no comparison.

use abx_evidence::{Figure as Quantile, RunRecord, Times};

use crate::document::{CaptionedFigure, Document, Table, pages};
use crate::html::charts::{
    Plot, PlotAxis, PlotCaption, PlotPoint, Scale, Stroke, entry, legend, nines, tail_axis,
    time_text,
};
use crate::html::markup::Markup;
use crate::html::page::Page;
use crate::json::record_json;
use crate::reports::run::{HANDSHAKE_LEGEND, headline, listeners, offer, sides};
use crate::sections::compared::findings::all_findings;
use crate::sections::measured::course::course;
use crate::sections::measured::histogram::histogram;
use crate::sections::measured::how_measured::machine;
use crate::sections::measured::outcomes::run_outcomes;
use crate::sections::measured::phases::run_phases;
use crate::sections::measured::scope;
use crate::sections::measured::server_times::run_server_times;
use crate::words::load::hashed;
use crate::words::style::LINE;
use crate::words::times::{at_least_legend, time};
use crate::words::units::{TimeUnit, count, date, seconds};
use crate::words::wrap::clean_name;

/// The report of a run as an HTML page, ready to be written to a file.
///
/// The page needs no other file and asks for none; the record is in it.
#[must_use]
pub fn run_html(record: &RunRecord) -> String {
    let subtitle = format!(
        "{}, {}, abx {}.",
        date(record.started_unix_ms),
        seconds(record.elapsed_s),
        record.abx_version
    );
    let sections = pages([
        ("throughput", "Throughput", result(record)),
        ("course", "Over time", course(record)),
        ("times", "Times", times(record)),
        ("phases", "Where the time goes", where_time_goes(record)),
        ("outcomes", "Outcomes", run_outcomes(record)),
        ("cost", "Cost", sides(record)),
        ("findings", "Findings", all_findings(&record.findings, 1)),
        ("conduct", "How it was measured", how_measured(record)),
    ]);
    let title = format!("One run against {}", clean_name(&record.settings.url));
    let file = format!("abx-run-{}.json", record.started_unix_ms);
    Page::new(title, &subtitle, sections)
        .with_record(file, record_json(record))
        .html()
}

fn result(record: &RunRecord) -> Document {
    let mut out = headline(record, &LINE);
    out.append(offer(record));
    out.explained(&scope::of_run(&record.scope))
}

fn times(record: &RunRecord) -> Document {
    let pairs = [
        ("response", &record.response_time_us),
        ("service", &record.service_time_us),
        ("lateness", &record.generator.lateness_us),
        ("loop lag", &record.generator.loop_lag_us),
    ];
    let row = |(name, times): (&str, &Times)| {
        let unit = TimeUnit::of([times.p50]);
        let mut cells = vec![name.to_owned(), unit.sign().to_owned()];
        cells.extend(Quantile::ALL.map(|figure| time(times, figure, unit, &LINE)));
        cells
    };
    let mut headers = vec!["time".to_owned(), "unit".to_owned()];
    headers.extend(Quantile::ALL.map(|figure| figure.name().to_owned()));
    let listeners = record.broadcasts.iter().flat_map(listeners);
    let handshakes = record.handshake_us.iter().map(|us| ("handshake", us));
    let of_handshakes = match record.handshake_us {
        Some(_) => HANDSHAKE_LEGEND,
        None => "",
    };
    let grid = Table::new(
        headers,
        pairs
            .into_iter()
            .chain(handshakes)
            .chain(listeners)
            .map(row),
    )
    .captioned("Times that a share of the requests does not exceed")
    .named_by(2);
    let at_least = at_least_legend(
        pairs[..2].iter().map(|(_, times)| *times),
        &Quantile::ALL,
        &LINE,
    );
    let text = format!(
        "Response time is counted from the intended send, service time from the actual send; \
         lateness is what the generator adds, loop lag how long it did not look at its \
         clock.{of_handshakes}{at_least}"
    );
    let figure = CaptionedFigure {
        title: Some("Quantiles".to_owned()),
        legend: legend(
            PLOTTED
                .iter()
                .enumerate()
                .map(|(number, name)| entry(number, name, None)),
        ),
        body: plot(record),
        note: text,
        table: None,
    };
    let mut out = Document::from(grid);
    out.append(histogram(record));
    out.figures(vec![figure]);
    out
}

fn plot(record: &RunRecord) -> Markup {
    let all_times = [&record.response_time_us, &record.service_time_us];
    let places = all_times.map(|times| {
        let place = |(figure, share)| {
            let (x, y) = (nines(share), times.figure(figure)?);
            Some((figure, PlotPoint { x, y }))
        };
        let quantiles = Quantile::QUANTILES.into_iter();
        quantiles.filter_map(place).collect::<Vec<_>>()
    });
    let values = places.iter().flatten().map(|(_, place)| place.y);
    let Some(scale) = Scale::log_around(values) else {
        return Markup::new();
    };
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
    plot.svg()
}

/// Where the time of requests goes, and what the server says of its own.
fn where_time_goes(record: &RunRecord) -> Document {
    let mut out = run_phases(record);
    out.append(run_server_times(record));
    out
}

fn how_measured(record: &RunRecord) -> Document {
    let settings = &record.settings;
    let mut all_pairs = vec![
        ("address", settings.url.clone()),
        ("method", settings.method.clone()),
        ("connections", count(settings.connections.into())),
        ("time-out", seconds(settings.timeout.as_secs_f64())),
        ("bodies hashed", hashed(settings)),
    ];
    all_pairs.extend(machine(&record.machine));
    Table::pairs("Settings and machine", all_pairs).into()
}

const PLOTTED: [&str; 2] = ["response time", "service time"];
