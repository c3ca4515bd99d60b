//! How connections are spread over threads: a file per model, and code that some models share.

pub(crate) mod event;
pub(crate) mod hybrid;
mod idle_watch;
pub(crate) mod null;
pub(crate) mod prefork;
pub(crate) mod thread;
pub(crate) mod thread_per_request;
