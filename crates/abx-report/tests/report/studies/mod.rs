//! Reports of studies.

pub mod agreement;
pub mod alone;
pub mod limits;
pub mod lines;
pub mod overview;
pub mod prose;
pub mod services;
pub mod several;
pub mod study;
pub mod why;
pub mod width;
