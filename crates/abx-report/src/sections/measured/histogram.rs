//! A histogram of response times over a logarithmic axis.

use abx_verdict::{RunView, TimeBin};

use crate::document::{CaptionedFigure, Document, Table};
use crate::html::charts::{Plot, PlotAxis, PlotCaption, PlotPoint, Scale, rate, time_text};
use crate::html::markup::Markup;
use crate::words::units::{count, plural, share};

/// The histogram of a run; nothing without a time, or in records of older versions.
pub(crate) fn histogram(run: &RunView) -> Document {
    let mut out = Document::default();
    let Some(times) = run.response_times() else {
        return out;
    };
    let total = times.count();
    let bins: Vec<TimeBin> = times.bins();
    let shown_bins = || bins.iter().filter(|bin| bin.count >= LEAST);
    let ends = bins.iter().flat_map(|bin| [bin.from_us, bin.to_us]);
    let most = bins.iter().map(|bin| bin.count).fold(1.0, f64::max);
    let scales = [
        Scale::log_around(ends),
        Scale::log_around([1.0, most].into_iter()),
    ];
    let [Some(x), Some(y)] = scales else {
        return out;
    };
    let x = PlotAxis::new("response time, log scale", x, 8, time_text);
    let y = PlotAxis::new("requests, log scale", y, 6, rate);
    let caption = PlotCaption {
        id: "histogram".to_owned(),
        title: "Histogram of response times".to_owned(),
        description: "How many requests took how long.".to_owned(),
    };
    let mut plot = Plot::new(caption, [x, y], 220.0);
    for bin in shown_bins() {
        let tip = format!(
            "{}: {} ({})",
            span(bin),
            plural(requests(bin), "request"),
            share(requests(bin), total)
        );
        let top = PlotPoint {
            x: bin.to_us,
            y: bin.count,
        };
        plot.column(0, bin.from_us, top, &tip);
    }
    let rows = shown_bins().map(|bin| {
        let requests = requests(bin);
        [span(bin), count(requests), share(requests, total)]
    });
    let table = Table::new(["response time", "requests", "share"], rows)
        .captioned("Requests by response time");
    let figure = CaptionedFigure {
        title: Some("Histogram of response times".to_owned()),
        legend: Markup::new(),
        body: plot.svg(),
        note: "Both axes are logarithmic, so that a few slow requests are seen next to many fast \
               ones. Two peaks mean two kinds of requests, or a server that sometimes waits. \
               Requests without a response count with the time they waited."
            .to_owned(),
        table: Some(table),
    };
    out.figures(vec![figure]);
    out
}

fn span(bin: &TimeBin) -> String {
    format!("{} to {}", time_text(bin.from_us), time_text(bin.to_us))
}

/// The requests of a bin, rounded.
fn requests(bin: &TimeBin) -> u64 {
    bin.count.round() as u64
}

/// A bin with a smaller count has only a part of one request.
const LEAST: f64 = 0.5;
