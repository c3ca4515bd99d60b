//! What was concluded from a study: a file for each part of its page.

pub(crate) mod block_ratios;
pub(crate) mod capacities;
pub(crate) mod expectations;
pub(crate) mod faults;
pub(crate) mod findings;
pub(crate) mod links;
pub(crate) mod matrix;
pub(crate) mod ranking;
pub(crate) mod ratios;
pub(crate) mod signs;
pub(crate) mod sweeps;
pub(crate) mod verdicts;
