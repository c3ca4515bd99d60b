//! Records on disk: saving them, and finding them again.

pub mod file;
pub mod history;
pub mod store;
