//! What was concluded from a study.

pub(crate) mod alone;
pub(crate) mod block_ratios;
pub(crate) mod decided;
pub(crate) mod expectations;
pub(crate) mod faults;
pub(crate) mod findings;
pub(crate) mod grid;
pub(crate) mod overview;
pub(crate) mod questions;
pub(crate) mod ranking;
pub(crate) mod ratios;
pub(crate) mod summaries;
pub(crate) mod sweeps;
pub(crate) mod verdicts;
