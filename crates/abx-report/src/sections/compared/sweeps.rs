//! Sweeps and capacities in words.

use abx_evidence::Figure;
use abx_evidence::record::LoadRecord;
use abx_verdict::{Axis, Capacity, Crossover, Metric, StudyRecord, Summary, Sweep};

use crate::document::{CaptionedFigure, Document, Table};
use crate::html::charts::{
    Backdrop, Bar, BarEnd, Plot, PlotAxis, PlotCaption, PlotPoint, Scale, Stroke, Subjects, Tick,
    axis, bar_table, cell, name_cell, picture_cell, rate, time_text,
};
use crate::html::markup::{Element, Markup, element, note, with_unit};
use crate::words::load::requests;
use crate::words::metrics::{capitalized, metric_under, rate_name, rate_under};
use crate::words::units::{UNKNOWN, count, figure, or_unknown, percent};
use crate::words::verdict::name;
use crate::words::wrap::clean_name;

/// The capacities grouped by load and objective.
fn by_objective(capacities: &[Capacity]) -> impl Iterator<Item = &[Capacity]> {
    capacities.chunk_by(|capacity, next| {
        capacity.load == next.load && capacity.objective == next.objective
    })
}

/// The loads with which abx searched for a capacity.
fn loads_of<'a>(
    record: &'a StudyRecord,
    capacity: &Capacity,
) -> impl Iterator<Item = &'a LoadRecord> {
    let is_tried = |load: &&LoadRecord| {
        load.settings.objective.as_ref() == Some(&capacity.objective)
            && load.name_of_grid() == capacity.load
    };
    record.measured.loads.iter().filter(is_tried)
}

/// The rates that were tried for a capacity, in ascending order.
pub(crate) fn tried(record: &StudyRecord, capacity: &Capacity) -> Vec<f64> {
    let mut rates: Vec<f64> = loads_of(record, capacity)
        .filter_map(|load| load.settings.arrivals.rate_per_s)
        .collect();
    rates.sort_by(f64::total_cmp);
    rates
}

/// Whether each block with a rate of a capacity has all of its rates.
fn is_same_in_all_blocks(record: &StudyRecord, capacity: &Capacity) -> bool {
    let names: Vec<&str> = loads_of(record, capacity).map(|load| &*load.name).collect();
    let blocks = record.measured.complete_blocks().map(|block| {
        let parts = block.loads.iter();
        parts.filter(|part| names.contains(&&*part.load)).count()
    });
    let mut rates = blocks.filter(|count| *count > 0);
    rates.all(|count| count == names.len())
}

fn is_without_interval(capacity: &Capacity) -> bool {
    capacity.rate_per_s.is_some() && capacity.low.is_none() && capacity.high.is_none()
}

pub(crate) fn rate_of(record: &StudyRecord, capacity: &Capacity) -> &'static str {
    let load = loads_of(record, capacity).next();
    let shape = load.map(|load| load.settings.exchange.shape);
    rate_name(shape.unwrap_or_default())
}

/// Lines on where subjects change places in a sweep, and how they scale.
fn sweep_lines(record: &StudyRecord, sweep: &Sweep) -> Vec<String> {
    let load = sweep.loads.first().map_or("", String::as_str);
    let unit = rate_under(record, load);
    let at_text = |at: f64| match sweep.axis {
        Axis::Connections => format!("{} connections", count(at as u64)),
        Axis::Rate => format!("{} {unit}", count(at as u64)),
    };
    let metric = metric_under(record, load, sweep.metric);
    let crossovers = sweep.crossovers.iter();
    let crossovers = crossovers.map(|crossover| crossover_line(crossover, metric, at_text));
    let mut lines: Vec<String> = crossovers.collect();
    if lines.is_empty() && record.measured.is_comparison() {
        let what = match record.measured.only_baseline() {
            Some(_) => "no subject certainly changes places with the baseline",
            None => "no pair certainly changes places",
        };
        lines.push(format!(
            "From {} to {}, {what}.",
            or_unknown(sweep.at.first().copied(), |at| count(at as u64)),
            or_unknown(sweep.at.last().copied(), at_text)
        ));
    }
    for scalability in &sweep.scalability {
        let peak = match scalability.peak_connections {
            Some(peak) => format!("peak at about {} connections", figure(peak)),
            None => "no peak predicted".to_owned(),
        };
        let fit = scalability.r2.map_or(String::new(), |r2| {
            format!(
                ". The law explains {} of the variation",
                percent(r2.max(0.0))
            )
        });
        lines.push(format!(
            "{} by the Universal Scalability Law: {} {unit} with one connection, contention {}, \
             coherency {:.2e}: {peak}{fit}.",
            name(&scalability.subject),
            figure(scalability.lambda),
            percent(scalability.sigma),
            scalability.kappa
        ));
    }
    let prefix = sweep_prefix(record, sweep);
    lines.iter().map(|line| format!("{prefix}{line}")).collect()
}

/// The loads of a sweep, to stand before its lines; empty if there is only one sweep.
fn sweep_prefix(record: &StudyRecord, sweep: &Sweep) -> String {
    match sweep.loads.as_slice() {
        [first, .., last] if record.conclusions.sweeps.len() > 1 => {
            format!("{} to {}: ", name(first), name(last))
        }
        _ => String::new(),
    }
}

fn crossover_line(crossover: &Crossover, metric: &str, at_text: impl Fn(f64) -> String) -> String {
    let range = match (crossover.low, crossover.high) {
        (Some(low), Some(high)) => format!("{} to {}", figure(low), figure(high)),
        (None, Some(high)) => format!("at most {}", figure(high)),
        (Some(low), None) => format!("at least {}", figure(low)),
        (None, None) => "unbounded".to_owned(),
    };
    format!(
        "{} is ahead by {} up to {}, {} from {} on; they are even at about {} ({range}).",
        name(&crossover.before),
        metric,
        at_text(crossover.ahead_until),
        name(&crossover.after),
        at_text(crossover.ahead_from),
        figure(crossover.at)
    )
}

/// The lines of sweeps in which subjects certainly change places.
pub(crate) fn crossovers(record: &StudyRecord) -> Document {
    let sweeps = record.conclusions.sweeps.iter();
    let crossed = sweeps.filter(|sweep| !sweep.crossovers.is_empty());
    crossed
        .flat_map(|sweep| sweep_lines(record, sweep))
        .collect()
}

/// The lines of all sweeps, and plots on a page; nothing without sweeps.
pub(crate) fn sweeps(record: &StudyRecord) -> Document {
    let subjects = Subjects::of(record);
    let sweeps = &record.conclusions.sweeps;
    let figures = sweeps.iter().enumerate();
    let figures = figures.filter_map(|(number, sweep)| figure_of(record, &subjects, number, sweep));
    let figures: Vec<CaptionedFigure> = figures.collect();
    let lines = sweeps.iter().flat_map(|sweep| sweep_lines(record, sweep));
    let mut out: Document = lines.collect();
    out.figures(figures);
    out
}

/// Capacities: for each objective a table, on a page with bars, and a legend.
pub(crate) fn capacities(record: &StudyRecord) -> Document {
    let mut out = Document::default();
    for capacities in by_objective(&record.conclusions.capacities) {
        let first = &capacities[0];
        let unit = rate_of(record, first);
        out.heading(format!(
            "Highest rate in {unit} that meets {} under {} ({} intervals):",
            first.objective,
            name(&first.load),
            percent(first.confidence)
        ));
        let headers = ["subject", unit, "from", "to", "always met", "always missed"];
        let table = Table::new(headers, capacities.iter().map(row));
        out.picture(capacity_table(record, capacities), table.into());
        let rates = tried(record, first);
        if let (Some(low), Some(high)) = (rates.first(), rates.last()) {
            let each_block = if is_same_in_all_blocks(record, first) {
                ", all of them in every block"
            } else {
                "; each block tried those around its own capacities"
            };
            let [low, high] = [low, high].map(|rate| figure(*rate));
            let count = rates.len();
            out.note(format!(
                "from {count} rates between {low} and {high} {unit}{each_block}"
            ));
        }
        if capacities.iter().any(is_without_interval) {
            out.note("one block was measured: no interval yet");
        }
        let mut outside = capacities
            .iter()
            .filter(|capacity| capacity.rate_per_s.is_none())
            .peekable();
        if outside.peek().is_some() {
            let next = if outside.any(|capacity| capacity.high.is_some()) {
                "; loosen the objective, or find response times at lower rates with `-r auto`"
            } else {
                ""
            };
            out.note(format!(
                "{UNKNOWN}: outside the rates that were tried{next}"
            ));
        }
    }
    out
}

fn row(capacity: &Capacity) -> [String; 6] {
    [
        clean_name(&capacity.subject),
        or_unknown(capacity.rate_per_s, figure),
        or_unknown(capacity.low, figure),
        or_unknown(capacity.high, figure),
        or_unknown(capacity.held_per_s, figure),
        or_unknown(capacity.missed_per_s, figure),
    ]
}

struct SweepNames {
    metric: &'static str,
    rate: &'static str,
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
                Axis::Connections => "connections".to_owned(),
                Axis::Rate => format!("offered {rate}"),
            },
        }
    }

    fn show(&self, metric: Metric, value: f64) -> String {
        if metric.is_response_time() {
            time_text(value)
        } else {
            with_unit(&figure(value), self.rate)
        }
    }
}

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

/// One subject's figures along a sweep; `None` at a load without a figure.
struct SubjectLine<'a> {
    number: usize,
    subject: &'a str,
    values: Vec<Option<f64>>,
}

impl<'a> SubjectLine<'a> {
    fn all(record: &StudyRecord, subjects: &Subjects<'a>, sweep: &Sweep) -> Vec<SubjectLine<'a>> {
        let value = |load: &String, subject: &str| {
            let mut summaries = record.conclusions.under(load);
            let summary = summaries.find(|summary| summary.subject == subject)?;
            reading(sweep.metric, summary)
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
    let y = if metric.is_response_time() {
        let label = format!("{}, log scale", names.metric);
        PlotAxis::new(&label, Scale::log_around(values)?, 6, time_text)
    } else {
        PlotAxis::new(
            names.rate,
            Scale::from_zero(values.fold(0.0, f64::max)),
            6,
            rate,
        )
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
    let request_text = request_text(record, sweep)?;
    let title = format!("{}, {request_text}", capitalized(names.metric));
    let caption = PlotCaption {
        id: format!("sweep-{number}"),
        title: format!("{title}: against {over}"),
        description: format!(
            "One point per subject at {} values of {over}. Where subjects change places, the plot \
             is shaded.",
            sweep.at.len()
        ),
    };
    let ends = [sweep.at.first(), sweep.at.last()].map(|at| at.copied().unwrap_or_default());
    let mut plot = Plot::new(caption, [x, y], 240.0);
    for crossover in &sweep.crossovers {
        mark(&mut plot, crossover, ends);
    }
    for line in &lines {
        let places = line.places(sweep);
        plot.curve(line.number, Stroke::Solid, &places);
        for place in places {
            let tip = format!("{} {over}: {}", rate(place.x), names.show(metric, place.y));
            plot.point(line.number, place, &tip);
        }
    }
    Some(CaptionedFigure {
        title: Some(title.clone()),
        legend: subjects.whole_legend(),
        body: plot.svg(),
        note: match sweep.crossovers[..] {
            [] => String::new(),
            _ => {
                "Shaded: where subjects may change places; dashed: where they are even.".to_owned()
            }
        },
        table: Some(sweep_table(title, sweep, &names, &lines)),
    })
}

fn request_text(record: &StudyRecord, sweep: &Sweep) -> Option<String> {
    let mut loads = record.measured.loads.iter();
    let first = loads.find(|load| Some(&load.name) == sweep.loads.first())?;
    Some(requests(&first.settings))
}

/// Marks where two subjects change places.
fn mark(plot: &mut Plot, crossover: &Crossover, [first, last]: [f64; 2]) {
    plot.shade_x(
        "crossover",
        [
            crossover.low.unwrap_or(first),
            crossover.high.unwrap_or(last),
        ],
    );
    plot.rule_x("even", crossover.at);
}

fn sweep_table(caption: String, sweep: &Sweep, names: &SweepNames, lines: &[SubjectLine]) -> Table {
    let row =
        |(step, at): (usize, &f64)| {
            let mut cells = vec![rate(*at)];
            cells.extend(lines.iter().map(|line| {
                or_unknown(line.values[step], |value| names.show(sweep.metric, value))
            }));
            cells
        };
    let mut headers = vec![names.over.clone()];
    headers.extend(lines.iter().map(|line| name(line.subject)));
    Table::new(headers, sweep.at.iter().enumerate().map(row)).captioned(caption)
}

fn bars_legend(record: &StudyRecord) -> String {
    let hatched = record.measured.only_baseline().map(|_| {
        let margin = percent(record.measured.settings.margin);
        format!(" Hatched: within {margin} of the baseline, which does not matter.")
    });
    format!(
        "Diamond: highest rate that meets the objective; bar: its interval; arrow: outside the \
         rates that were tried, which are the dots below.{}",
        hatched.unwrap_or_default()
    )
}

fn capacity_table(record: &StudyRecord, capacities: &[Capacity]) -> Markup {
    let first = &capacities[0];
    let tried = tried(record, first);
    let rates = capacities
        .iter()
        .flat_map(|capacity| [capacity.rate_per_s, capacity.low, capacity.high]);
    let Some(scale) = Scale::log_around(rates.flatten().chain(tried.iter().copied())) else {
        return Markup::new();
    };
    let caption = format!(
        "Highest rate that meets {} under {} ({} interval)",
        first.objective,
        name(&first.load),
        percent(first.confidence)
    );
    let unit = rate_of(record, first);
    let scaled = format!("{unit}, log scale");
    let headers = ["subject", "capacity (interval)", &scaled];
    let band = band(record, capacities);
    let rows = capacities.iter().map(|capacity| {
        [
            name_cell("who", &name(&capacity.subject)),
            cell("ratio", &capacity_interval(capacity, unit)),
            picture_cell(capacity_picture(capacity, scale, &tried, band)),
        ]
    });
    let table = bar_table(&caption, headers, rows, axis(scale, rate));
    let legend = note(&bars_legend(record));
    element("figure").add(table).add(legend).into()
}

/// Rates within the margin around the baseline's rate; `None` if that is unknown.
fn band(record: &StudyRecord, capacities: &[Capacity]) -> Option<[f64; 2]> {
    let baseline = record.measured.only_baseline()?;
    let is_baseline = |capacity: &&Capacity| capacity.subject == baseline;
    let rate = capacities.iter().find(is_baseline)?.rate_per_s?;
    let factor = 1.0 + record.measured.settings.margin;
    Some([rate / factor, rate * factor])
}

/// A capacity in words, with its unit, because a narrow page has no headers.
fn capacity_interval(capacity: &Capacity, unit: &str) -> String {
    let rate = |rate: f64| with_unit(&figure(rate), unit);
    match (capacity.rate_per_s, capacity.low, capacity.high) {
        (Some(result), Some(low), Some(high)) => {
            format!("{} ({} to {})", rate(result), figure(low), figure(high))
        }
        (Some(result), None, None) => format!("{} (no interval yet)", rate(result)),
        (_, Some(low), None) => format!("at least {}", rate(low)),
        (_, None, Some(high)) => format!("at most {}", rate(high)),
        _ => "outside the rates that were tried".to_owned(),
    }
}

fn capacity_picture(
    capacity: &Capacity,
    scale: Scale,
    tried: &[f64],
    band: Option<[f64; 2]>,
) -> Element {
    let [lowest, highest] = scale.ends();
    Bar {
        backdrop: Backdrop {
            band,
            ..Backdrop::default()
        },
        dots: tried.to_vec(),
        point: capacity.rate_per_s,
        ends: (!is_without_interval(capacity)).then(|| {
            [
                BarEnd::new(capacity.low.unwrap_or(lowest), capacity.low.is_none()),
                BarEnd::new(capacity.high.unwrap_or(highest), capacity.high.is_none()),
            ]
        }),
    }
    .markup(scale)
}
