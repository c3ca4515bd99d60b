//! Self-contained pages: no request, no clock, the same bytes for the same record.
//!
//! `markup` has elements and text, `charts` plots, bars and their axes, `page` the frame of every
//! page.

pub(crate) mod charts;
pub(crate) mod markup;
pub(crate) mod page;
pub(crate) mod record_place;
pub(crate) mod sign;
