//! The mathematics of comparisons: from per-block log ratios to an interval, a check of
//! that interval, and the decision to stop ([`paired`], [`signed_rank`], [`stop`]); which of
//! two ends a candidate is like ([`sequential`]); over a
//! sweep, which subject is ahead where and up to which rate ([`curve`]); from the course of a load,
//! its warm-up and steadiness ([`series`]). Knows no records and reaches no verdicts.
//!
//! The method in plain words, with sources and the simulated coverage:
//! `docs/explain/statistics/README.md`.

pub mod curve;
mod error;
pub mod holm;
mod log_ratios;
mod margin;
mod moments;
pub mod paired;
pub mod pooled;
pub mod power;
pub mod random_effects;
pub mod sequential;
pub mod series;
pub mod signed_rank;
pub mod stop;
pub mod student;
pub mod welch;

pub use error::StatsError;
pub use margin::Margin;
