//! Plots along the blocks of a study.

use abx_evidence::StudyRecord;
use abx_evidence::record::LoadRecord;

use super::plot::PlotAxis;
use super::scale::{Scale, plain};

/// The numbers of the complete blocks that hold this load.
pub(crate) fn block_indices(record: &StudyRecord, load: &LoadRecord) -> Vec<u32> {
    let blocks = record.measured.complete_blocks();
    let with_load = blocks.filter(|block| block.loads.iter().any(|part| part.load == load.name));
    with_load.map(|block| block.index).collect()
}

/// An axis of blocks.
pub(crate) fn block_axis(indices: &[u32]) -> PlotAxis {
    let [first, last] =
        [indices.first(), indices.last()].map(|one| one.copied().map_or(0.0, f64::from));
    let scale = Scale::linear(first - 0.5, last + 0.5);
    let whole = |value: &f64| value.fract() == 0.0;
    let mut axis = PlotAxis::new("block, in the order measured", scale, 12, plain);
    axis.ticks.retain(|tick| whole(&tick.at));
    axis
}

/// The place of a load among those of its study.
pub(crate) fn load_number(record: &StudyRecord, load: &LoadRecord) -> usize {
    let found = record
        .measured
        .loads
        .iter()
        .position(|one| one.name == load.name);
    found.unwrap_or(record.measured.loads.len())
}
