//! Commands that take the arguments of ab and httperf.

pub mod ab;
pub mod httperf;
pub mod httperf_options;
pub mod httperf_sessions;
