//! What one subject gave in each block, by itself: what is left to compare when
//! the other side was measured at another time.

use crate::record::{LoadRecord, Measured};
use crate::view::summary::Sums;

/// A subject's verified answers per second in each complete block of a load, in
/// the order of the blocks.
///
/// Method: as for a comparison, connections × ok ÷ the connections' time, both
/// summed over the block's slices (docs/statistics.md, section 2). A block in
/// which it was not loaded, or gave no verified answer, has 0.
#[must_use]
pub fn block_throughputs(record: &Measured, load: &LoadRecord, subject: &str) -> Vec<f64> {
    let blocks = record.block_loads(&load.name);
    blocks
        .map(|part| {
            let slices = part.rounds.iter().flat_map(|round| &round.slices);
            let own = slices.filter(|slice| slice.subject == subject);
            Sums::of(own).throughput(&load.settings).unwrap_or(0.0)
        })
        .collect()
}
