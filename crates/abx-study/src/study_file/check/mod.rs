//! Checks the content of a study file, and gives it its meaning.

pub(super) mod contrast;
pub(super) mod fault;
pub(super) mod name;
pub(super) mod replay;
pub(super) mod request;
pub(super) mod scenario;
pub mod scenario_file;
pub(super) mod service;
pub(super) mod shape;
mod study;
pub(super) mod subject;
pub(super) mod tls;

pub(super) use study::check;
