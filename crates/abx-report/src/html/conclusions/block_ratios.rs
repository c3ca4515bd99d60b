//! The ratio of each block: what the intervals are made of.

use abx_evidence::{Comparison, Metric, StudyRecord};

use crate::html::charts::by_block::{block_axis, block_indices};
use crate::html::charts::plot::{Plot, PlotAxis, PlotCaption, PlotPoint, Stroke};
use crate::html::charts::scale::{Scale, plain};
use crate::html::charts::subjects::Subjects;
use crate::html::conclusions::ratios::is_drawable;
use crate::html::markup::figure::{CaptionedFigure, side_by_side};
use crate::html::markup::grid::{CellKind, Grid};
use crate::html::markup::{Markup, element};
use crate::words::metrics::{capitalized, metric_under};
use crate::words::units::{percent, plural};
use crate::words::verdict::{name, place};

/// A plot for each load and metric that the study was made for.
pub(crate) fn block_ratios(record: &StudyRecord, subjects: &Subjects) -> Markup {
    let mut figures = Vec::new();
    let mut seen: Vec<(&str, Metric)> = Vec::new();
    for one in record.conclusions.primary() {
        let about = (one.load.as_str(), one.metric);
        if seen.contains(&about) {
            continue;
        }
        let these = record
            .conclusions
            .primary()
            .filter(|one| (one.load.as_str(), one.metric) == about);
        let dots: Vec<Dots> = these
            .filter_map(|one| Dots::of(record, one, subjects))
            .collect();
        figures.extend(of_metric(record, subjects, seen.len(), &dots));
        seen.push(about);
    }
    if figures.is_empty() {
        return Markup::new();
    }
    let text = "Each point is one block, for which every server was restarted. The interval \
                (shaded) is computed from these points and nothing else: if they drift, or fall \
                into two groups, restarts or the machine make the difference.";
    let mut all = Markup::from(element("p").class("note").text(text));
    all.push(side_by_side(figures));
    all
}

/// One comparison with the ratio of each of its blocks.
struct Dots<'a> {
    one: &'a Comparison,
    number: usize,
    /// The number of the block, and its ratio.
    ratios: Vec<(u32, f64)>,
}

impl<'a> Dots<'a> {
    fn of(record: &StudyRecord, one: &'a Comparison, subjects: &Subjects) -> Option<Dots<'a>> {
        let ratios = indices_of(record, one).into_iter().zip(&one.per_block);
        let drawable = ratios.filter_map(|(block, ratio)| Some((block, (*ratio)?)));
        Some(Dots {
            one,
            number: subjects.number(&one.subject)?,
            ratios: drawable.filter(|(_, ratio)| is_drawable(*ratio)).collect(),
        })
    }
}

/// The numbers of the blocks that a comparison rests on.
fn indices_of(record: &StudyRecord, one: &Comparison) -> Vec<u32> {
    match record
        .measured
        .loads
        .iter()
        .find(|load| load.name == one.load)
    {
        Some(load) => block_indices(record, load),
        // It is about several loads, which are in every block.
        None => record
            .measured
            .complete_blocks()
            .map(|block| block.index)
            .collect(),
    }
}

fn of_metric(
    record: &StudyRecord,
    subjects: &Subjects,
    number: usize,
    dots: &[Dots],
) -> Option<CaptionedFigure> {
    let first = dots.first()?.one;
    let ratios = dots.iter().flat_map(|one| &one.ratios);
    ratios.clone().next()?;
    let margin = record.measured.settings.margin;
    let band = [1.0 / (1.0 + margin), 1.0 + margin];
    let scale = Scale::log_around(ratios.map(|(_, ratio)| *ratio).chain(band))?;
    let metric = capitalized(metric_under(record, &first.load, first.metric));
    let title = format!("{metric} {}", place(record, &first.load));
    let label = format!("{metric} ÷ {}'s, log scale", name(&first.baseline));
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
    dots.iter().for_each(|one| draw(&mut plot, &indices, one));
    Some(CaptionedFigure {
        title: Some(title.clone()),
        legend: subjects.legend(dots.iter().map(|one| one.number)),
        body: plot.svg(),
        note: String::new(),
        table: Some(table(&title, &indices, dots)),
    })
}

/// The ratio over all blocks with its interval, and that of each block.
fn draw(plot: &mut Plot, indices: &[u32], dots: &Dots) {
    let one = dots.one;
    if let Some((ratio, (low, high))) = one.ratio.zip(one.low.zip(one.high)) {
        plot.band(dots.number, [low, high]);
        let ends = [indices.first(), indices.last()].map(|index| index.copied().unwrap_or(0));
        let [left, right] = ends.map(f64::from);
        let ends = [left - 0.5, right + 0.5].map(|x| PlotPoint { x, y: ratio });
        plot.curve(dots.number, Stroke::Thin, &ends);
    }
    for (block, ratio) in &dots.ratios {
        let place = PlotPoint {
            x: f64::from(*block),
            y: *ratio,
        };
        let tip = format!("{}, block {block}: {ratio:.3}", name(&one.subject));
        plot.point(dots.number, place, &tip);
    }
}

fn table(title: &str, indices: &[u32], dots: &[Dots]) -> Grid {
    let row = |index: &u32| {
        let mut cells = vec![index.to_string()];
        cells.extend(dots.iter().map(|one| {
            let found = one.ratios.iter().find(|(block, _)| block == index);
            found.map_or_else(|| "-".to_owned(), |(_, ratio)| format!("{ratio:.4}"))
        }));
        cells
    };
    let mut headers = vec!["block".to_owned()];
    headers.extend(
        dots.iter()
            .map(|one| format!("{} ÷ {}", name(&one.one.subject), name(&one.one.baseline))),
    );
    Grid {
        caption: format!("{title}: ratio in each block"),
        headers,
        rows: indices.iter().map(row).collect(),
        names: 1,
        cells: CellKind::Figures,
    }
}
