//! Other reports, and formats for other programs.

pub mod bisect;
pub mod catalog;
pub mod doctor;
pub mod formats;
pub mod hostile;
pub mod plan;
pub mod trend;
