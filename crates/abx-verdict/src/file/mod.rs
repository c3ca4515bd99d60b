//! The files in which studies and runs are saved. Readers ignore keys that they do not know.

mod digits;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod study;
