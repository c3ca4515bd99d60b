//! The command lines and reports of other load generators, for scripts that were written for
//! them. This crate parses the words of a command line into a description of the load, and prints
//! what was measured as the original would, to the character. The load is generated elsewhere.
//!
//! [`ab`] replaces ApacheBench: start at [`ab::AbCommand`]. [`httperf`] replaces httperf: start
//! at [`httperf::HttperfCommand`].

pub mod ab;
pub mod httperf;
mod short_options;
