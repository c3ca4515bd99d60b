//! Why one subject needs more CPU time than another, by samples of the code that both run.
//!
//! Method: a line's share of a block's samples × the CPU time per complete response that the
//! counted slices of the same block measured. So the lines of a block add up to the measured
//! CPU time. Intervals are over blocks, and the intervals of all parts of a pair hold together
//! (Bonferroni). Starts of one subject that differ are not paired, so their intervals are
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
