//! One server: how it is kept, found ready and verified.

pub mod family_roles;
pub mod generated_files;
pub mod keeper;
pub mod listener;
pub mod log_tail;
pub mod pending;
pub mod probe;
pub mod subject_process;
pub mod verify;
