//! The ratio of each block: what the intervals are made of.

use abx_evidence::record::LoadRecord;
use abx_evidence::{Comparison, StudyRecord, log_ratios};

use super::cast::Cast;
use super::grid::{Cells, Figure, Grid};
use super::markup::{Markup, element};
use super::plot::{Axis, Place, Plot, Stroke, Words};
use super::ratios::{capital, metric_name};
use super::scale::{Scale, plain};
use crate::units::{figure, percent, plural};
use crate::verdict::{name, place};

/// A plot for each load and metric that was compared.
pub(crate) fn blocks(record: &StudyRecord, cast: &Cast) -> Markup {
    let mut out = Markup::new();
    for load in &record.loads {
        let mut metrics = Vec::new();
        for one in record
            .comparisons
            .iter()
            .filter(|one| one.load == load.name)
        {
            if !metrics.contains(&one.metric) {
                metrics.push(one.metric);
            }
        }
        for metric in metrics {
            let all = record.comparisons.iter();
            let these = all.filter(|one| one.load == load.name && one.metric == metric);
            let points: Vec<Dots> = these
                .filter_map(|one| Dots::of(record, load, one, cast))
                .collect();
            if let Some(figure) = of_load(record, load, cast, &points) {
                out.push(figure.markup());
            }
        }
    }
    if out.is_empty() {
        return out;
    }
    let text = "Each point is one block, in which every server was started anew. The interval is \
                computed over these points and nothing else: points that drift, or that stand in \
                two groups, say that starts or the machine make the difference.";
    let mut all = Markup::from(element("p").class("note").text(text));
    all.push(out);
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
    fn of(
        record: &StudyRecord,
        load: &LoadRecord,
        one: &'a Comparison,
        cast: &Cast,
    ) -> Option<Dots<'a>> {
        let logs = log_ratios(record, load, &one.subject, &one.baseline);
        let indices = block_indices(record, load);
        let ratios = indices.into_iter().zip(logs.into_iter().map(f64::exp));
        Some(Dots {
            one,
            number: cast.number(&one.subject)?,
            ratios: ratios
                .filter(|(_, ratio)| ratio.is_finite() && *ratio > 0.0)
                .collect(),
        })
    }
}

/// The numbers of the complete blocks that hold this load.
pub(crate) fn block_indices(record: &StudyRecord, load: &LoadRecord) -> Vec<u32> {
    let blocks = record.complete_blocks();
    let with_load = blocks.filter(|block| block.loads.iter().any(|part| part.load == load.name));
    with_load.map(|block| block.index).collect()
}

/// An axis of blocks.
pub(crate) fn block_axis(indices: &[u32]) -> Axis {
    let [first, last] =
        [indices.first(), indices.last()].map(|one| one.copied().map_or(0.0, f64::from));
    let scale = Scale::linear(first - 0.5, last + 0.5);
    let whole = |value: &f64| value.fract() == 0.0;
    let mut axis = Axis::new("block, in the order they ran", scale, 12, plain);
    axis.ticks.retain(|tick| whole(&tick.at));
    axis
}

fn of_load(record: &StudyRecord, load: &LoadRecord, cast: &Cast, dots: &[Dots]) -> Option<Figure> {
    let margin = record.settings.margin;
    let band = [1.0 / (1.0 + margin), 1.0 + margin];
    let values = dots
        .iter()
        .flat_map(|one| one.ratios.iter().map(|(_, ratio)| *ratio));
    if values.clone().next().is_none() {
        return None;
    }
    let scale = Scale::log_around(values.chain(band))?;
    let first = dots.first()?.one;
    let metric = capital(&metric_name(first.metric));
    let indices = block_indices(record, load);
    let baseline = name(&first.baseline);
    let label = format!("{metric} ÷ {baseline}'s, log scale");
    let place_text = place(record, &load.name);
    let title = format!("{metric} {place_text}");
    let words = Words {
        id: format!(
            "blocks-{}-{}",
            load_number(record, load),
            metric_name(first.metric).replace(' ', "-")
        ),
        title: format!("Ratio of {title} in each block"),
        description: format!(
            "{} of {} over {baseline}, with the ratio over all blocks as a line and differences of \
             up to {} hatched around 1.",
            capital(&plural(indices.len() as u64, "block")),
            dots.iter()
                .map(|one| name(&one.one.subject))
                .collect::<Vec<_>>()
                .join(", "),
            percent(margin)
        ),
    };
    let mut plot = Plot::new(
        words,
        [block_axis(&indices), Axis::new(&label, scale, 6, plain)],
        210.0,
    );
    plot.shade_y("margin", band);
    plot.rule_y("one", 1.0);
    let [left, right] = [indices.first()?, indices.last()?].map(|index| f64::from(*index));
    for one in dots {
        if let Some(ratio) = one.one.ratio {
            let ends = [left - 0.5, right + 0.5].map(|x| Place { x, y: ratio });
            plot.curve(one.number, Stroke::Thin, &ends);
        }
        for (block, ratio) in &one.ratios {
            let place = Place {
                x: f64::from(*block),
                y: *ratio,
            };
            let tip = format!(
                "{}, block {block}: {}",
                name(&one.one.subject),
                figure(*ratio)
            );
            plot.point(one.number, place, &tip);
        }
    }
    Some(Figure {
        title: Some(title.clone()),
        legend: cast.legend(dots.iter().map(|one| one.number)),
        body: plot.svg(),
        note: String::new(),
        table: Some(table(&title, &indices, dots)),
    })
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
        cells: Cells::Figures,
    }
}

/// The place of a load among those of its study.
pub(crate) fn load_number(record: &StudyRecord, load: &LoadRecord) -> usize {
    let found = record.loads.iter().position(|one| one.name == load.name);
    found.unwrap_or(record.loads.len())
}
