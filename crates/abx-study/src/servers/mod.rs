//! The servers under load, and how they are started.

pub mod container;
pub mod fault;
pub mod host;
pub mod launch;
pub mod placeholder;
pub mod program;
pub mod service;
pub mod shell_word;
pub mod subject;
pub(crate) mod subject_error;
pub(crate) mod target;
