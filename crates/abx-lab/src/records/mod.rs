//! Saves records to disk and finds them again.

pub mod file;
pub mod history;
pub mod store;
