//! Why one subject needs more CPU time than another, by samples of what both run.
//!
//! Method: a line's share of a block's samples × the CPU time per whole response that the
//! counted slices of the same block measured. So the lines of a block add up to what was
//! counted. Intervals are over blocks, and those of all parts of a pair hold together
//! (Bonferroni). The starts of one subject that differ are no pairs: their intervals are
//! Welch's.

mod block_counts;
pub(crate) mod confounder;
pub(crate) mod counts;
pub(crate) mod cpu_difference;
pub(crate) mod cpu_ledger;
pub(crate) mod flame_graph;
pub(crate) mod purpose;
mod sampled_block;
pub(crate) mod sampled_sides;
