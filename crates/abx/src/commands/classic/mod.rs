//! Commands with the options and reports of other load generators.

pub mod ab;
pub mod httperf;
mod suites;
