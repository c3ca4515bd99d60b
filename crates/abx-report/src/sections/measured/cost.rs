//! The cost of responses, block by block: the subjects' CPU time, how busy they were, and memory.

use abx_evidence::record::LoadRecord;
use abx_verdict::{BlockFigures, StudyRecord, SubjectView};

use crate::document::{CaptionedFigure, Document};
use crate::html::charts::{Plot, PlotAxis, PlotCaption, Scale, Subjects, plain};
use crate::html::markup::with_unit;
use crate::sections::by_block::{BlockValues, block_axis, block_indices, block_table, load_number};
use crate::sections::each_load::each_load;
use crate::words::units::{bytes, figure, whole_percent};
use crate::words::verdict::{name, place};

/// The plots of each load, and one of memory, which is read for whole blocks.
pub(crate) fn cost(record: &StudyRecord, subjects: &Subjects) -> Document {
    let figures = |load: &LoadRecord, costs: &[CostFigure]| {
        let costs = costs.iter();
        let figures = costs.filter_map(|cost| figure_of(record, load, subjects, *cost));
        let mut out = Document::default();
        out.figures(figures.collect());
        out
    };
    let mut out = each_load(record, |load| {
        figures(load, &[CostFigure::Cpu, CostFigure::Busy])
    });
    // A load that is settled early is not in all blocks.
    let blocks = |load: &&LoadRecord| record.measured.block_loads(&load.name).count();
    if let Some(load) = record.measured.loads.iter().rev().max_by_key(blocks) {
        out.append(figures(load, &[CostFigure::Memory]));
    }
    out
}

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
            CostFigure::Cpu => "µs of CPU per response",
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

/// The values of each subject, for the blocks that have one.
fn block_values(
    record: &StudyRecord,
    load: &LoadRecord,
    subjects: &Subjects,
    cost: CostFigure,
) -> Vec<BlockValues> {
    let of_subject = |(number, subject)| {
        let view = SubjectView::of(&record.measured, load, subject);
        let blocks = view.block_figures().into_iter();
        let values = blocks.filter_map(|block| Some((block.block, cost.of(&block)?)));
        BlockValues {
            number,
            subject: name(subject),
            values: values.collect(),
        }
    };
    subjects.iter().map(of_subject).collect()
}

fn figure_of(
    record: &StudyRecord,
    load: &LoadRecord,
    subjects: &Subjects,
    cost: CostFigure,
) -> Option<CaptionedFigure> {
    let lines = block_values(record, load, subjects, cost);
    let values = lines.iter().flat_map(|line| &line.values);
    values.clone().next()?;
    let most = values.map(|(_, value)| *value).fold(0.0, f64::max);
    let scale = match cost {
        // 100 % is the natural end of a share.
        CostFigure::Busy if most <= 1.0 => Scale::linear(0.0, 1.0),
        _ => Scale::from_zero(most),
    };
    let y = PlotAxis::new(cost.label(), scale, 5, |value| cost.tick(value));
    let indices = block_indices(record, load);
    let title = cost.title(&place(record, &load.name));
    let caption = PlotCaption {
        id: format!("{}-{}", cost.id(), load_number(record, load)),
        title: title.clone(),
        description: "One point for each subject in each block.".to_owned(),
    };
    let mut plot = Plot::new(caption, [block_axis(&indices), y], 180.0);
    let show = |value| cost.show(value);
    for line in &lines {
        line.draw_line(&mut plot);
        line.draw_points(&mut plot, show);
    }
    let headers = lines.iter().map(|line| line.subject.clone());
    let columns: Vec<&BlockValues> = lines.iter().collect();
    let table = block_table(title.clone(), headers, &indices, &columns, show);
    Some(CaptionedFigure {
        title: Some(title),
        legend: subjects.whole_legend(),
        body: plot.svg(),
        note: String::new(),
        table: Some(table),
    })
}
