//! The records of one study over time: where their level changes, and each series as a picture.

use abx_verdict::trend::{Trend, TrendChange, TrendMachine, TrendPoint, TrendSeries, VALUES_MIN};
use abx_verdict::{Metric, Verdict};

use crate::document::{
    CaptionedFigure, Document, Statement, Table, pages, sections_markdown, sections_text,
};
use crate::html::charts::{
    Plot, PlotAxis, PlotCaption, PlotPoint, PointSize, Scale, Stroke, plain, rate, time_text,
};
use crate::html::markup::Markup;
use crate::html::page::Page;
use crate::markdown::escape;
use crate::words::metrics::metric_name;
use crate::words::sparkline::sparkline_within;
use crate::words::style::Style;
use crate::words::units::{bytes, count, figure, moment, or_unknown, plural, ratios};
use crate::words::verdict::name;
use crate::words::wrap::clean_name;

/// The trend of a study, ready to be printed.
#[must_use]
pub fn trend_text(trend: &Trend, style: &Style) -> String {
    let is_short = trend.series.len() <= SERIES_OF_TEXT;
    let is_shown = |series: &&TrendSeries| is_short || !series.changes.is_empty();
    let mut rows = tables(trend, is_shown);
    let series = trend.series.iter();
    match series.filter(|series| !is_shown(series)).count() {
        0 => {}
        left_out => rows.note(format!(
            "{} without a change are left out here: `--html FILE`, `--markdown FILE` and `--json \
             FILE` have them.",
            plural_series(left_out)
        )),
    }
    sections_text([head(trend), changes(trend), rows], style)
}

/// A text of more series shows only series with a change.
const SERIES_OF_TEXT: usize = 30;

/// The trend of a study in Markdown, with every record.
#[must_use]
pub fn trend_markdown(trend: &Trend) -> String {
    let title = format!("### abx: {}\n", escape(&title(trend)));
    sections_markdown(
        [title],
        &[
            head(trend),
            changes(trend),
            tables(trend, |_| true),
            records(trend),
        ],
    )
}

/// The trend of a study as an HTML page, with a plot for each series.
#[must_use]
pub fn trend_html(trend: &Trend) -> String {
    let mut first = head(trend);
    first.append(changes(trend));
    let sections = pages([
        ("changes", "Changes", first),
        ("series", "Series", tables(trend, |_| true)),
        ("plots", "Over time", plots(trend)),
        ("records", "Records", records(trend)),
    ]);
    Page::new(title(trend), "", sections).html()
}

fn title(trend: &Trend) -> String {
    format!("Trend of {}", clean_name(&trend.study))
}

/// The number of records, their time, and the number of machines.
fn head(trend: &Trend) -> Document {
    let points = || trend.series.iter().flat_map(|series| &series.points);
    let times = points().map(|point| point.started_unix_ms);
    let mut out = Document::default();
    out.paragraph(match times.clone().min().zip(times.max()) {
        Some((first, last)) => format!(
            "{} of {}, {} to {} (UTC).",
            plural(trend.records as u64, "record"),
            clean_name(&trend.study),
            moment(first),
            moment(last)
        ),
        None => format!(
            "{} of {}, and none has a valid value of this metric.",
            plural(trend.records as u64, "record"),
            clean_name(&trend.study)
        ),
    });
    if trend.left_out > 0 {
        out.paragraph(format!(
            "Left out: {}. Include them with `--limit N`.",
            plural(trend.left_out as u64, "older record")
        ));
    }
    let machines = machines(trend);
    if machines.len() > 1 {
        out.paragraph(format!(
            "The records are from {} kinds of machine, by CPU model and number of CPUs. Each has \
             a series of its own, because figures of different machines do not compare.",
            count(machines.len() as u64)
        ));
    }
    out
}

fn machines(trend: &Trend) -> Vec<&TrendMachine> {
    let mut machines: Vec<&TrendMachine> = Vec::new();
    for series in &trend.series {
        if !machines.contains(&&series.machine) {
            machines.push(&series.machine);
        }
    }
    machines
}

/// Every change of level, and the number of series that are too short to search.
fn changes(trend: &Trend) -> Document {
    let names_machine = machines(trend).len() > 1;
    let statements = trend.series.iter().flat_map(|series| {
        let changes = series.changes.iter();
        changes.map(move |change| statement(series, change, names_machine))
    });
    let statements: Vec<Statement> = statements.collect();
    let series = trend.series.iter();
    let searched = series.filter(|series| series.is_searched()).count();
    let mut out = Document::default();
    if statements.is_empty() && searched > 0 {
        out.paragraph(format!(
            "No change of level is certain in {}.",
            plural_series(searched)
        ));
    }
    out.statements(statements);
    let short = trend.series.len() - searched;
    if short > 0 {
        let have = if short == 1 { "has" } else { "have" };
        out.paragraph(format!(
            "{} {have} fewer than {VALUES_MIN} records, too few to search for changes.",
            plural_series(short)
        ));
    }
    out
}

fn plural_series(number: usize) -> String {
    format!("{} series", count(number as u64))
}

fn statement(series: &TrendSeries, change: &TrendChange, names_machine: bool) -> Statement {
    let [ratio, low, high] = ratios([change.bounds.ratio, change.bounds.low, change.bounds.high]);
    let place = if names_machine {
        format!(" on {}", machine(&series.machine))
    } else {
        String::new()
    };
    let [before, after] = [change.at - 1, change.at].map(|index| described(&series.points[index]));
    Statement {
        verdict: change.verdict,
        sentence: format!(
            "{} {} under {}{place}: {ratio} ({low} to {high}) times the {} before.",
            name(&series.subject),
            became(change.verdict),
            name(&series.load),
            metric_name(series.metric)
        ),
        remarks: vec![format!(
            "The first record after the change is {after}. The last one before is {before}."
        )],
        reasons: None,
    }
}

fn became(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "became faster",
        Verdict::Slower => "became slower",
        Verdict::Less => "needs less",
        _ => "needs more",
    }
}

/// A record with its date, its label and its commit.
fn described(point: &TrendPoint) -> String {
    let (label, commit) = (point.label.as_ref(), point.commit.as_ref());
    let parts = [
        Some(moment(point.started_unix_ms)),
        label.map(|label| format!("\"{}\"", clean_name(label))),
        commit.map(|commit| format!("commit {}", clean_name(commit))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("{} ({})", clean_name(&point.record), parts.join(", "))
}

fn machine(machine: &TrendMachine) -> String {
    let cpus = plural(machine.cpus as u64, "CPU");
    match &machine.cpu_model {
        Some(model) => format!("{}, {cpus}", clean_name(model)),
        None => format!("an unknown CPU, {cpus}"),
    }
}

/// A table for each metric and machine: the lowest, highest and latest value of each shown series,
/// and its course.
fn tables(trend: &Trend, is_shown: impl Fn(&&TrendSeries) -> bool) -> Document {
    let mut groups: Vec<(Metric, &TrendMachine)> = Vec::new();
    for series in trend.series.iter().filter(&is_shown) {
        let group = (series.metric, &series.machine);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    let tables = groups.into_iter().map(|(metric, place)| {
        let caption = format!("{} on {}", metric_name(metric), machine(place));
        let group = trend.series.iter().filter(&is_shown);
        let group = group.filter(|series| series.metric == metric && series.machine == *place);
        let headers = [
            "subject, load",
            "records",
            "lowest",
            "highest",
            "latest",
            COURSE,
        ];
        let mut out = Document::default();
        out.heading(format!("{caption}:"));
        let table = Table::new(headers, group.map(row)).captioned(caption);
        out.append(table.into());
        out
    });
    Document::joined(tables).explained(
        "Over time: from the oldest record to the newest. The height is from the lowest to the \
         highest value, or a tenth of the highest if that is more.",
    )
}

const COURSE: &str = "over time";

fn row(series: &TrendSeries) -> [String; 6] {
    let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
    let shown = |value: Option<f64>| or_unknown(value, |value| shown(series.metric, value));
    let pick = |choose: fn(f64, f64) -> f64| values.iter().copied().reduce(choose);
    [
        format!("{}, {}", name(&series.subject), name(&series.load)),
        count(values.len() as u64),
        shown(pick(f64::min)),
        shown(pick(f64::max)),
        shown(values.last().copied()),
        sparkline_within(&means_of_parts(&values, COURSE_COLUMNS), COURSE_RANGE),
    ]
}

const COURSE_COLUMNS: usize = 20;
const COURSE_RANGE: f64 = 0.1;

/// Means of at most `most` equal parts of the values.
fn means_of_parts(values: &[f64], most: usize) -> Vec<f64> {
    let parts = values.len().min(most);
    let end = |part: usize| part * values.len() / parts;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    (0..parts)
        .map(|part| mean(&values[end(part)..end(part + 1)]))
        .collect()
}

/// A value with its unit.
fn shown(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Memory => bytes(value),
        Metric::ResponseP99 => time_text(value),
        Metric::ServerCpu => format!("{} µs", figure(value)),
        _ => figure(value),
    }
}

/// A plot of each series, for as many as a page has room for.
fn plots(trend: &Trend) -> Document {
    let mut out = Document::default();
    let drawable = trend.series.iter().filter(|series| series.points.len() > 1);
    let drawable: Vec<&TrendSeries> = drawable.collect();
    let shown = drawable.iter().take(PLOTS_MAX).enumerate();
    let figures = shown.map(|(number, series)| plot(number, series));
    out.figures(figures.collect());
    if drawable.len() > PLOTS_MAX {
        out.note(format!(
            "{} of {} are drawn.",
            count(PLOTS_MAX as u64),
            plural_series(drawable.len())
        ));
    }
    out
}

const PLOTS_MAX: usize = 24;

fn plot(number: usize, series: &TrendSeries) -> CaptionedFigure {
    let count = series.points.len();
    let values = || series.points.iter().map(|point| point.value);
    let title = format!(
        "{}, {}: {} on {}",
        name(&series.subject),
        name(&series.load),
        metric_name(series.metric),
        machine(&series.machine)
    );
    let caption = PlotCaption {
        id: format!("trend-{number}"),
        title: title.clone(),
        description: format!("{}, oldest first.", plural(count as u64, "record")),
    };
    let x = PlotAxis::new(
        "record, oldest first",
        Scale::linear(1.0, count as f64),
        8,
        plain,
    );
    let unit = axis_unit(series.metric);
    let y = PlotAxis::new(
        unit,
        Scale::from_zero(values().fold(0.0, f64::max)),
        6,
        rate,
    );
    let mut plot = Plot::new(caption, [x, y], HEIGHT).with_points(match count {
        ..=FEW => PointSize::Usual,
        _ => PointSize::Small,
    });
    let place = |(index, point): (usize, &TrendPoint)| PlotPoint {
        x: (index + 1) as f64,
        y: point.value,
    };
    let places: Vec<PlotPoint> = series.points.iter().enumerate().map(place).collect();
    plot.curve(0, Stroke::Thin, &places);
    for (point, place) in series.points.iter().zip(&places) {
        let tip = format!("{}: {}", described(point), shown(series.metric, place.y));
        plot.point(0, *place, &tip);
    }
    for change in &series.changes {
        plot.rule_x("one", change.at as f64 + 0.5);
    }
    CaptionedFigure {
        title: Some(title),
        legend: Markup::new(),
        body: plot.svg(),
        note: match series.changes.len() {
            0 => String::new(),
            _ => "A vertical line marks a change of level.".to_owned(),
        },
        table: None,
    }
}

fn axis_unit(metric: Metric) -> &'static str {
    match metric {
        Metric::Memory => "bytes",
        Metric::ResponseP99 => "p99 response time, µs",
        Metric::ServerCpu => "CPU per response, µs",
        _ => metric_name(metric),
    }
}

const HEIGHT: f64 = 200.0;
const FEW: usize = 40;

/// Every record with its values.
fn records(trend: &Trend) -> Document {
    let mut rows = Vec::new();
    for series in &trend.series {
        for point in &series.points {
            let text = |text: &Option<String>| text.as_deref().map_or_else(String::new, clean_name);
            rows.push([
                clean_name(&point.record),
                moment(point.started_unix_ms),
                text(&point.label),
                text(&point.commit),
                name(&series.subject),
                name(&series.load),
                shown(series.metric, point.value),
            ]);
        }
    }
    let mut out = Document::default();
    let headers = [
        "record",
        "when (UTC)",
        "label",
        "commit",
        "subject",
        "load",
        "value",
    ];
    let left_out = rows.len().saturating_sub(ROWS_MAX);
    rows.truncate(ROWS_MAX);
    let mut inside = Document::default();
    if !rows.is_empty() {
        let table = Table::new(headers, rows).captioned("Records").of_words();
        inside.append(table.into());
    }
    if left_out > 0 {
        inside.note(format!(
            "{} more are in the JSON.",
            plural(left_out as u64, "row")
        ));
    }
    out.folded("Every record", inside);
    out
}

/// Rows of the table, at most.
const ROWS_MAX: usize = 2_000;
