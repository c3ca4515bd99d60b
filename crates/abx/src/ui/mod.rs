//! The surface of abx: its own command line, exit codes, signals, progress, and metrics that it
//! posts.

pub mod end;
pub mod invocation;
pub mod otlp;
pub mod signals;
pub mod watch;
