//! How subjects are compared: [`plan`] decides which pairs by which metric, [`family`] compares
//! them.

mod cpu_fallback;
pub(crate) mod family;
pub(crate) mod plan;
mod unknown_times;
