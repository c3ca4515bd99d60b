//! Subjects compared with one of an older record, which can no longer be run;
//! docs/explain/statistics/older-records.md. [`past_baseline`](crate::past_baseline()) takes that
//! one out of its record.

mod claims;
mod fingerprint;
pub(crate) mod limiting;
pub(crate) mod offer;
pub(crate) mod reference;
#[cfg(test)]
mod simulation;
mod unpaired;

pub use fingerprint::{Difference, Fingerprint};
pub use reference::SessionReference;
pub use unpaired::Unpaired;
pub(crate) use unpaired::{BesidePast, may_stop};
