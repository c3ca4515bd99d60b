//! Commands with the words of other load generators.

pub mod ab;
pub mod httperf;
mod suites;
