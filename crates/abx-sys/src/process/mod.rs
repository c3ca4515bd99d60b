//! One process: its state in /proc, its CPU clock, signals that cannot hit a
//! stranger, and the few calls that a keeper of processes needs.

mod arguments;
mod calling;
mod children;
mod clock;
pub mod descriptors;
pub mod limits;
pub mod programs;
mod signal;
mod stat;
pub mod tree;

pub use arguments::hide_arguments;
pub use calling::{die_of_crashes, keep_memory_private, set_name};
pub use children::{Exit, Reaped, adopt_orphans, adopted, reap, spawn_kept, spawn_tied};
pub use clock::{OwnCpu, own_cpu, process_cpu};
pub use signal::Signal;
pub use stat::{Process, ProcessStat};
