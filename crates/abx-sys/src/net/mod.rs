//! Sockets, the wait for them, and the kernel's counters of the network.

pub mod epoll;
pub mod names;
pub mod network;
pub mod ports;
pub mod segments;
pub mod server_address;
pub mod socket;
pub(crate) mod socket_diagnostics;
pub mod socket_tuning;
