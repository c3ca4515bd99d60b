//! Throughput slice by slice, all subjects in one picture: drift, stalls and
//! disturbances show here before any statistics.

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

/// Where blocks stand along the axis.
struct Layout {
    /// The start of each block and its length, in ns.
    blocks: BTreeMap<u32, (f64, f64)>,
    end: f64,
}

impl Layout {
    fn of(slice_figures: &[SliceFigures]) -> Layout {
        let mut lengths: BTreeMap<u32, f64> = BTreeMap::new();
        for slice in slice_figures {
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
    let all_slice_figures = slice_figures(&record.measured, load);
    let rates = all_slice_figures
        .iter()
        .filter_map(|slice| slice.throughput_per_s);
    let most = rates.fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let layout = Layout::of(&all_slice_figures);
    let (shown, every) = thinned(&all_slice_figures, points_max(record));
    let under = place(record, &load.name);
    let caption = PlotCaption {
        id: format!("slices-{}", load_number(record, load)),
        title: format!("Throughput of each slice {under}"),
        description: format!(
            "{} of {} in {}, in the order in which they ran, by subject.",
            plural(all_slice_figures.len() as u64, "slice"),
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
    let y = PlotAxis::new(
        &label,
        scale(record, load, &all_slice_figures, most),
        6,
        rate,
    );
    let size = match shown.len() {
        ..=FEW => PointSize::Usual,
        _ => PointSize::Small,
    };
    let plot = Plot::new(caption, [x, y], 260.0).with_points(size);
    let mut plot = plot.in_unit(unit);
    for (start, length) in layout.blocks.values() {
        plot.shade_x("block", [*start, start + length]);
    }
    let disturbed = all_slice_figures.iter().filter(|slice| slice.is_disturbed);
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
        note: how_to_read(&all_slice_figures, &shown, every),
        table: Some(table(&under, &layout, &all_slice_figures, subjects, unit)),
    })
}

/// One subject: a point for each slice, and a line within each block.
fn draw(
    plot: &mut Plot,
    layout: &Layout,
    (number, subject): (usize, &str),
    (shown, every): (&[&SliceFigures], usize),
) {
    let slice_figures: Vec<&SliceFigures> = shown
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
            let of_block = slice_figures.iter().filter(|slice| slice.block == *block);
            let places: Vec<PlotPoint> = of_block.map(|slice| place(slice)).collect();
            plot.curve(number, Stroke::Thin, &places);
        }
    }
    for slice in slice_figures {
        plot.point(number, place(slice), &tip(slice));
    }
}

/// What stands between the subject and the unit.
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

/// How many points each load's picture may have.
fn points_max(record: &StudyRecord) -> usize {
    POINTS_MAX.min(PAGE_POINTS_MAX / record.measured.loads.len().max(1))
}

/// All slices, or where they are too many for a picture the slowest and the
/// fastest of each few rounds of one subject; and of how many rounds.
fn thinned<'a, 'b>(
    slice_figures: &'b [SliceFigures<'a>],
    most: usize,
) -> (Vec<&'b SliceFigures<'a>>, usize) {
    if slice_figures.len() <= most {
        return (slice_figures.iter().collect(), 1);
    }
    let every = (2 * slice_figures.len()).div_ceil(most);
    let mut ends: BTreeMap<(u32, usize, &str), [usize; 2]> = BTreeMap::new();
    let rate = |index: usize| slice_figures[index].throughput_per_s.unwrap_or_default();
    for (index, slice) in slice_figures.iter().enumerate() {
        let key = (slice.block, slice.round / every, slice.subject);
        let [slowest, fastest] = ends.entry(key).or_insert([index; 2]);
        if rate(index) < rate(*slowest) {
            *slowest = index;
        }
        if rate(index) > rate(*fastest) {
            *fastest = index;
        }
    }
    let mut kept: Vec<usize> = ends.into_values().flatten().collect();
    kept.sort_unstable();
    kept.dedup();
    (
        kept.into_iter()
            .map(|index| &slice_figures[index])
            .collect(),
        every,
    )
}

fn how_to_read(slice_figures: &[SliceFigures], shown: &[&SliceFigures], every: usize) -> String {
    let mut text = String::new();
    if every > 1 {
        text.push_str(&format!(
            "{} of {} slices are drawn: the slowest and the fastest of each subject in every \
             {every} rounds of a block, so that stalls and peaks stay visible. ",
            count(shown.len() as u64),
            count(slice_figures.len() as u64)
        ));
    }
    if let Some(longest) = slice_figures.iter().map(|slice| slice.wall_ns).max() {
        text.push_str(&format!("The longest slice took {}.", nanos(longest)));
    }
    if slice_figures.iter().any(|slice| slice.is_disturbed) {
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

fn scale(
    record: &StudyRecord,
    load: &LoadRecord,
    slice_figures: &[SliceFigures],
    most: f64,
) -> Scale {
    let log = scale_is_log(record, load).then(|| {
        Scale::log_around(
            slice_figures
                .iter()
                .filter_map(|slice| slice.throughput_per_s),
        )
    });
    log.flatten().unwrap_or_else(|| Scale::from_zero(most))
}

fn table(
    under: &str,
    layout: &Layout,
    slice_figures: &[SliceFigures],
    subjects: &Subjects,
    unit: &str,
) -> Table {
    let row = |block: &u32| {
        let mut cells = vec![block.to_string()];
        for (_, subject) in subjects.iter() {
            let mine = slice_figures
                .iter()
                .filter(|slice| slice.block == *block && slice.subject == subject);
            let rates = mine.filter_map(|slice| slice.throughput_per_s);
            let (least, most) = extremes(rates);
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
/// Points in a picture of slices at most, and in all of a page.
const POINTS_MAX: usize = 1_200;
const PAGE_POINTS_MAX: usize = 2_400;
const FEW: usize = 120;
const LOG_FROM: f64 = 8.0;
