//! Whole reports, of sections in their order.

pub(crate) mod bisect;
pub(crate) mod catalog;
pub(crate) mod doctor;
pub(crate) mod history;
pub(crate) mod picture;
pub(crate) mod plan;
pub(crate) mod pooled;
pub(crate) mod progress;
pub(crate) mod run;
pub(crate) mod side_by_side;
pub(crate) mod study;
pub(crate) mod timer;
pub(crate) mod trend;
