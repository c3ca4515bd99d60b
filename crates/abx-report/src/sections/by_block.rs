//! Plots along the blocks of a study.

use abx_evidence::record::LoadRecord;
use abx_verdict::StudyRecord;

use crate::document::Table;
use crate::html::charts::{Plot, PlotAxis, PlotPoint, Scale, Stroke, plain};
use crate::words::units::or_unknown;

pub(crate) struct BlockValues {
    pub(crate) number: usize,
    pub(crate) subject: String,
    pub(crate) values: Vec<(u32, f64)>,
}

impl BlockValues {
    pub(crate) fn draw_points(&self, plot: &mut Plot, show: impl Fn(f64) -> String) {
        for ((block, value), place) in self.values.iter().zip(self.places()) {
            let tip = format!("block {block}: {}", show(*value));
            plot.point(self.number, place, &tip);
        }
    }

    pub(crate) fn draw_line(&self, plot: &mut Plot) {
        let places: Vec<PlotPoint> = self.places().collect();
        plot.curve(self.number, Stroke::Thin, &places);
    }

    fn places(&self) -> impl Iterator<Item = PlotPoint> {
        self.values.iter().map(|(block, value)| PlotPoint {
            x: f64::from(*block),
            y: *value,
        })
    }
}

pub(crate) fn block_table(
    caption: String,
    headers: impl Iterator<Item = String>,
    indices: &[u32],
    columns: &[&BlockValues],
    show: impl Fn(f64) -> String,
) -> Table {
    let row = |index: &u32| {
        let cell = |column: &&BlockValues| {
            let value = column.values.iter().find(|(block, _)| block == index);
            or_unknown(value, |(_, value)| show(*value))
        };
        let cells = columns.iter().map(cell);
        std::iter::once(index.to_string())
            .chain(cells)
            .collect::<Vec<_>>()
    };
    let headers = std::iter::once("block".to_owned()).chain(headers);
    Table::new(headers, indices.iter().map(row)).captioned(caption)
}

pub(crate) fn block_indices(record: &StudyRecord, load: &LoadRecord) -> Vec<u32> {
    let blocks = record.measured.complete_blocks();
    let with_load = blocks.filter(|block| block.loads.iter().any(|part| part.load == load.name));
    with_load.map(|block| block.index).collect()
}

pub(crate) fn block_axis(indices: &[u32]) -> PlotAxis {
    let [first, last] =
        [indices.first(), indices.last()].map(|index| index.copied().map_or(0.0, f64::from));
    let scale = Scale::linear(first - 0.5, last + 0.5);
    let mut axis = PlotAxis::new("block, in the order measured", scale, 12, plain);
    axis.ticks.retain(|tick| tick.at.fract() == 0.0);
    axis
}

pub(crate) fn load_number(record: &StudyRecord, load: &LoadRecord) -> usize {
    let loads = &record.measured.loads;
    let position = loads.iter().position(|other| other.name == load.name);
    position.unwrap_or(loads.len())
}
