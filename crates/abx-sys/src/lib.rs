//! What abx asks of the kernel: sockets, epoll, processors, process trees, counters.
//!
//! Everything here is a thin, typed door to Linux. No other crate of the
//! workspace holds `unsafe`, and nothing here knows of HTTP, loads or studies.
//! Start at [`Socket`] and [`Epoll`] for load, at [`ProcTree`] for accounting.

mod clock;
mod epoll;
mod socket;

pub use clock::{Nanos, thread_cpu};
pub use epoll::{Epoll, Event, Events, Interest};
pub use socket::{ListenOptions, Socket};
