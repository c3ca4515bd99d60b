//! Response times: the quantiles with their tail spread out, and the distribution.

use abx_evidence::record::LoadRecord;
use abx_verdict::{ResponseTimes, StudyRecord, SubjectView};

use crate::document::{CaptionedFigure, Document, Table};
use crate::html::charts::{
    NAMED, Plot, PlotAxis, PlotCaption, PlotPoint, Scale, Stroke, Subjects, named_shares, nines,
    plain, share_at, share_text, tail_axis, time_text,
};
use crate::html::markup::{Markup, with_unit};
use crate::sections::by_block::load_number;
use crate::sections::each_load::each_load;
use crate::words::units::count;
use crate::words::verdict::{name, place};

pub(crate) fn times(record: &StudyRecord, subjects: &Subjects) -> Document {
    let out = each_load(record, |load| {
        let parts = subjects.iter().filter_map(|(number, subject)| {
            let times = SubjectView::of(&record.measured, load, subject).response_times()?;
            Some(SubjectTimes {
                number,
                subject,
                times,
            })
        });
        let series: Vec<SubjectTimes> = parts.collect();
        of_load(record, load, subjects, &series).unwrap_or_default()
    });
    let mut text =
        "Times run from the intended send to the last byte, all blocks together. ".to_owned();
    if record
        .measured
        .loads
        .iter()
        .any(|load| load.settings.arrivals.is_saturating())
    {
        text.push_str(
            "In a closed loop they follow from throughput, so they are not a second verdict. ",
        );
    }
    text.push_str("Dotted: only a lower bound, because it includes requests without a response.");
    out.explained(&text)
}

struct SubjectTimes<'a> {
    number: usize,
    subject: &'a str,
    times: ResponseTimes,
}

#[derive(Clone, Copy)]
struct QuantilePoint {
    share: f64,
    us: f64,
    at_least: bool,
}

impl SubjectTimes<'_> {
    fn point(&self, share: f64) -> Option<QuantilePoint> {
        let quantile = self.times.quantile(share)?;
        Some(QuantilePoint {
            share,
            us: quantile.us as f64,
            at_least: quantile.at_least,
        })
    }

    fn last_share(&self) -> f64 {
        1.0 - 1.0 / (self.times.count() as f64).max(2.0)
    }

    /// Shares at equal distances on the axis of the tail, up to the longest time.
    fn tail(&self) -> Vec<QuantilePoint> {
        let end = nines(self.last_share());
        let shares = (0..=STEPS).map(|step| share_at(end * f64::from(step) / f64::from(STEPS)));
        shares.filter_map(|share| self.point(share)).collect()
    }

    /// Shares at equal distances, and the last ones.
    fn distribution(&self) -> Vec<QuantilePoint> {
        let shares = (0..STEPS).map(|step| f64::from(step) / f64::from(STEPS));
        let mut shares: Vec<f64> = shares.collect();
        shares.extend([0.995, 0.999, 1.0]);
        shares
            .into_iter()
            .filter_map(|share| self.point(share))
            .collect()
    }
}

fn of_load(
    record: &StudyRecord,
    load: &LoadRecord,
    subjects: &Subjects,
    series: &[SubjectTimes],
) -> Option<Document> {
    let points = series.iter().flat_map(SubjectTimes::tail);
    let scale = Scale::log_around(points.map(|point| point.us))?;
    let under = place(record, &load.name);
    let number = load_number(record, load);
    let numbers = || series.iter().map(|subject_times| subject_times.number);
    let tail = CaptionedFigure {
        title: Some(format!("Quantiles {under}")),
        legend: subjects.legend(numbers()),
        body: tail_plot(&under, number, scale, series),
        note: String::new(),
        table: Some(table(&under, series)),
    };
    let distribution = CaptionedFigure {
        title: Some(format!("Distribution {under}")),
        legend: subjects.legend(numbers()),
        body: distribution_plot(&under, number, scale, series),
        note: String::new(),
        table: None,
    };
    let mut out = Document::default();
    out.figures(vec![tail, distribution]);
    Some(out)
}

fn tail_plot(under: &str, number: usize, scale: Scale, series: &[SubjectTimes]) -> Markup {
    let end = series
        .iter()
        .map(|subject_times| nines(subject_times.last_share()))
        .fold(1.0, f64::max);
    let x = tail_axis(end);
    let y = PlotAxis::new("response time, log scale", scale, 7, time_text);
    let caption = PlotCaption {
        id: format!("quantiles-{number}"),
        title: format!("Response-time quantiles {under}"),
        description: "For each subject the time that a share of its requests does not exceed; the \
                      table below has the figures."
            .to_owned(),
    };
    let mut plot = Plot::new(caption, [x, y], 260.0);
    for subject_times in series {
        let place = |point: &QuantilePoint| PlotPoint {
            x: nines(point.share),
            y: point.us,
        };
        curves(
            &mut plot,
            subject_times.number,
            &subject_times.tail(),
            place,
        );
        let last = nines(subject_times.last_share());
        for share in named_shares(end).filter(|share| nines(*share) <= last) {
            if let Some(point) = subject_times.point(share) {
                let limit = if point.at_least { "at least " } else { "" };
                let [share, time] = [share_text(share), time_text(point.us)];
                let tip = format!("{share}: {limit}{time}");
                plot.point(subject_times.number, place(&point), &tip);
            }
        }
    }
    plot.svg()
}

fn distribution_plot(under: &str, number: usize, scale: Scale, series: &[SubjectTimes]) -> Markup {
    let x = PlotAxis::new("response time, log scale", scale, 7, time_text);
    let percent = |share: f64| with_unit(&plain(100.0 * share), "%");
    let y = PlotAxis::new("share of the requests", Scale::linear(0.0, 1.0), 6, percent);
    let caption = PlotCaption {
        id: format!("distribution-{number}"),
        title: format!("Distribution of response times {under}"),
        description: "For each time, the share of each subject's requests that took at most that \
            long; the table of quantiles has the figures."
            .to_owned(),
    };
    let mut plot = Plot::new(caption, [x, y], 260.0);
    for subject_times in series {
        let place = |point: &QuantilePoint| PlotPoint {
            x: point.us,
            y: point.share,
        };
        curves(
            &mut plot,
            subject_times.number,
            &subject_times.distribution(),
            place,
        );
        for share in [0.1, 0.25, 0.5, 0.75, 0.9] {
            if let Some(point) = subject_times.point(share) {
                let [share, time] = [share_text(share), time_text(point.us)];
                let limit = if point.at_least {
                    "at least "
                } else {
                    "at most "
                };
                let tip = format!("{share} took {limit}{time}");
                plot.point(subject_times.number, place(&point), &tip);
            }
        }
    }
    plot.svg()
}

/// The quantiles as a solid curve, and from its end on those that are only known as "at least".
fn curves(
    plot: &mut Plot,
    number: usize,
    points: &[QuantilePoint],
    place: impl Fn(&QuantilePoint) -> PlotPoint,
) {
    let exact = points.iter().take_while(|point| !point.at_least).count();
    let places: Vec<PlotPoint> = points.iter().map(place).collect();
    plot.curve(number, Stroke::Solid, &places[..exact]);
    plot.curve(number, Stroke::AtLeast, &places[exact.saturating_sub(1)..]);
}

fn table(under: &str, series: &[SubjectTimes]) -> Table {
    let row = |share: &f64| {
        let mut cells = vec![share_text(*share)];
        cells.extend(series.iter().map(|subject_times| {
            let point = (*share <= subject_times.last_share())
                .then(|| subject_times.point(*share))
                .flatten();
            point.map_or_else(
                || "-".to_owned(),
                |point| {
                    let limit = if point.at_least { "≥ " } else { "" };
                    format!("{limit}{}", count(point.us as u64))
                },
            )
        }));
        cells
    };
    let mut headers = vec!["share".to_owned()];
    headers.extend(
        series
            .iter()
            .map(|subject_times| format!("{}, µs", name(subject_times.subject))),
    );
    let shares = NAMED.iter();
    let in_reach = |share: &&f64| {
        series
            .iter()
            .any(|subject_times| **share <= subject_times.last_share())
    };
    Table::new(headers, shares.filter(in_reach).map(row)).captioned(format!(
        "Response time that a share of the requests does not exceed, {under}"
    ))
}

const STEPS: u32 = 240;
