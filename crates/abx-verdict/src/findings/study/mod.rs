//! How the study was measured, and what happened to it.

pub(super) mod continued;
pub(super) mod ended;
pub(super) mod failed_starts;
pub(super) mod faults;
pub(super) mod few_blocks;
pub(super) mod fleet;
pub(super) mod kinds_of_subject;
pub(crate) mod memory_unknown;
pub(super) mod not_cold;
pub(super) mod not_sampled;
pub(super) mod service_failed;
pub(super) mod skipped;
pub(crate) mod starts_differ;
