//! A second opinion on the mean: the Hodges-Lehmann estimate with the interval
//! of Wilcoxon's signed-rank test. It needs only symmetry around the center,
//! so one wild block moves it little.

use statrs::distribution::{ContinuousCDF, Normal};

use super::paired::LogInterval;
use super::{StatsError, check_log_ratios};

/// The most blocks for which the rank distribution is counted out. Beyond,
/// the normal approximation differs by at most one Walsh average.
pub const EXACT_BLOCKS_MAX: usize = 50;

/// The Hodges-Lehmann estimate with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignedRank {
    /// The median of the Walsh averages, and two of them as the ends.
    pub interval: LogInterval,
    /// The share of such intervals that hold the truth: at least what was
    /// asked for, because ranks come in steps.
    pub coverage: f64,
}

/// The median of all averages of two blocks (each block also with itself: the
/// Walsh averages), and the narrowest interval between two of them, equally
/// far from both ends of the sorted list, that covers at least 95 %.
///
/// `None` when even the widest one, from the least block to the largest,
/// covers less: below 6 blocks. At 6 blocks that one covers 96.9 %.
///
/// Source: Hodges and Lehmann, Annals of Mathematical Statistics 34 (1963).
///
/// # Errors
/// [`StatsError::NoLogRatio`] for a number that is not finite.
pub fn signed_rank(log_ratios: &[f64]) -> Result<Option<SignedRank>, StatsError> {
    check_log_ratios(log_ratios)?;
    let Some(cut) = cut(log_ratios.len()) else {
        return Ok(None);
    };
    let averages = walsh_averages(log_ratios);
    let last = averages.len() - 1;
    Ok(Some(SignedRank {
        interval: LogInterval {
            center: f64::midpoint(averages[last / 2], averages[last.div_ceil(2)]),
            low: averages[cut.outside],
            high: averages[last - cut.outside],
        },
        coverage: cut.coverage,
    }))
}

/// How many of the sorted Walsh averages lie outside the interval on each
/// side, and how often the rest holds the truth.
struct Cut {
    outside: usize,
    coverage: f64,
}

/// The interval that leaves `k` averages out on each side misses the truth on
/// one side when the rank sum is at most `k`.
fn cut(blocks: usize) -> Option<Cut> {
    if blocks > EXACT_BLOCKS_MAX {
        return Some(approximate_cut(blocks));
    }
    let mut missed = 0.0;
    let mut cut = None;
    for (outside, probability) in rank_sum_probabilities(blocks).iter().enumerate() {
        missed += probability;
        if missed > MISSED_PER_SIDE_MAX {
            break;
        }
        cut = Some(Cut {
            outside,
            coverage: 1.0 - 2.0 * missed,
        });
    }
    cut
}

/// The same by the normal approximation with continuity correction.
fn approximate_cut(blocks: usize) -> Cut {
    let n = blocks as f64;
    let mean = n * (n + 1.0) / 4.0;
    let spread = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    let normal = Normal::standard();
    let outside = (mean + spread * normal.inverse_cdf(MISSED_PER_SIDE_MAX) - 0.5).floor();
    Cut {
        outside: outside as usize,
        coverage: 1.0 - 2.0 * normal.cdf((outside + 0.5 - mean) / spread),
    }
}

/// The chance of every rank sum when each of the ranks 1 to `blocks` is in the
/// sum or not by the toss of a coin. Exact: all are multiples of a power of
/// two that a double holds.
fn rank_sum_probabilities(blocks: usize) -> Vec<f64> {
    let mut probabilities = vec![0.0; blocks * (blocks + 1) / 2 + 1];
    probabilities[0] = 1.0;
    for rank in 1..=blocks {
        let largest = rank * (rank + 1) / 2;
        for sum in (0..=largest).rev() {
            let with = sum
                .checked_sub(rank)
                .map_or(0.0, |rest| probabilities[rest]);
            probabilities[sum] = (probabilities[sum] + with) / 2.0;
        }
    }
    probabilities
}

fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (index, first) in values.iter().enumerate() {
        averages.extend(
            values[index..]
                .iter()
                .map(|second| f64::midpoint(*first, *second)),
        );
    }
    averages.sort_unstable_by(f64::total_cmp);
    averages
}

/// The chance to miss on one side that an interval of 95 % leaves.
const MISSED_PER_SIDE_MAX: f64 = 0.025;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_blocks_give_the_range_and_five_give_nothing() {
        // Method: distribution-free theory: the range of n blocks misses the
        // median with probability 2 / 2^n.
        let blocks = [0.05, 0.01, 0.02, 0.03, 0.04, 0.00];
        let six = signed_rank(&blocks).unwrap().unwrap();
        assert_eq!((six.interval.low, six.interval.high), (0.0, 0.05));
        assert_eq!(six.coverage, 1.0 - 2.0 / 64.0);
        assert!((six.interval.center - 0.025).abs() < 1e-12);
        assert_eq!(signed_rank(&blocks[..5]).unwrap(), None);
    }

    #[test]
    fn cuts_are_those_of_printed_tables() {
        // Method: the critical values of Wilcoxon's signed-rank test at 5 %,
        // two-sided, as printed in textbooks.
        let table = [
            (6, 0),
            (7, 2),
            (8, 3),
            (9, 5),
            (10, 8),
            (12, 13),
            (15, 25),
            (20, 52),
            (25, 89),
        ];
        for (blocks, printed) in table {
            assert_eq!(cut(blocks).unwrap().outside, printed, "{blocks} blocks");
        }
    }

    #[test]
    fn the_normal_approximation_meets_the_exact_count() {
        // Method: both at the last number of blocks that is counted out.
        let exact = cut(EXACT_BLOCKS_MAX).unwrap();
        let approximate = approximate_cut(EXACT_BLOCKS_MAX);
        assert!(exact.outside.abs_diff(approximate.outside) <= 1);
        assert!((exact.coverage - approximate.coverage).abs() < 2e-3);
        assert!(
            signed_rank(&[0.01; EXACT_BLOCKS_MAX + 1])
                .unwrap()
                .is_some()
        );
    }

    #[test]
    fn one_wild_block_moves_the_estimate_little() {
        // Method: nine blocks around 1 % and one of 300 %; the mean would be 30 %.
        let mut blocks = [
            0.009, 0.010, 0.011, 0.010, 0.012, 0.008, 0.010, 0.011, 0.009, 3.0,
        ];
        let wild = signed_rank(&blocks).unwrap().unwrap();
        assert!((wild.interval.center - 0.010).abs() < 0.001);
        blocks[9] = f64::NAN;
        assert!(signed_rank(&blocks).is_err());
    }
}
