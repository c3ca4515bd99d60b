//! System calls as the kernel counts them, by a BPF program on their common entry.
//!
//! [`CallCounter`] counts each system call of the machine, except abx's own, by process and
//! name. Nothing is sampled, and no record can be lost unless [`CallCounts::missed`] reports it.

mod assembler;
mod call_counter;
mod call_names;
mod kernel;

pub use call_counter::{CallCounter, CallCounting, CallCounts, CallLimit};
