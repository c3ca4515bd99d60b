//! The highest offered rate at which a subject still meets a service
//! objective, from a grid of rates that every block was measured at.

use super::sweep::{LogSpan, Position, check_sweep};
use crate::StatsError;
use crate::paired::{PairedMean, RatioInterval};
use crate::student::Confidence;

/// The result of one block for the capacity, in the unit of the grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BlockCapacity {
    /// The objective was met up to this rate.
    Within(f64),
    /// It was met at every rate, this one the highest.
    AtLeast(f64),
    /// It was missed at every rate, this one the lowest.
    AtMost(f64),
}

impl BlockCapacity {
    /// The capacity, or the end of the grid beyond which it lies.
    #[must_use]
    pub fn rate(self) -> f64 {
        match self {
            BlockCapacity::Within(rate)
            | BlockCapacity::AtLeast(rate)
            | BlockCapacity::AtMost(rate) => rate,
        }
    }
}

/// The neighbouring rates between which a block's values pass the limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RateBracket {
    /// The highest rate that met it; `None` when every rate missed it.
    pub held: Option<f64>,
    /// The lowest rate that missed it; `None` when every rate met it.
    pub missed: Option<f64>,
}

/// The result of all blocks: the capacity of a typical start, as the geometric mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CapacityEstimate {
    /// Every block's capacity lies on the grid. The `ratio` of the interval is
    /// the capacity itself, and its ends are rates too.
    Within(RatioInterval),
    /// In some blocks every rate met the objective: the lower end of the
    /// interval, with those blocks taken for the highest rate.
    AtLeast(f64),
    /// In some blocks every rate missed it: the upper end of the interval,
    /// with those blocks taken for the lowest rate.
    AtMost(f64),
    /// There are blocks of both kinds, so the grid bounds nothing.
    Unbounded,
}

/// The capacity in each block: `grid` holds, for each offered rate, the value
/// (for example the p99 response time in µs) that each block had, and the
/// objective is met where the value is at most `limit`, in the same unit.
///
/// Method: a block's values are first made non-decreasing over the rates, in
/// the logarithm, by pooling neighbours that are in the wrong order (Ayer and
/// others, Annals of Mathematical Statistics 26 (1955)): more load makes
/// nothing quicker, so a fall is noise, or a start that was still cold. Then
/// the rate is where the straight line from the last rate that meets the limit
/// to the first that does not, both in logarithms, reaches it. Where the true
/// curve bends upwards, that is too low, by less than one step of the grid.
///
/// A value may be infinite: missed by an unknown amount. The capacity
/// is then the rate before. A value that is only known as "at least" makes the
/// capacity an "at most", within the same step of the grid.
///
/// # Errors
/// - [`StatsError::TooFewPositions`], [`StatsError::BadPosition`],
///   [`StatsError::UnequalBlocks`] for what is no grid.
/// - [`StatsError::Limit`], [`StatsError::NoValue`] for what has no logarithm.
pub fn block_capacities(
    grid: &[Position<'_>],
    limit: f64,
) -> Result<Vec<BlockCapacity>, StatsError> {
    let excesses = excesses(grid, limit)?;
    let capacities = excesses.iter().map(|over| block_capacity(grid, over));
    Ok(capacities.collect())
}

/// The neighbouring rates between which each block's values pass the limit, after values in
/// the wrong order were pooled. The arguments are those of [`block_capacities`].
///
/// # Errors
/// As [`block_capacities`].
pub fn block_brackets(grid: &[Position<'_>], limit: f64) -> Result<Vec<RateBracket>, StatsError> {
    let excesses = excesses(grid, limit)?;
    let brackets = excesses.iter().map(|over| {
        let met = met(over);
        RateBracket {
            held: met.checked_sub(1).map(|last| grid[last].at),
            missed: grid.get(met).map(|first| first.at),
        }
    });
    Ok(brackets.collect())
}

/// The log of value over limit at each rate, non-decreasing, for each block.
fn excesses(grid: &[Position<'_>], limit: f64) -> Result<Vec<Vec<f64>>, StatsError> {
    check_sweep(grid)?;
    if !limit.is_finite() || limit <= 0.0 {
        return Err(StatsError::Limit(limit));
    }
    for (position, Position { blocks, .. }) in grid.iter().enumerate() {
        if let Some(block) = blocks
            .iter()
            .position(|value| value.is_nan() || *value <= 0.0)
        {
            return Err(StatsError::NoValue {
                position,
                block,
                value: blocks[block],
            });
        }
    }
    let blocks = grid[0].blocks.len();
    let excess = |block: usize| -> Vec<f64> {
        grid.iter()
            .map(|position| (position.blocks[block] / limit).ln())
            .collect()
    };
    Ok((0..blocks)
        .map(|block| non_decreasing(&excess(block)))
        .collect())
}

/// The capacity over blocks, with a t interval on its logarithm when every
/// block's capacity lies among its rates, and a bound otherwise. Blocks may have had
/// different rates. Two subjects are compared by the paired log ratios of their block
/// capacities.
///
/// # Errors
/// [`StatsError::TooFewBlocks`] below 2 blocks.
pub fn capacity(
    blocks: &[BlockCapacity],
    confidence: Confidence,
) -> Result<CapacityEstimate, StatsError> {
    let logs: Vec<f64> = blocks.iter().map(|block| block.rate().ln()).collect();
    let interval = PairedMean::of(&logs)?.interval(confidence);
    let is_above = blocks
        .iter()
        .any(|block| matches!(block, BlockCapacity::AtLeast(_)));
    let is_below = blocks
        .iter()
        .any(|block| matches!(block, BlockCapacity::AtMost(_)));
    Ok(match (is_above, is_below) {
        (false, false) => CapacityEstimate::Within(interval.ratios(confidence.share())),
        (true, false) => CapacityEstimate::AtLeast(interval.low.exp()),
        (false, true) => CapacityEstimate::AtMost(interval.high.exp()),
        (true, true) => CapacityEstimate::Unbounded,
    })
}

/// The number of rates that met the limit.
fn met(over: &[f64]) -> usize {
    over.partition_point(|over| *over <= 0.0)
}

/// `over` holds the log of value over limit at each rate, non-decreasing.
fn block_capacity(grid: &[Position<'_>], over: &[f64]) -> BlockCapacity {
    let met = met(over);
    if met == 0 {
        return BlockCapacity::AtMost(grid[0].at);
    }
    if met == over.len() {
        return BlockCapacity::AtLeast(grid[met - 1].at);
    }
    let (below, above) = (over[met - 1], over[met]);
    let span = LogSpan {
        from: grid[met - 1].at,
        to: grid[met].at,
    };
    BlockCapacity::Within(span.place(-below / (above - below)))
}

/// The nearest non-decreasing series to these values, by pooling neighbours
/// in the wrong order into their mean.
fn non_decreasing(values: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::with_capacity(values.len());
    for value in values {
        let mut pool = (*value, 1);
        while let Some(before) = pools.pop_if(|before| before.0 > pool.0) {
            let count = before.1 + pool.1;
            let sum = before.0 * before.1 as f64 + pool.0 * pool.1 as f64;
            pool = (sum / count as f64, count);
        }
        pools.push(pool);
    }
    pools
        .into_iter()
        .flat_map(|(value, count)| std::iter::repeat_n(value, count))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid of 100, 200, 400 and 800 requests/s with these values for each block, in µs.
    fn grid<'a>(values: &'a [[f64; 2]; 4]) -> Vec<Position<'a>> {
        [100.0, 200.0, 400.0, 800.0]
            .iter()
            .zip(values)
            .map(|(&at, blocks)| Position { at, blocks })
            .collect()
    }

    fn blocks(values: &[[f64; 2]; 4]) -> Vec<BlockCapacity> {
        block_capacities(&grid(values), LIMIT).unwrap()
    }

    fn is_close(value: f64, other: f64) -> bool {
        (value / other - 1.0).abs() < 1e-9
    }

    const LIMIT: f64 = 50_000.0;

    #[test]
    fn the_capacity_is_interpolated_in_both_logarithms() {
        // Method: by hand. Between 25 ms and 100 ms the limit is halfway, so the
        // rate is √2 times 200. A value exactly at the limit meets it.
        let values = [
            [5_000.0, 5_000.0],
            [25_000.0, 20_000.0],
            [100_000.0, 50_000.0],
            [900_000.0, 900_000.0],
        ];
        let block_capacities = blocks(&values);
        assert!(is_close(block_capacities[0].rate(), 200.0 * 2.0_f64.sqrt()));
        assert!(is_close(block_capacities[1].rate(), 400.0));
        assert!(matches!(block_capacities[1], BlockCapacity::Within(_)));

        // The geometric mean, and a t interval of one degree of freedom.
        let Ok(CapacityEstimate::Within(rate_interval)) =
            capacity(&blocks(&values), Confidence::PRINTED)
        else {
            panic!("both blocks lie on the grid");
        };
        assert!(is_close(rate_interval.ratio, 200.0 * 2.0_f64.powf(0.75)));
        let spread = 2.0_f64.ln() / 2.0 / 2.0_f64.sqrt();
        let reach = (12.7062 * spread / 2.0_f64.sqrt()).exp();
        assert!((rate_interval.high / rate_interval.ratio / reach - 1.0).abs() < 1e-4);
        assert!((rate_interval.ratio / rate_interval.low / reach - 1.0).abs() < 1e-4);
        assert_eq!(rate_interval.confidence, 0.95);
    }

    #[test]
    fn values_that_fall_with_the_rate_are_pooled() {
        // Method: 80 ms then 20 ms pool to 40 ms twice, which meets the limit;
        // 62.5 ms follows. 80 then 45 pool to 60, which misses the limit.
        let block_capacities = blocks(&[
            [5_000.0, 5_000.0],
            [80_000.0, 80_000.0],
            [20_000.0, 45_000.0],
            [62_500.0, 90_000.0],
        ]);
        let half_way = 400.0 * 2.0_f64.powf(0.5);
        assert!(
            is_close(block_capacities[0].rate(), half_way),
            "{block_capacities:?}"
        );
        let share = 10.0_f64.ln() / 12.0_f64.ln();
        assert!(is_close(
            block_capacities[1].rate(),
            100.0 * 2.0_f64.powf(share)
        ));
    }

    #[test]
    fn a_pool_is_weighted_by_its_number_of_values() {
        // Method: a third value below a pool of two, and a pool of two below the value
        // before it.
        assert_eq!(non_decreasing(&[3.0, 2.0, 1.0]), [2.0; 3]);
        assert_eq!(non_decreasing(&[3.0, 3.5, 1.0]), [2.5; 3]);
        assert_eq!(non_decreasing(&[1.0, 3.0, 2.0]), [1.0, 2.5, 2.5]);
    }

    #[test]
    fn an_infinite_value_leaves_the_rate_before_it() {
        // Method: infinity after a value that meets the limit, and before such a value.
        let block_capacities = blocks(&[
            [5_000.0, 5_000.0],
            [20_000.0, f64::INFINITY],
            [f64::INFINITY, 20_000.0],
            [f64::INFINITY, f64::INFINITY],
        ]);
        assert_eq!(block_capacities[0], BlockCapacity::Within(200.0));
        assert_eq!(block_capacities[1], BlockCapacity::Within(100.0));
    }

    #[test]
    fn blocks_beyond_the_grid_leave_a_bound() {
        // Method: the second block meets the limit at every rate, then at none. Two blocks so
        // far apart give a loose bound. Then the bound by hand, for both blocks at one end of
        // the grid, and one block at each end.
        let result = |second: [f64; 4]| {
            let first = [5_000.0, 20_000.0, 100_000.0, 900_000.0];
            let values = [0, 1, 2, 3].map(|rate| [first[rate], second[rate]]);
            capacity(&blocks(&values), Confidence::PRINTED).unwrap()
        };
        let estimate = result([5_000.0, 6_000.0, 7_000.0, 8_000.0]);
        assert!(
            matches!(estimate, CapacityEstimate::AtLeast(rate) if rate < 10.0),
            "{estimate:?}"
        );
        let none = result([60_000.0, 70_000.0, 80_000.0, 90_000.0]);
        assert!(
            matches!(none, CapacityEstimate::AtMost(rate) if rate > 10_000.0),
            "{none:?}"
        );

        let same = |first: f64, second: f64| {
            let values = [[first, second]; 4];
            capacity(&blocks(&values), Confidence::PRINTED).unwrap()
        };
        assert!(matches!(same(1.0, 2.0), CapacityEstimate::AtLeast(rate) if is_close(rate, 800.0)));
        assert!(matches!(same(6e4, 7e4), CapacityEstimate::AtMost(rate) if is_close(rate, 100.0)));
        assert!(
            matches!(same(LIMIT, LIMIT), CapacityEstimate::AtLeast(rate) if is_close(rate, 800.0))
        );
        assert_eq!(same(1.0, 6e4), CapacityEstimate::Unbounded);
    }

    #[test]
    fn values_without_a_logarithm_are_refused() {
        // Method: values and limits of every such kind, and a single block.
        for value in [0.0, -1.0, f64::NAN] {
            let mut values = [[1.0, 1.0]; 4];
            values[2][1] = value;
            let result = block_capacities(&grid(&values), LIMIT);
            assert!(matches!(
                result,
                Err(StatsError::NoValue {
                    position: 2,
                    block: 1,
                    ..
                })
            ));
        }
        for limit in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let result = block_capacities(&grid(&[[1.0; 2]; 4]), limit);
            assert!(matches!(result, Err(StatsError::Limit(_))), "{limit}");
        }
        let positions = [1.0, 2.0].map(|at| Position { at, blocks: &[1.0] });
        assert!(matches!(
            capacity(
                &block_capacities(&positions, LIMIT).unwrap(),
                Confidence::PRINTED
            ),
            Err(StatsError::TooFewBlocks { got: 1, .. })
        ));
    }
}
