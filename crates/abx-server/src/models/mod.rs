//! How connections are spread over threads: a file for each model, and what some of them share.

pub(crate) mod event;
pub(crate) mod hybrid;
mod idle_watch;
pub(crate) mod null;
pub(crate) mod prefork;
pub(crate) mod thread;
pub(crate) mod thread_per_request;
