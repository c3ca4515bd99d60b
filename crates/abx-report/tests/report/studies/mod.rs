//! Reports of studies.

pub mod agreement;
pub mod alone;
pub mod limits;
pub mod overview;
pub mod past_baseline;
pub mod prose;
pub mod services;
pub mod several;
pub mod study;
pub mod width;
