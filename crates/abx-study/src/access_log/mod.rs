//! An access log as a load: the requests in a server's log, at their original times.
//!
//! `line` reads a line, [`AccessLog`] gathers lines, and a load is made of a [`ReplayedLog`]. A log
//! has whole seconds: the n requests of a second are spread evenly over it in the order of the log,
//! the first at its beginning.

#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod line;
mod log;
mod read;

pub use line::LogLineError;
pub use log::{AccessLog, AccessLogError, LeftOutLines, ReplayedLog, ReplayedMethods};
