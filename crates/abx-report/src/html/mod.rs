//! Pages that stand on their own: no request, no clock, the same bytes for the same record.
//!
//! `markup` has tags, tables and figures, `charts` plots, bars and their axes, `page` what
//! every page has.

pub(crate) mod charts;
pub(crate) mod markup;
pub(crate) mod page;
pub(crate) mod record_place;
pub(crate) mod sign;
