//! What was measured and what it means.

pub mod stats;
pub mod verdict;
