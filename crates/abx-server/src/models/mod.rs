//! How connections are spread over threads: a file for each model.

pub(crate) mod event;
pub(crate) mod null;
pub(crate) mod thread;
