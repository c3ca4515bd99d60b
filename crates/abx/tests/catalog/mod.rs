//! The studies that abx brings along.

pub mod built_in;
pub mod cassandra;
