//! What answers cost the subjects, block by block: processor time, how busy they
//! were, and memory.

use abx_evidence::record::LoadRecord;
use abx_evidence::{BlockFigures, StudyRecord, SubjectView};

use crate::html::charts::by_block::{block_axis, block_indices, load_number};
use crate::html::charts::plot::{Plot, PlotAxis, PlotCaption, PlotPoint, Stroke};
use crate::html::charts::scale::{Scale, plain};
use crate::html::charts::subjects::Subjects;
use crate::html::markup::Markup;
use crate::html::markup::figure::{CaptionedFigure, side_by_side};
use crate::html::markup::grid::{CellKind, Grid};
use crate::html::markup::prose::with_unit;
use crate::html::measurements::each_load::each_load;
use crate::words::units::{bytes, figure, or_unknown, whole_percent};
use crate::words::verdict::{name, place};

/// The plots of each load, and memory once: it is read for whole blocks.
pub(crate) fn cost(record: &StudyRecord, subjects: &Subjects) -> Markup {
    let mut out = each_load(record, |load| {
        let figures = [CostFigure::Cpu, CostFigure::Busy]
            .into_iter()
            .filter_map(|reading| figure_of(record, load, subjects, reading));
        side_by_side(figures.collect())
    });
    if let Some(load) = record.measured.loads.first() {
        let memory = figure_of(record, load, subjects, CostFigure::Memory);
        out.push(side_by_side(memory.into_iter().collect()));
    }
    out
}

/// One figure of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CostFigure {
    Cpu,
    Busy,
    Memory,
}

impl CostFigure {
    fn of(self, block: &BlockFigures) -> Option<f64> {
        match self {
            CostFigure::Cpu => block.server_cpu_us_per_request,
            CostFigure::Busy => block.server_busy,
            CostFigure::Memory => block.rss_bytes_max.map(|bytes| bytes as f64),
        }
    }

    fn id(self) -> &'static str {
        match self {
            CostFigure::Cpu => "cpu",
            CostFigure::Busy => "busy",
            CostFigure::Memory => "memory",
        }
    }

    fn title(self, under: &str) -> String {
        match self {
            CostFigure::Cpu => format!("CPU time per response {under}"),
            CostFigure::Busy => format!("How busy the servers were {under}"),
            CostFigure::Memory => "Memory in each block".to_owned(),
        }
    }

    fn label(self) -> &'static str {
        match self {
            CostFigure::Cpu => "µs of CPU per answer",
            CostFigure::Busy => "share of its CPUs",
            CostFigure::Memory => "peak resident memory",
        }
    }

    fn show(self, value: f64) -> String {
        match self {
            CostFigure::Cpu => with_unit(&figure(value), "µs"),
            CostFigure::Busy => whole_percent(value),
            CostFigure::Memory => bytes(value),
        }
    }

    fn tick(self, value: f64) -> String {
        match self {
            CostFigure::Cpu => plain(value),
            CostFigure::Busy => with_unit(&plain(100.0 * value), "%"),
            CostFigure::Memory if value == 0.0 => "0".to_owned(),
            CostFigure::Memory => bytes(value),
        }
    }
}

/// What one reading was for one subject, in each block that has it.
struct SubjectBlocks<'a> {
    number: usize,
    subject: &'a str,
    values: Vec<(u32, f64)>,
}

impl<'a> SubjectBlocks<'a> {
    fn all(
        record: &StudyRecord,
        load: &LoadRecord,
        subjects: &Subjects<'a>,
        reading: CostFigure,
    ) -> Vec<SubjectBlocks<'a>> {
        let known = |(number, subject)| {
            let view = SubjectView::of(&record.measured, load, subject);
            let blocks = view.block_figures().into_iter();
            let values = blocks.filter_map(|block| Some((block.block, reading.of(&block)?)));
            SubjectBlocks {
                number,
                subject,
                values: values.collect(),
            }
        };
        subjects.iter().map(known).collect()
    }

    fn draw(&self, plot: &mut Plot, reading: CostFigure) {
        let place = |(block, value): &(u32, f64)| PlotPoint {
            x: f64::from(*block),
            y: *value,
        };
        let places: Vec<PlotPoint> = self.values.iter().map(place).collect();
        plot.curve(self.number, Stroke::Thin, &places);
        for ((block, value), place) in self.values.iter().zip(places) {
            let [subject, value] = [name(self.subject), reading.show(*value)];
            plot.point(
                self.number,
                place,
                &format!("{subject}, block {block}: {value}"),
            );
        }
    }
}

fn figure_of(
    record: &StudyRecord,
    load: &LoadRecord,
    subjects: &Subjects,
    reading: CostFigure,
) -> Option<CaptionedFigure> {
    let known = SubjectBlocks::all(record, load, subjects, reading);
    let values = known.iter().flat_map(|one| &one.values);
    values.clone().next()?;
    let most = values.map(|(_, value)| *value).fold(0.0, f64::max);
    let scale = match reading {
        // All of it is the end that everybody knows.
        CostFigure::Busy if most <= 1.0 => Scale::linear(0.0, 1.0),
        _ => Scale::from_zero(most),
    };
    let y = PlotAxis::new(reading.label(), scale, 5, |value| reading.tick(value));
    let indices = block_indices(record, load);
    let title = reading.title(&place(record, &load.name));
    let caption = PlotCaption {
        id: format!("{}-{}", reading.id(), load_number(record, load)),
        title: title.clone(),
        description: "One point for each subject in each block.".to_owned(),
    };
    let mut plot = Plot::new(caption, [block_axis(&indices), y], 180.0);
    known.iter().for_each(|one| one.draw(&mut plot, reading));
    Some(CaptionedFigure {
        title: Some(title.clone()),
        legend: subjects.whole_legend(),
        body: plot.svg(),
        note: String::new(),
        table: Some(table(title, reading, &indices, &known)),
    })
}

fn table(caption: String, reading: CostFigure, indices: &[u32], known: &[SubjectBlocks]) -> Grid {
    let row = |index: &u32| {
        let mut cells = vec![index.to_string()];
        cells.extend(known.iter().map(|one| {
            let found = one.values.iter().find(|(block, _)| block == index);
            or_unknown(found, |(_, value)| reading.show(*value))
        }));
        cells
    };
    let mut headers = vec!["block".to_owned()];
    headers.extend(known.iter().map(|one| name(one.subject)));
    Grid {
        caption,
        headers,
        rows: indices.iter().map(row).collect(),
        names: 1,
        cells: CellKind::Figures,
    }
}
