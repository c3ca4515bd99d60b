//! Sweeps: the same metric from load to load, and where subjects change places.

use abx_evidence::{
    Axis as Over, Crossover, Figure, Metric, Scalability, StudyRecord, Summary, Sweep,
};

use crate::html::charts::{
    Plot, PlotAxis, PlotCaption, PlotPoint, Scale, Stroke, Subjects, Tick, rate, time_text,
};
use crate::html::markup::{CaptionedFigure, Grid, LINE, Markup, side_by_side, with_unit};
use crate::words::load::requests;
use crate::words::metrics::{capitalized, metric_under, rate_under};
use crate::words::sweeps::text;
use crate::words::units::{figure, or_unknown, percent};
use crate::words::verdict::name;

/// A plot for each sweep with what it says.
pub(crate) fn sweeps(record: &StudyRecord, subjects: &Subjects) -> Markup {
    let figures: Vec<CaptionedFigure> = { record.conclusions.sweeps.iter().enumerate() }
        .filter_map(|(number, sweep)| figure_of(record, subjects, number, sweep))
        .collect();
    let mut out = side_by_side(figures);
    let laws = { record.conclusions.sweeps.iter() }.filter(|sweep| !sweep.scalability.is_empty());
    laws.for_each(|sweep| out.push(law(record, sweep).markup()));
    out
}

/// The names under which a sweep's figures are shown.
struct SweepNames {
    /// What is shown.
    metric: &'static str,
    /// What throughput is counted in.
    rate: &'static str,
    /// What the loads differ in.
    over: String,
}

impl SweepNames {
    fn of(record: &StudyRecord, sweep: &Sweep) -> SweepNames {
        let load = sweep.loads.first().map_or("", String::as_str);
        let rate = rate_under(record, load);
        SweepNames {
            metric: metric_under(record, load, sweep.metric),
            rate,
            over: match sweep.axis {
                Over::Connections => "connections".to_owned(),
                Over::Rate => format!("offered {rate}"),
            },
        }
    }

    fn show(&self, metric: Metric, value: f64) -> String {
        match metric.is_response_time() {
            true => time_text(value),
            false => with_unit(&figure(value), self.rate),
        }
    }
}

/// What a sweep shows of one subject under one load.
fn reading(metric: Metric, summary: &Summary) -> Option<f64> {
    let figure = match metric {
        Metric::ResponseP50 => Figure::P50,
        Metric::ResponseP90 => Figure::P90,
        Metric::ResponseP99 => Figure::P99,
        Metric::ResponseP999 => Figure::P999,
        _ => return summary.throughput_per_s,
    };
    summary.response_time_us.figure(figure)
}

/// One subject's figures along a sweep; `None` where it has none.
struct SubjectLine<'a> {
    number: usize,
    subject: &'a str,
    values: Vec<Option<f64>>,
}

impl<'a> SubjectLine<'a> {
    fn all(record: &StudyRecord, subjects: &Subjects<'a>, sweep: &Sweep) -> Vec<SubjectLine<'a>> {
        let value = |load: &String, subject: &str| {
            let mut found = record.conclusions.under(load);
            reading(sweep.metric, found.find(|one| one.subject == subject)?)
        };
        let line = |(number, subject)| SubjectLine {
            number,
            subject,
            values: { sweep.loads.iter() }
                .map(|load| value(load, subject))
                .collect(),
        };
        subjects.iter().map(line).collect()
    }

    fn places(&self, sweep: &Sweep) -> Vec<PlotPoint> {
        let along = sweep.at.iter().zip(&self.values);
        let place = |(x, y): (&f64, &Option<f64>)| Some(PlotPoint { x: *x, y: (*y)? });
        along.filter_map(place).collect()
    }
}

fn figure_of(
    record: &StudyRecord,
    subjects: &Subjects,
    number: usize,
    sweep: &Sweep,
) -> Option<CaptionedFigure> {
    let lines = SubjectLine::all(record, subjects, sweep);
    let values = lines
        .iter()
        .flat_map(|line| line.values.iter().flatten().copied());
    let metric = sweep.metric;
    let names = SweepNames::of(record, sweep);
    let y = match metric.is_response_time() {
        true => {
            let label = format!("{}, log scale", names.metric);
            PlotAxis::new(&label, Scale::log_around(values)?, 6, time_text)
        }
        false => PlotAxis::new(
            names.rate,
            Scale::from_zero(values.fold(0.0, f64::max)),
            6,
            rate,
        ),
    };
    let over = &names.over;
    let x = PlotAxis {
        label: format!("{over}, log scale"),
        scale: Scale::log_around(sweep.at.iter().copied())?,
        ticks: { sweep.at.iter() }
            .map(|at| Tick {
                at: *at,
                text: rate(*at),
                is_minor: false,
            })
            .collect(),
    };
    let asked = asked(record, sweep)?;
    let title = format!("{}, {asked}", capitalized(names.metric));
    let caption = PlotCaption {
        id: format!("sweep-{number}"),
        title: format!("{title}: against {over}"),
        description: format!(
            "One point per subject at {} values of {over}; certain crossovers are shaded.",
            sweep.at.len()
        ),
    };
    let ends = [sweep.at.first(), sweep.at.last()].map(|at| at.copied().unwrap_or_default());
    let mut plot = Plot::new(caption, [x, y], 240.0);
    for one in &sweep.crossovers {
        mark(&mut plot, one, ends);
    }
    for line in &lines {
        let places = line.places(sweep);
        plot.curve(line.number, Stroke::Solid, &places);
        for place in places {
            let [subject, value] = [name(line.subject), names.show(metric, place.y)];
            let tip = format!("{subject}, {} {over}: {value}", rate(place.x));
            plot.point(line.number, place, &tip);
        }
    }
    Some(CaptionedFigure {
        title: Some(title.clone()),
        legend: subjects.whole_legend(),
        body: plot.svg(),
        note: note(record, sweep),
        table: Some(table(title, sweep, &names, &lines)),
    })
}

/// What was asked in all loads of a sweep.
fn asked(record: &StudyRecord, sweep: &Sweep) -> Option<String> {
    let mut loads = record.measured.loads.iter();
    let first = loads.find(|load| Some(&load.name) == sweep.loads.first())?;
    Some(requests(&first.settings))
}

/// The law that describes how subjects grow with connections.
fn law(record: &StudyRecord, sweep: &Sweep) -> Grid {
    let row = |one: &Scalability| {
        let peak = one.peak_connections.map(figure);
        vec![
            name(&one.subject),
            figure(one.lambda),
            percent(one.sigma),
            format!("{:.2e}", one.kappa),
            peak.unwrap_or_else(|| "no peak in sight".to_owned()),
            or_unknown(one.r2, |r2| percent(r2.max(0.0))),
        ]
    };
    let single = format!("{} with one connection", SweepNames::of(record, sweep).rate);
    let headers = [
        "subject",
        &single,
        "contention",
        "coherency",
        "most at connections",
        "explained",
    ];
    Grid::figures(
        format!(
            "The Universal Scalability Law, fitted to {}: a description",
            asked(record, sweep).unwrap_or_default()
        ),
        headers,
        sweep.scalability.iter().map(row),
    )
}

/// Where subjects change places, as the terminal says it, and how that is drawn.
fn note(record: &StudyRecord, sweep: &Sweep) -> String {
    let places = Sweep {
        scalability: Vec::new(),
        ..sweep.clone()
    };
    let text = text(record, &places, &LINE);
    let mut lines: Vec<&str> = text.lines().collect();
    if !sweep.crossovers.is_empty() {
        lines.push("Shaded: where that may be; dashed: where they are even.");
    }
    lines.join(" ")
}

/// Where two subjects change places.
fn mark(plot: &mut Plot, one: &Crossover, [first, last]: [f64; 2]) {
    plot.shade_x(
        "crossover",
        [one.low.unwrap_or(first), one.high.unwrap_or(last)],
    );
    plot.rule_x("even", one.at);
}

fn table(caption: String, sweep: &Sweep, names: &SweepNames, lines: &[SubjectLine]) -> Grid {
    let row = |(step, at): (usize, &f64)| {
        let mut cells = vec![rate(*at)];
        cells
            .extend({ lines.iter() }.map(|line| {
                or_unknown(line.values[step], |value| names.show(sweep.metric, value))
            }));
        cells
    };
    let mut headers = vec![names.over.clone()];
    headers.extend(lines.iter().map(|line| name(line.subject)));
    Grid::figures(caption, headers, sweep.at.iter().enumerate().map(row))
}
