//! What abx shows and heeds: exit codes, signals, progress, and metrics that it posts.

pub mod end;
pub mod otlp;
pub mod signals;
pub mod watch;
