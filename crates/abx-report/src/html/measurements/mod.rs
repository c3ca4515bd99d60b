//! What was measured, and how: a file for each part of a page.

pub(crate) mod cost;
pub(crate) mod course;
pub(crate) mod each_load;
pub(crate) mod histogram;
pub(crate) mod how_measured;
pub(crate) mod outcomes;
pub(crate) mod phases;
pub(crate) mod slices;
pub(crate) mod summaries;
pub(crate) mod times;
