//! The error of all computations: [`StatsError`].

/// Why there is no result. Each message names the next step.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum StatsError {
    /// A spread needs at least [`crate::paired::BLOCKS_MIN`] blocks.
    #[error("an interval needs at least {need} blocks and there are {got}: measure more blocks")]
    TooFewBlocks { got: usize, need: usize },
    #[error(
        "block {block} has the log ratio {value}: a subject without an ok response has no rate; \
         look at that block's outcomes"
    )]
    NoLogRatio {
        /// Place of the block in the list, from zero.
        block: usize,
        value: f64,
    },
    /// A margin outside the range that [`crate::Margin::new`] accepts.
    #[error("the margin is {0}: give a share above 0 and at most 1, for example 0.03 for 3 %")]
    Margin(f64),
    /// A warm-up series needs at least [`crate::series::warm_up::BINS_MIN`] bins.
    #[error("warm-up needs at least {need} bins and there are {got}: load for longer")]
    TooFewBins { got: usize, need: usize },
    #[error("warm-up bin {bin} holds {value}: give finite rates")]
    BadBin {
        /// Place of the bin in the series, from zero.
        bin: usize,
        value: f64,
    },
    /// Steadiness needs at least [`crate::series::segments::BINS_MIN`] bins.
    #[error("steadiness needs at least {need} bins and there are {got}: load for longer")]
    TooShort { got: usize, need: usize },
    #[error("bin {bin} has the rate {value}: take bins so long that each holds a response")]
    NoLogRate {
        /// Place of the bin in the series, from zero.
        bin: usize,
        value: f64,
    },
    #[error("at least {need} different positions are needed and there are {got}: add loads")]
    TooFewPositions { got: usize, need: usize },
    #[error(
        "position {position} of the sweep is {value}: give connections from 1, or rates above 0, \
         each above the one before"
    )]
    BadPosition {
        /// Place in the sweep, from zero.
        position: usize,
        value: f64,
    },
    #[error(
        "position {position} of the sweep has {got} blocks and the first has {need}: \
         leave out blocks that lack a position"
    )]
    UnequalBlocks {
        /// Place in the sweep, from zero.
        position: usize,
        got: usize,
        /// The blocks of the first position.
        need: usize,
    },
    #[error(
        "position {position} of the sweep has the throughput {value}: \
         look at the outcomes of that load"
    )]
    NoThroughput {
        /// Place in the sweep, from zero.
        position: usize,
        value: f64,
    },
    #[error(
        "throughput falls faster than the scalability law can: \
         leave out the loads beyond the collapse"
    )]
    NoLaw,
    #[error("the limit is {0}: give a finite one above 0")]
    Limit(f64),
    #[error(
        "block {block} has the value {value} at position {position} of the grid: give one above \
         0, or infinity if it is unknown by how much the limit was missed"
    )]
    NoValue {
        /// Place in the grid, from zero.
        position: usize,
        /// Place of the block in the list, from zero.
        block: usize,
        value: f64,
    },
}
