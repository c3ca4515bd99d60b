//! The user interface: the command line of this process, exit codes, signals, progress, and
//! metrics that are posted.

pub mod end;
pub mod invocation;
pub mod otlp;
pub mod signals;
pub mod watch;
