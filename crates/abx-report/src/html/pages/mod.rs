//! Whole pages. `page` is what all of them have; each other file is one of them.

pub(crate) mod index;
pub(crate) mod page;
pub(crate) mod run;
pub(crate) mod scenario;
pub(crate) mod side_by_side;
pub(crate) mod study;
pub(crate) mod svg;
