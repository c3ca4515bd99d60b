//! What the kernel does for the reference server, against peers of the standard library, and what
//! it counts and samples of other processes.

mod calls;
mod file_ring;
mod perf;
