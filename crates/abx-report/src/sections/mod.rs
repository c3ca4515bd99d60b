//! One file for each theme of a report, for text, HTML and Markdown. `measured` shows the
//! measurements and how abx took them. `compared` shows the conclusions, and uses `measured`.

pub(crate) mod by_block;
pub(crate) mod compared;
pub(crate) mod cost_tables;
pub(crate) mod each_load;
pub(crate) mod flame_graphs;
pub(crate) mod measured;
pub(crate) mod remarks;
pub(crate) mod steps;
pub(crate) mod why;
