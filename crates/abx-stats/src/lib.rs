//! The mathematics of comparisons: intervals from per-block log ratios, a check of these
//! intervals, and the decision to stop ([`paired`], [`signed_rank`], [`stop`]); the end that a
//! candidate is like ([`sequential`]); the subject that is ahead at each position of a sweep, and
//! the highest rate that meets a limit ([`curve`]); warm-up and steadiness of a load ([`series`]).
//! It knows no records and reaches no verdicts.
//!
//! The methods, with sources and the simulated coverage:
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
