//! Records on disk: saving them, and finding them again.

pub mod history;
pub mod store;
