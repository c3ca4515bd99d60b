//! A check of the mean: the Hodges-Lehmann estimate with the interval of
//! Wilcoxon's signed-rank test. It needs only symmetry around the center,
//! so a single outlying block moves it little.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::StatsError;
use crate::log_ratios::check_log_ratios;
use crate::paired::LogInterval;
use crate::student::Confidence;

/// The most blocks for which the rank distribution is exact. Beyond,
/// the normal approximation differs by at most one Walsh average.
pub const EXACT_BLOCKS_MAX: usize = 50;

/// The fewest blocks with a rank interval: the range of fewer covers less than 95 %.
pub const RANKED_BLOCKS_MIN: usize = 6;

/// A Hodges-Lehmann estimate with its interval by ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankInterval {
    /// The median of the averages or differences, and two of them as the ends.
    pub interval: LogInterval,
    /// The share of such intervals that contain the truth: at least the requested
    /// share, because ranks come in steps, or the most that these blocks can reach.
    pub coverage: f64,
}

/// The sorted averages of all pairs of blocks, each block also with itself.
#[derive(Debug, Clone, PartialEq)]
pub struct WalshAverages {
    blocks: usize,
    averages: Vec<f64>,
}

impl WalshAverages {
    /// The averages of these blocks; `None` below [`RANKED_BLOCKS_MIN`].
    ///
    /// # Errors
    /// [`StatsError::NoLogRatio`] for a number that is not finite.
    pub fn of(log_ratios: &[f64]) -> Result<Option<WalshAverages>, StatsError> {
        check_log_ratios(log_ratios)?;
        let blocks = log_ratios.len();
        Ok((blocks >= RANKED_BLOCKS_MIN).then(|| WalshAverages {
            blocks,
            averages: walsh_averages(log_ratios),
        }))
    }

    /// Their median, and the narrowest interval between two of them, equally far from
    /// both ends, that covers at least the requested share. For a few blocks even the widest
    /// interval, from the least block to the largest, may cover less (96.9 % at 6 blocks). Then
    /// this is the result, with its coverage.
    ///
    /// Source: Hodges and Lehmann, Annals of Mathematical Statistics 34 (1963).
    #[must_use]
    pub fn interval(&self, confidence: Confidence) -> RankInterval {
        let cut = cut(self.blocks, (1.0 - confidence.share()) / 2.0);
        let last = self.averages.len() - 1;
        RankInterval {
            interval: LogInterval {
                center: f64::midpoint(self.averages[last / 2], self.averages[last.div_ceil(2)]),
                low: self.averages[cut.outside],
                high: self.averages[last - cut.outside],
            },
            coverage: cut.coverage,
        }
    }
}

/// The number of sorted Walsh averages outside the interval on each side, and
/// how often the interval contains the truth.
struct Cut {
    outside: usize,
    coverage: f64,
}

/// The interval that leaves `k` averages out on each side misses the truth on
/// one side when the rank sum is at most `k`.
fn cut(blocks: usize, missed_per_side_max: f64) -> Cut {
    if blocks > EXACT_BLOCKS_MAX {
        return approximate_cut(blocks, missed_per_side_max);
    }
    let probabilities = rank_sum_probabilities(blocks);
    let mut missed = probabilities[0];
    let mut outside = 0;
    for probability in &probabilities[1..] {
        if missed + probability > missed_per_side_max {
            break;
        }
        missed += probability;
        outside += 1;
    }
    Cut {
        outside,
        coverage: 1.0 - 2.0 * missed,
    }
}

/// The cut by the normal approximation with continuity correction.
fn approximate_cut(blocks: usize, missed_per_side_max: f64) -> Cut {
    let n = blocks as f64;
    let mean = n * (n + 1.0) / 4.0;
    let spread = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    let normal = Normal::standard();
    let cut = mean + spread * normal.inverse_cdf(missed_per_side_max) - 0.5;
    let outside = cut.floor().max(0.0);
    Cut {
        outside: outside as usize,
        coverage: 1.0 - 2.0 * normal.cdf((outside + 0.5 - mean) / spread),
    }
}

/// The probability of every rank sum if each of the ranks 1 to `blocks` is in the
/// sum with probability ½. Exact, because all are multiples of a power of two that
/// a double can represent.
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
    let mut averages = Vec::new();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn signed_rank(blocks: &[f64]) -> Result<Option<RankInterval>, StatsError> {
        let averages = WalshAverages::of(blocks)?;
        Ok(averages.map(|averages| averages.interval(Confidence::PRINTED)))
    }

    #[test]
    fn six_blocks_give_their_range_and_five_give_nothing() {
        // Method: the range of n blocks misses the median with probability 2 / 2^n, for any
        // distribution.
        let blocks = [0.05, 0.01, 0.02, 0.03, 0.04, 0.00];
        let six = signed_rank(&blocks).unwrap().unwrap();
        assert_eq!((six.interval.low, six.interval.high), (0.0, 0.05));
        assert_eq!(six.coverage, 1.0 - 2.0 / 64.0);
        assert!((six.interval.center - 0.025).abs() < 1e-12);
        assert_eq!(signed_rank(&blocks[..5]).unwrap(), None);
    }

    #[test]
    fn cuts_agree_with_printed_tables() {
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
            (50, 434),
        ];
        for (blocks, printed) in table {
            assert_eq!(cut(blocks, 0.025).outside, printed, "{blocks} blocks");
        }
    }

    #[test]
    fn a_confidence_beyond_the_ranks_gives_the_range() {
        // Method: eight blocks cover at most 99.2 %. At 98 %, one average on each side is
        // outside, as in printed tables; at 99.9 %, the range remains.
        let blocks = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08];
        let averages = WalshAverages::of(&blocks).unwrap().unwrap();
        let at = |share| averages.interval(Confidence::new(share).unwrap());
        assert!((at(0.98).interval.low - 0.015).abs() < 1e-12);
        let widest = at(0.999);
        assert_eq!((widest.interval.low, widest.interval.high), (0.01, 0.08));
        assert_eq!(widest.coverage, 1.0 - 2.0 / 256.0);
        assert_eq!(approximate_cut(60, 1e-300).outside, 0);
    }

    #[test]
    fn the_normal_approximation_meets_the_exact_count() {
        // Method: both at the largest number of blocks with an exact count.
        let exact = cut(EXACT_BLOCKS_MAX, 0.025);
        let approximate = approximate_cut(EXACT_BLOCKS_MAX, 0.025);
        assert!(exact.outside.abs_diff(approximate.outside) <= 1);
        assert!((exact.coverage - approximate.coverage).abs() < 2e-3);
        assert!(
            signed_rank(&[0.01; EXACT_BLOCKS_MAX + 1])
                .unwrap()
                .is_some()
        );
    }

    #[test]
    fn a_cut_that_misses_exactly_the_permitted_share_is_used() {
        // Method: two of the 64 sign patterns of six blocks: the rank sums 0 and 1.
        let cut = cut(6, 2.0 / 64.0);
        assert_eq!((cut.outside, cut.coverage), (1, 1.0 - 4.0 / 64.0));
    }

    #[test]
    fn many_blocks_have_the_normal_approximation() {
        // Method: sixty blocks by hand. The rank sum has the mean 60 · 61 ÷ 4 = 915 and the
        // spread √(60 · 61 · 121 ÷ 24) = 135.84. 915 − 1.95996 · 135.84 − 0.5 is 648.3, and half
        // a rank above 648 is 1.9619 spreads below the mean.
        let cut = cut(60, 0.025);
        assert_eq!(cut.outside, 648);
        assert!((cut.coverage - 0.950_222).abs() < 1e-6);
    }

    #[test]
    fn one_wild_block_hardly_moves_the_estimate() {
        // Method: nine blocks around 1 % and one of 300 %; the mean would be 30 %. NaN is refused.
        let mut blocks = [
            0.009, 0.010, 0.011, 0.010, 0.012, 0.008, 0.010, 0.011, 0.009, 3.0,
        ];
        let wild = signed_rank(&blocks).unwrap().unwrap();
        assert!((wild.interval.center - 0.010).abs() < 0.001);
        blocks[9] = f64::NAN;
        assert!(signed_rank(&blocks).is_err());
    }
}
