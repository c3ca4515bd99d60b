//! One server: how it is kept, found ready and verified.

pub(crate) mod body_text;
pub mod container;
pub mod family_roles;
pub mod generated_files;
pub mod invocation;
pub mod keeper;
pub mod kept_command;
pub mod leftovers;
pub mod listener;
pub mod log_tail;
pub mod marked_command;
pub mod marker_lines;
pub mod pending;
pub mod probe;
pub mod server_error;
pub mod server_process;
pub mod service_process;
pub mod start_context;
pub mod verify;
pub mod wrong_status;
