//! Statistics over blocks: from per-block log ratios to an interval, a check
//! of that interval, and the decision to stop. No verdicts: those are in
//! [`crate::verdict`], and [`crate::verdict::assess`] is where to start.
//!
//! The method in plain words, with sources and the simulated coverage:
//! `docs/statistics.md`.

pub mod holm;
mod margin;
mod moments;
pub mod paired;
pub mod signed_rank;
pub mod stop;
pub mod student;
pub mod warm_up;

pub use margin::Margin;

/// Why no number could be given. Each message names the next step.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum StatsError {
    /// A spread needs at least [`paired::BLOCKS_MIN`] blocks.
    #[error("an interval needs at least {need} blocks and there are {got}: measure more blocks")]
    TooFewBlocks {
        /// Blocks given.
        got: usize,
        /// Blocks needed.
        need: usize,
    },
    /// A log ratio must be a finite number. A rate of zero has no logarithm.
    #[error(
        "block {block} has the log ratio {value}: a subject with no ok answer has no rate; \
         look at that block's outcomes"
    )]
    NoLogRatio {
        /// Place of the block in the list, from zero.
        block: usize,
        /// What was found instead.
        value: f64,
    },
    /// A margin outside the range that [`Margin::new`] accepts.
    #[error("the margin is {0}: give a share above 0 and at most 1, for example 0.03 for 3 %")]
    Margin(f64),
    /// A warm-up series needs at least [`warm_up::BINS_MIN`] bins.
    #[error("warm-up needs at least {need} bins and there are {got}: load for longer")]
    TooFewBins {
        /// Bins given.
        got: usize,
        /// Bins needed.
        need: usize,
    },
    /// A bin must hold a finite number.
    #[error("warm-up bin {bin} holds {value}: give finite rates")]
    BadBin {
        /// Place of the bin in the series, from zero.
        bin: usize,
        /// What was found instead.
        value: f64,
    },
}

/// Finds the first block that has no log ratio.
fn check_log_ratios(log_ratios: &[f64]) -> Result<(), StatsError> {
    match log_ratios.iter().position(|value| !value.is_finite()) {
        Some(block) => Err(StatsError::NoLogRatio {
            block,
            value: log_ratios[block],
        }),
        None => Ok(()),
    }
}
