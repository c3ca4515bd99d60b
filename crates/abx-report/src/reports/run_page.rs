//! The page of a run: one server, one load, no comparison.

use abx_evidence::{Figure as Quantile, RunRecord, Times};

use crate::document::Table;
use crate::html::charts::{
    Plot, PlotAxis, PlotCaption, PlotPoint, Scale, Stroke, entry, legend, nines, tail_axis,
    time_text,
};
use crate::html::markup::{CaptionedFigure, LINE, Markup, note, paragraphs};
use crate::html::page::Page;
use crate::reports::run;
use crate::reports::run::{offer, side_lines};
use crate::sections::compared::findings;
use crate::sections::measured::course::course;
use crate::sections::measured::histogram::histogram;
use crate::sections::measured::how_measured::{machine, pairs};
use crate::sections::measured::outcomes::{came, title, wrong};
use crate::sections::measured::server_times::{RUN_SERVER_TIMES_LEGEND, run_server_times_table};
use crate::sections::measured::{phases, scope};
use crate::words::fleet::agents;
use crate::words::load::{hashed, offered};
use crate::words::times::{at_least_legend, time};
use crate::words::units::{TimeUnit, count, date, seconds, share};
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
    let sections = [
        ("throughput", "Throughput", headline(record)),
        ("course", "Over time", course(record)),
        ("times", "Times", times(record)),
        ("phases", "Where the time goes", where_time_goes(record)),
        ("outcomes", "Outcomes", outcomes(record)),
        ("cost", "Cost", cost(record)),
        (
            "findings",
            "Findings",
            findings::findings_html(&record.findings, 1),
        ),
        ("conduct", "How it was measured", how_measured(record)),
    ];
    let title = format!("One run against {}", clean_name(&record.settings.url));
    let file = format!("abx-run-{}.json", record.started_unix_ms);
    Page::new(title, &subtitle, sections)
        .with_record(file, crate::json::record_json(record))
        .html()
}

fn headline(record: &RunRecord) -> Markup {
    let mut out = paragraphs(&run::headline(record, &LINE));
    out.push(paragraphs(&offer(record, &LINE)));
    out.push(note(&scope::of_run(&record.scope)));
    out
}

fn times(record: &RunRecord) -> Markup {
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
    let listeners = record.broadcasts.iter().flat_map(run::listeners);
    let handshakes = record.handshake_us.iter().map(|us| ("handshake", us));
    let of_handshakes = match record.handshake_us {
        Some(_) => run::HANDSHAKE_LEGEND,
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
    let parts = [
        Markup::from(grid.markup()),
        histogram(record),
        figure.markup().into(),
    ];
    parts.into_iter().collect()
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
fn where_time_goes(record: &RunRecord) -> Markup {
    let mut out = phases::run_phases_html(record);
    if let Some(table) = run_server_times_table(record) {
        out.push(table.captioned("Server timings").markup());
        out.push(note(RUN_SERVER_TIMES_LEGEND));
    }
    out
}

fn cost(record: &RunRecord) -> Markup {
    let lines = side_lines(record);
    pairs("On both sides", lines.into()).markup().into()
}

fn outcomes(record: &RunRecord) -> Markup {
    let requests = &record.requests;
    let row = |name: String, times: u64| vec![name, count(times), share(times, requests.sent)];
    let came = came([&requests.outcomes].into_iter());
    let rows = came
        .into_iter()
        .map(|outcome| row(title(outcome), requests.outcomes.count(outcome)));
    let grid = Table::new(
        ["outcome", "count", "share"],
        rows.chain([row("sent".to_owned(), requests.sent)]),
    )
    .captioned("Attempts by what became of them");
    let mut out = Markup::from(grid.markup());
    out.push(wrong("the server", &requests.wrong_statuses));
    out.push(paragraphs(
        &record.offered.as_ref().map(offered).unwrap_or_default(),
    ));
    out
}

fn how_measured(record: &RunRecord) -> Markup {
    let settings = &record.settings;
    let mut all_pairs = vec![
        ("address", settings.url.clone()),
        ("method", settings.method.clone()),
        ("connections", count(settings.connections.into())),
        ("time-out", seconds(settings.timeout.as_secs_f64())),
        ("bodies hashed", hashed(settings)),
    ];
    let fleet = record.measured.fleet.as_ref();
    all_pairs.extend(fleet.map(|fleet| ("agents", agents(fleet))));
    all_pairs.extend(machine(&record.machine));
    pairs("Settings and machine", all_pairs).markup().into()
}

const PLOTTED: [&str; 2] = ["response time", "service time"];
