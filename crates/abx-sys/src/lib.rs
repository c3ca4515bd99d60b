//! What abx asks of the kernel: sockets, epoll, io_uring, processors, process trees, counters.
//!
//! Everything here is a thin, typed door to Linux. No other crate of the
//! workspace holds `unsafe`, and nothing here knows of HTTP, loads or studies.
//! Start at [`Socket`] and [`Epoll`], or [`Ring`], for load, at [`ProcTree`] for accounting.

mod alarm;
pub mod canary;
pub mod clock;
pub mod conditions;
pub mod counters;
pub mod cpus;
pub mod descriptors;
mod epoll;
mod file_ring;
mod kept_file;
pub mod limits;
pub mod machine;
pub mod network;
pub mod page_cache;
pub mod ports;
pub mod pressure;
pub mod process;
mod ring;
mod socket;
pub mod strain;
pub mod throttling;
pub mod tree;

pub use alarm::Alarm;
pub use clock::{Nanos, thread_cpu};
pub use epoll::{Epoll, Event, Events, Interest};
pub use file_ring::{Delivery, FILE_PIECE_BYTES_MAX, FilePart, FileRing, Sent};
pub use ring::{Happening, Received, Receiving, RequestId, Ring, RingError, RingOptions};
pub use socket::{ListenOptions, Socket, is_out_of_descriptors};
pub use tree::ProcTree;
