//! What was measured, and how.

pub(crate) mod cost;
pub(crate) mod course;
pub(crate) mod figures;
pub(crate) mod held;
pub(crate) mod histogram;
pub(crate) mod how_measured;
pub(crate) mod outcomes;
pub(crate) mod phases;
pub(crate) mod run_times;
pub(crate) mod scope;
pub(crate) mod server_times;
pub(crate) mod services;
pub(crate) mod slices;
pub(crate) mod times;
