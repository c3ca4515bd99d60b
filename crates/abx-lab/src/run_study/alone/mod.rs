//! Loads of one server, without comparison.

pub mod load_once;
pub mod run;
