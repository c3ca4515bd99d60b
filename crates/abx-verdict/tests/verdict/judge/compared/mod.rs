//! Comparisons and their claims.

mod cpu_fallback;
mod metrics;
mod pooled;
mod properties;
pub(crate) mod scope;
mod settled;
mod several;
mod studies;
mod sweeps;
mod verdicts;
