//! The ratio of each block, from which the intervals are computed.

use std::collections::BTreeSet;

use abx_verdict::{Comparison, Metric, StudyRecord};

use crate::document::{CaptionedFigure, Document, Table};
use crate::html::charts::{Plot, PlotAxis, PlotCaption, PlotPoint, Scale, Stroke, Subjects, plain};
use crate::sections::by_block::{BlockValues, block_axis, block_indices, block_table};
use crate::words::metrics::{capitalized, metric_under};
use crate::words::units::{is_drawable, percent, plural};
use crate::words::verdict::{name, place};
use crate::words::wrap::shorten;

/// A plot for each load and metric that the study was made for, and for each baseline.
pub(crate) fn block_ratios(record: &StudyRecord, subjects: &Subjects) -> Document {
    let mut figures = Vec::new();
    let mut plots: Vec<(&str, Metric, &str)> = Vec::new();
    for comparison in record.conclusions.primary() {
        let plot = plot_of(comparison);
        if plots.contains(&plot) {
            continue;
        }
        let dots: Vec<Dots> = record
            .conclusions
            .primary()
            .filter(|other| plot_of(other) == plot)
            .filter_map(|comparison| Dots::of(record, comparison, subjects))
            .collect();
        figures.extend(of_metric(record, subjects, plots.len(), &dots));
        plots.push(plot);
    }
    let text = "Each point is one block, for which every server was restarted. The interval \
                (shaded) is computed from these points and nothing else: if they drift, or fall \
                into two groups, restarts or the machine make the difference.";
    let mut out = Document::default();
    out.figures(figures);
    out.explained(text)
}

/// Comparisons with the same load, metric and baseline share a plot.
fn plot_of(comparison: &Comparison) -> (&str, Metric, &str) {
    (&comparison.load, comparison.metric, &comparison.baseline)
}

struct Dots<'a> {
    comparison: &'a Comparison,
    ratios: BlockValues,
}

impl<'a> Dots<'a> {
    fn of(
        record: &StudyRecord,
        comparison: &'a Comparison,
        subjects: &Subjects,
    ) -> Option<Dots<'a>> {
        let ratios = indices_of(record, comparison)
            .into_iter()
            .zip(&comparison.per_block);
        let drawable = ratios.filter_map(|(block, ratio)| Some((block, (*ratio)?)));
        let ratios = BlockValues {
            number: subjects.number(&comparison.subject)?,
            subject: name(&comparison.subject),
            values: drawable.filter(|(_, ratio)| is_drawable(*ratio)).collect(),
        };
        Some(Dots { comparison, ratios })
    }
}

fn indices_of(record: &StudyRecord, comparison: &Comparison) -> Vec<u32> {
    match record.measured.load(&comparison.load) {
        Some(load) => block_indices(record, load),
        None => {
            let loads = record.measured.loads.iter();
            let of_grid = loads.filter(|load| load.name_of_grid() == comparison.load);
            let of_grid: BTreeSet<&str> = of_grid.map(|load| &*load.name).collect();
            let blocks = record.measured.complete_blocks();
            // Comparisons of a fault or of starts have no load and are in every block.
            let with_grid = blocks.filter(|block| {
                let mut parts = block.loads.iter();
                of_grid.is_empty() || parts.any(|part| of_grid.contains(&*part.load))
            });
            with_grid.map(|block| block.index).collect()
        }
    }
}

fn of_metric(
    record: &StudyRecord,
    subjects: &Subjects,
    number: usize,
    dots: &[Dots],
) -> Option<CaptionedFigure> {
    let first = dots.first()?.comparison;
    let ratios = dots.iter().flat_map(|dots| &dots.ratios.values);
    ratios.clone().next()?;
    let margin = record.measured.settings.margin;
    let band = [1.0 / (1.0 + margin), 1.0 + margin];
    let scale = Scale::log_around(ratios.map(|(_, ratio)| *ratio).chain(band))?;
    let metric = capitalized(metric_under(record, &first.load, first.metric));
    let relative = match record.measured.only_baseline() {
        Some(_) => String::new(),
        None => format!(" relative to {}", name(&first.baseline)),
    };
    let title = format!("{metric} {}{relative}", place(record, &first.load));
    let baseline = shorten(&name(&first.baseline), BASELINE_LETTERS);
    let label = format!("{metric} ÷ {baseline}'s, log scale");
    let indices = indices_of(record, first);
    let axes = [block_axis(&indices), PlotAxis::new(&label, scale, 6, plain)];
    let caption = PlotCaption {
        id: format!("blocks-{number}"),
        title: format!("{title}: ratio in each block"),
        description: format!(
            "{}, each with one point for each subject; lines with a shade are ratios over all \
             blocks with their intervals, and differences of up to {} around 1 are hatched.",
            plural(indices.len() as u64, "block"),
            percent(margin)
        ),
    };
    let mut plot = Plot::new(caption, axes, 210.0);
    plot.shade_y("margin", band);
    plot.rule_y("one", 1.0);
    dots.iter().for_each(|dots| draw(&mut plot, &indices, dots));
    Some(CaptionedFigure {
        title: Some(title.clone()),
        legend: subjects.legend(dots.iter().map(|dots| dots.ratios.number)),
        body: plot.svg(),
        note: String::new(),
        table: Some(table(&title, &indices, dots)),
    })
}

/// Draws the ratio over all blocks with its interval, and the ratio of each block.
fn draw(plot: &mut Plot, indices: &[u32], dots: &Dots) {
    let comparison = dots.comparison;
    if let Some([ratio, low, high]) = comparison.bounds() {
        plot.band(dots.ratios.number, [low, high]);
        let ends = [indices.first(), indices.last()].map(|index| index.copied().unwrap_or(0));
        let [left, right] = ends.map(f64::from);
        let ends = [left - 0.5, right + 0.5].map(|x| PlotPoint { x, y: ratio });
        plot.curve(dots.ratios.number, Stroke::Thin, &ends);
    }
    let show = |ratio| format!("{ratio:.3}");
    dots.ratios.draw_points(plot, show);
}

fn table(title: &str, indices: &[u32], dots: &[Dots]) -> Table {
    let headers = dots.iter().map(|dots| {
        let pair = [&dots.comparison.subject, &dots.comparison.baseline];
        let [subject, baseline] = pair.map(|text| name(text));
        format!("{subject} ÷ {baseline}")
    });
    let ratios: Vec<&BlockValues> = dots.iter().map(|dots| &dots.ratios).collect();
    let caption = format!("{title}: ratio in each block");
    let show = |ratio| format!("{ratio:.4}");
    block_table(caption, headers, indices, &ratios, show)
}

/// Letters of a baseline's name that fit along an axis.
const BASELINE_LETTERS: usize = 16;
