//! Throughput slice by slice, all subjects in one plot: drift, stalls and disturbances show here
//! before any statistics.

use std::collections::BTreeMap;

use abx_evidence::record::LoadRecord;
use abx_verdict::{SliceFigures, StudyRecord, slice_figures};

use crate::document::{CaptionedFigure, Document, Table};
use crate::html::charts::{
    Plot, PlotAxis, PlotCaption, PlotPoint, PointSize, Scale, Stroke, Subjects, Tick, rate,
};
use crate::sections::by_block::load_number;
use crate::sections::each_load::each_load;
use crate::words::metrics::rate_name;
use crate::words::units::{UNKNOWN, count, figure, nanos, plural};
use crate::words::verdict::{name, place};

pub(crate) fn slices(record: &StudyRecord, subjects: &Subjects) -> Document {
    let out = each_load(record, |load| {
        let mut out = Document::default();
        out.figures(of_load(record, load, subjects).into_iter().collect());
        out
    });
    let text = "Each point is one slice, in which one server was loaded and the others were idle; \
                blocks are separated by gaps. A sloping line is drift, a point near zero is a \
                stall.";
    out.explained(text)
}

/// The places of blocks along the axis.
struct Layout {
    /// The start of each block and its length, in ns.
    blocks: BTreeMap<u32, (f64, f64)>,
    end: f64,
}

impl Layout {
    fn of(slices: &[SliceFigures]) -> Layout {
        let mut lengths: BTreeMap<u32, f64> = BTreeMap::new();
        for slice in slices {
            let end = (slice.before_ns + slice.wall_ns) as f64;
            let length = lengths.entry(slice.block).or_default();
            *length = length.max(end);
        }
        let longest = lengths.values().copied().fold(0.0, f64::max);
        let gap = longest * GAP;
        let mut end = 0.0;
        let mut blocks = BTreeMap::new();
        for (block, length) in lengths {
            blocks.insert(block, (end, length));
            end += length + gap;
        }
        Layout {
            blocks,
            end: (end - gap).max(1.0),
        }
    }

    fn middle(&self, slice: &SliceFigures) -> f64 {
        let start = self
            .blocks
            .get(&slice.block)
            .map_or(0.0, |(start, _)| *start);
        start + slice.before_ns as f64 + slice.wall_ns as f64 / 2.0
    }

    /// Names blocks at their middle, as many as there is room for.
    fn ticks(&self) -> Vec<Tick> {
        let every = self.blocks.len().div_ceil(BLOCKS_NAMED).max(1);
        let named = self.blocks.iter().step_by(every).enumerate();
        let narrow = self.blocks.len().div_ceil(every) > BLOCKS_NAMED / 2;
        let tick = |(index, (block, (start, length))): (usize, (&u32, &(f64, f64)))| Tick {
            at: start + length / 2.0,
            text: block.to_string(),
            is_minor: narrow && index % 2 == 1,
        };
        named.map(tick).collect()
    }
}

fn of_load(
    record: &StudyRecord,
    load: &LoadRecord,
    subjects: &Subjects,
) -> Option<CaptionedFigure> {
    let slices = slice_figures(&record.measured, load);
    let rates = slices.iter().filter_map(|slice| slice.throughput_per_s);
    let most = rates.fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let layout = Layout::of(&slices);
    let (shown, every) = thinned(&slices, points_max(record));
    let under = place(record, &load.name);
    let caption = PlotCaption {
        id: format!("slices-{}", load_number(record, load)),
        title: format!("Throughput of each slice {under}"),
        description: format!(
            "{} of {} in {}, in the order in which they ran, by subject.",
            plural(slices.len() as u64, "slice"),
            plural(subjects.len() as u64, "subject"),
            plural(layout.blocks.len() as u64, "block")
        ),
    };
    let x = PlotAxis {
        label: "block, its slices in the order they ran".to_owned(),
        scale: Scale::linear(0.0, layout.end),
        ticks: layout.ticks(),
    };
    let unit = rate_name(load.settings.exchange.shape);
    let label = if scale_is_log(record, load) {
        format!("{unit}, log scale")
    } else {
        unit.to_owned()
    };
    let y = PlotAxis::new(&label, scale(record, load, &slices, most), 6, rate);
    let size = match shown.len() {
        ..=FEW => PointSize::Usual,
        _ => PointSize::Small,
    };
    let plot = Plot::new(caption, [x, y], 260.0).with_points(size);
    let mut plot = plot.in_unit(unit);
    for (start, length) in layout.blocks.values() {
        plot.shade_x("block", [*start, start + length]);
    }
    let disturbed = slices.iter().filter(|slice| slice.is_disturbed);
    let rounds: BTreeMap<_, f64> = disturbed
        .map(|slice| ((slice.block, slice.round), layout.middle(slice)))
        .collect();
    rounds
        .into_values()
        .for_each(|middle| plot.sign_at("disturbed", middle));
    for (number, subject) in subjects.iter() {
        draw(&mut plot, &layout, (number, subject), (&shown, every));
    }
    Some(CaptionedFigure {
        title: Some(format!("Throughput {under}")),
        legend: subjects.whole_legend(),
        body: plot.svg(),
        note: how_to_read(&slices, &shown, every),
        table: Some(table(&under, &layout, &slices, subjects, unit)),
    })
}

/// Draws a point for each slice of one subject, and a line within each block.
fn draw(
    plot: &mut Plot,
    layout: &Layout,
    (number, subject): (usize, &str),
    (shown, every): (&[&SliceFigures], usize),
) {
    let slices: Vec<&SliceFigures> = shown
        .iter()
        .copied()
        .filter(|slice| slice.subject == subject)
        .collect();
    let place = |slice: &SliceFigures| PlotPoint {
        x: layout.middle(slice),
        y: slice.throughput_per_s.unwrap_or_default(),
    };
    if every == 1 {
        for block in layout.blocks.keys() {
            let of_block = slices.iter().filter(|slice| slice.block == *block);
            let places: Vec<PlotPoint> = of_block.map(|slice| place(slice)).collect();
            plot.curve(number, Stroke::Thin, &places);
        }
    }
    for slice in slices {
        plot.point(number, place(slice), &tip(slice));
    }
}

/// The text of a point's tooltip between the subject and the unit.
fn tip(slice: &SliceFigures) -> String {
    let failed = match slice.failed {
        0 => String::new(),
        times => format!(", {} failed", count(times)),
    };
    let disturbed = if slice.is_disturbed {
        ", disturbed"
    } else {
        ""
    };
    let rate = slice
        .throughput_per_s
        .map_or_else(|| UNKNOWN.to_owned(), figure);
    format!(
        "block {}, round {}{failed}{disturbed}: {rate}",
        slice.block, slice.round
    )
}

/// Points in the plot of each load, at most.
fn points_max(record: &StudyRecord) -> usize {
    POINTS_MAX.min(PAGE_POINTS_MAX / record.measured.loads.len().max(1))
}

/// All slices, and 1. Of more than `most` slices, the slowest and the fastest of each subject in
/// every few rounds, and this number of rounds.
fn thinned<'a, 'b>(
    slices: &'b [SliceFigures<'a>],
    most: usize,
) -> (Vec<&'b SliceFigures<'a>>, usize) {
    if slices.len() <= most {
        return (slices.iter().collect(), 1);
    }
    let every = (2 * slices.len()).div_ceil(most);
    let mut ends: BTreeMap<(u32, usize, &str), [usize; 2]> = BTreeMap::new();
    let rate = |index: usize| slices[index].throughput_per_s.unwrap_or_default();
    for (index, slice) in slices.iter().enumerate() {
        let key = (slice.block, slice.round / every, slice.subject);
        let [slowest, fastest] = ends.entry(key).or_insert([index; 2]);
        if rate(index) < rate(*slowest) {
            *slowest = index;
        }
        if rate(index) > rate(*fastest) {
            *fastest = index;
        }
    }
    let mut indices: Vec<usize> = ends.into_values().flatten().collect();
    indices.sort_unstable();
    indices.dedup();
    let thinned = indices.into_iter().map(|index| &slices[index]).collect();
    (thinned, every)
}

fn how_to_read(slices: &[SliceFigures], shown: &[&SliceFigures], every: usize) -> String {
    let mut text = String::new();
    if every > 1 {
        text.push_str(&format!(
            "{} of {} slices are drawn: the slowest and the fastest of each subject in every \
             {every} rounds of a block, so that stalls and peaks stay visible. ",
            count(shown.len() as u64),
            count(slices.len() as u64)
        ));
    }
    if let Some(longest) = slices.iter().map(|slice| slice.wall_ns).max() {
        text.push_str(&format!("The longest slice took {}.", nanos(longest)));
    }
    if slices.iter().any(|slice| slice.is_disturbed) {
        text.push_str(" Ticks at the bottom: rounds that were disturbed from outside.");
    }
    text
}

/// Subjects that are far apart need a log scale, or the slower one is a flat line.
fn scale_is_log(record: &StudyRecord, load: &LoadRecord) -> bool {
    let summaries = record.conclusions.under(&load.name);
    let rates = summaries.filter_map(|summary| summary.throughput_per_s);
    let (least, most) = extremes(rates.filter(|rate| *rate > 0.0));
    most > LOG_FROM * least
}

fn extremes(rates: impl Iterator<Item = f64>) -> (f64, f64) {
    rates.fold((f64::INFINITY, 0.0), |(least, most), rate| {
        (rate.min(least), rate.max(most))
    })
}

fn scale(record: &StudyRecord, load: &LoadRecord, slices: &[SliceFigures], most: f64) -> Scale {
    let rates = slices.iter().filter_map(|slice| slice.throughput_per_s);
    if scale_is_log(record, load)
        && let Some(scale) = Scale::log_around(rates)
    {
        return scale;
    }
    Scale::from_zero(most)
}

fn table(
    under: &str,
    layout: &Layout,
    slices: &[SliceFigures],
    subjects: &Subjects,
    unit: &str,
) -> Table {
    let mut rates: BTreeMap<(u32, &str), Vec<f64>> = BTreeMap::new();
    for slice in slices {
        let of_both = rates.entry((slice.block, slice.subject)).or_default();
        of_both.extend(slice.throughput_per_s);
    }
    let row = |block: &u32| {
        let mut cells = vec![block.to_string()];
        for (_, subject) in subjects.iter() {
            let measured = rates.get(&(*block, subject)).into_iter().flatten();
            let (least, most) = extremes(measured.copied());
            cells.push(if least.is_finite() {
                format!("{} to {}", figure(least), figure(most))
            } else {
                "-".to_owned()
            });
        }
        cells
    };
    let mut headers = vec!["block".to_owned()];
    headers.extend(
        subjects
            .iter()
            .map(|(_, subject)| format!("{}, {unit}", name(subject))),
    );
    Table::new(headers, layout.blocks.keys().map(row))
        .captioned(format!("Slowest and fastest slice of each block {under}"))
}

const GAP: f64 = 0.08;
const BLOCKS_NAMED: usize = 16;
/// Points in one plot of slices, and in all plots of a page, at most.
const POINTS_MAX: usize = 1_200;
const PAGE_POINTS_MAX: usize = 2_400;
const FEW: usize = 120;
const LOG_FROM: f64 = 8.0;
