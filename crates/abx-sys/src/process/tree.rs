//! A process and everything that it started: CPU time, memory, threads, listeners, descriptors.
//!
//! Nothing here changes a process. Start at [`ProcTree`].

mod births;
mod effort;
mod family;
mod listen_drops;
mod memory;
mod proc_tree;
mod sockets;
mod threads;

pub use effort::{Effort, EffortSince};
pub(crate) use family::below;
pub use family::{Relative, RelativeState, descendants};
pub use listen_drops::{ListenDrops, listen_drops};
pub use memory::ProportionalMemory;
pub use proc_tree::ProcTree;
pub use sockets::accept_queue;
pub use threads::{Switches, ThreadTimes};
