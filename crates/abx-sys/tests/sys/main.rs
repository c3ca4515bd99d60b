//! Files sent with io_uring to peers of the standard library, and the system calls, CPU samples and
//! switches of other processes.

mod calls;
mod file_ring;
mod perf;
