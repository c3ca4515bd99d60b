//! One file for each theme of a report, with what text, HTML and Markdown show of it: `measured`
//! what was measured and how, `compared` what was concluded, which uses the former.

pub(crate) mod by_block;
pub(crate) mod compared;
pub(crate) mod cost_tables;
pub(crate) mod each_load;
pub(crate) mod flame_graphs;
pub(crate) mod measured;
pub(crate) mod remarks;
pub(crate) mod steps;
pub(crate) mod why;
