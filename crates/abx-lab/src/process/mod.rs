//! One server: how abx keeps it, waits until it is ready, and verifies it.

pub mod container;
pub mod keeper;
pub mod kept_command;
pub mod leftovers;
pub mod listener;
pub mod log_tail;
pub mod marked_command;
pub mod pending;
pub mod probe;
pub mod server_error;
pub mod server_process;
pub mod service_process;
pub mod start_context;
pub mod stop_signals;
pub mod verify;
