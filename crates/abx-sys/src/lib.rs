//! The interface to the kernel: sockets, epoll, io_uring, CPUs, process trees, counters,
//! samples of call chains.
//!
//! Everything here is a thin, typed layer over Linux. No other crate of the
//! workspace contains `unsafe`, and nothing here depends on HTTP, loads or studies.
//! Start at [`Socket`] and [`Epoll`] for load, at [`ProcTree`] for accounting.

pub mod bpf;
pub mod calendar;
pub mod clock;
mod counters_table;
mod file_ring;
mod host;
mod kernel_files;
mod net;
pub mod perf;
pub mod process;

pub use clock::{Nanos, thread_cpu};
pub use file_ring::{Delivery, FILE_PIECE_BYTES_MAX, FilePart, FileRing, RingError, Sent};
pub use host::alarm::Alarm;
pub use host::fresh_pages::FreshPages;
pub use host::{
    calibration, conditions, counters, cpus, machine, page_cache, pressure, strain, throttling,
};
pub use net::epoll::{Epoll, Events, Interest, SocketEvent};
pub use net::segments::{ReceivedSegments, SegmentSum};
pub use net::server_address::{ServerAddress, ServerAddressError, SocketPath};
pub use net::socket::{
    ListenOptions, Socket, is_file_table_full, is_out_of_descriptors, is_out_of_memory,
};
pub use net::socket_tuning::SocketTuning;
pub use net::{names, network, ports};
pub use process::tree::ProcTree;
pub use process::{descriptors, limits, programs, tree};
