//! What the kernel does for the reference server, against peers of the standard library.

mod file_ring;
mod perf;
