//! Runs studies. Start at [`study_runner`].

pub mod alone;
pub mod block;
pub mod context;
mod faults;
mod fit_blocks;
pub mod progress;
pub mod resume;
mod study_record;
pub mod study_runner;
mod time;
