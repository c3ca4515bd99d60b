//! The built-in studies.

pub mod built_in;
pub mod cassandra;
