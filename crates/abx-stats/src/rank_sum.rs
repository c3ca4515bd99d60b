//! A second opinion on two sides that were measured apart: the Hodges-Lehmann estimate of
//! the shift between them with the interval of the test of Mann and Whitney. It needs only
//! that both are spread alike, so one wild block moves it little.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::StatsError;
use crate::paired::LogInterval;
use crate::signed_rank::{RANKED_BLOCKS_MIN, RankInterval};
use crate::student::Confidence;
use crate::welch::{TwoSamples, Welch};

/// The most pairs of blocks for which the rank distribution is counted out. Beyond,
/// the normal approximation differs by at most one difference.
const EXACT_PAIRS_MAX: usize = 2_500;

/// The sorted differences of every block now and every block then.
#[derive(Debug, Clone, PartialEq)]
pub struct Shifts {
    now: usize,
    then: usize,
    between: f64,
    differences: Vec<f64>,
}

impl Shifts {
    /// Those of both sides; `None` when one has less than [`RANKED_BLOCKS_MIN`] blocks.
    ///
    /// # Errors
    /// As [`Welch::of`].
    pub fn of(sides: TwoSamples) -> Result<Option<Shifts>, StatsError> {
        Welch::of(sides)?;
        let [now, then] = [sides.now.len(), sides.then.len()];
        if now.min(then) < RANKED_BLOCKS_MIN {
            return Ok(None);
        }
        let each = sides.now.iter();
        let mut differences: Vec<f64> = each
            .flat_map(|now| sides.then.iter().map(move |then| now - then))
            .collect();
        differences.sort_by(f64::total_cmp);
        Ok(Some(Shifts {
            now,
            then,
            between: sides.between,
            differences,
        }))
    }

    /// Their median, and the narrowest interval between two of them, equally far from both
    /// ends, that covers at least what is asked for, or the widest there is; each end is
    /// moved out by the error of what changed between the sides, as squares add.
    ///
    /// Source: Hodges and Lehmann, Annals of Mathematical Statistics 34 (1963).
    #[must_use]
    pub fn interval(&self, confidence: Confidence) -> RankInterval {
        let (outside, coverage) = self.cut((1.0 - confidence.share()) / 2.0);
        let values = &self.differences;
        let last = values.len() - 1;
        let center = f64::midpoint(values[last / 2], values[last.div_ceil(2)]);
        let quantile = Normal::standard().inverse_cdf(0.5 + confidence.share() / 2.0);
        let reach = |end: f64| (end - center).hypot(quantile * self.between);
        RankInterval {
            interval: LogInterval {
                center,
                low: center - reach(values[outside]),
                high: center + reach(values[last - outside]),
            },
            coverage,
        }
    }

    /// How many differences lie outside on each side, and how often the rest holds the
    /// truth: it is missed on one side when at most so many lie beyond it.
    fn cut(&self, missed_per_side_max: f64) -> (usize, f64) {
        if self.now * self.then > EXACT_PAIRS_MAX {
            return self.approximate_cut(missed_per_side_max);
        }
        let probabilities = probabilities(self.now, self.then);
        let mut missed = probabilities[0];
        let mut outside = 0;
        for probability in &probabilities[1..] {
            if missed + probability > missed_per_side_max {
                break;
            }
            missed += probability;
            outside += 1;
        }
        (outside, 1.0 - 2.0 * missed)
    }

    /// The same by the normal approximation with continuity correction.
    fn approximate_cut(&self, missed_per_side_max: f64) -> (usize, f64) {
        let [now, then] = [self.now as f64, self.then as f64];
        let mean = now * then / 2.0;
        let spread = (now * then * (now + then + 1.0) / 12.0).sqrt();
        let normal = Normal::standard();
        let cut = mean + spread * normal.inverse_cdf(missed_per_side_max) - 0.5;
        let outside = cut.floor().max(0.0);
        let coverage = 1.0 - 2.0 * normal.cdf((outside + 0.5 - mean) / spread);
        (outside as usize, coverage)
    }
}

/// The chance of every number of pairs in which the one side is below the other, when
/// nothing tells the sides apart: the largest of all blocks is of either side in
/// proportion to how many that has.
///
/// Source: Mann and Whitney, Annals of Mathematical Statistics 18 (1947).
fn probabilities(now: usize, then: usize) -> Vec<f64> {
    let pairs = now * then;
    let start = || {
        let mut certain = vec![0.0; pairs + 1];
        certain[0] = 1.0;
        certain
    };
    // Of one side no blocks, of the other 0 to `then`.
    let mut row: Vec<Vec<f64>> = (0..=then).map(|_| start()).collect();
    for number in 1..=now {
        let mut next = vec![start()];
        for other in 1..=then {
            let share = number as f64 / (number + other) as f64;
            let without = &next[other - 1];
            let fewer = &row[other];
            let chance = (0..=pairs).map(|count| {
                let below = count.checked_sub(other).map_or(0.0, |rest| fewer[rest]);
                share * below + (1.0 - share) * without[count]
            });
            let chance = chance.collect();
            next.push(chance);
        }
        row = next;
    }
    row.pop().expect("one for each number of blocks")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shifts(now: &[f64], then: &[f64], between: f64) -> Shifts {
        let sides = TwoSamples { now, then, between };
        Shifts::of(sides).unwrap().unwrap()
    }

    #[test]
    fn critical_values_are_those_of_the_tables() {
        // Method: the common tables of the two-sided test at 5 %: 5 for 6 and 6 blocks, 8
        // for 7 and 7, 33 for 12 and 11, 127 for 20 and 20.
        for (now, then, table) in [(6, 6, 5), (7, 7, 8), (12, 11, 33), (20, 20, 127)] {
            let now: Vec<f64> = (0..now).map(f64::from).collect();
            let then: Vec<f64> = (0..then).map(f64::from).collect();
            let (outside, coverage) = shifts(&now, &then, 0.0).cut(0.025);
            assert_eq!(outside, table, "{} {}", now.len(), then.len());
            assert!((0.95..0.975).contains(&coverage), "{coverage}");
        }
    }

    #[test]
    fn the_approximation_is_the_same_within_one() {
        // Method: fifty blocks on each side, the most that are counted out, both ways.
        let blocks: Vec<f64> = (0..50).map(f64::from).collect();
        let found_shifts = shifts(&blocks, &blocks, 0.0);
        let (exact, approximate) = (found_shifts.cut(0.015), found_shifts.approximate_cut(0.015));
        assert!(exact.0.abs_diff(approximate.0) <= 1);
        assert_ne!(exact, approximate);
    }

    #[test]
    fn many_pairs_have_the_normal_approximation_by_hand() {
        // Method: sixty blocks and fifty: the number of pairs has the mean 1500 and the spread
        // √(60 · 50 · 111 ÷ 12) = 166.58; 1500 − 1.95996 · 166.58 − 0.5 = 1173.003, and half
        // a pair above 1173 is missed by 2.5 % on each side. No more can be left out than all
        // for next to no confidence, nor less than none.
        let [now, then] = [60, 50].map(|count| (0..count).map(f64::from).collect::<Vec<_>>());
        let found_shifts = shifts(&now, &then, 0.0);
        let (outside, coverage) = found_shifts.cut(0.025);
        assert_eq!(outside, 1_173);
        assert!((coverage - 0.950_002).abs() < 1e-6, "{coverage}");
        assert_eq!(found_shifts.cut(1e-300).0, 0);
    }

    #[test]
    fn a_cut_that_misses_just_as_much_as_may_be_is_taken() {
        // Method: of the 924 orders of six and six blocks one has no pair and one has one.
        let blocks = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        let chance = probabilities(6, 6);
        assert!((chance[0] * 924.0 - 1.0).abs() < 1e-12);
        let (outside, coverage) = shifts(&blocks, &blocks, 0.0).cut(chance[0] + chance[1]);
        assert_eq!(outside, 1);
        assert!((coverage - (1.0 - 4.0 / 924.0)).abs() < 1e-12);
    }

    #[test]
    fn both_ends_are_differences_equally_far_from_the_least_and_the_largest() {
        // Method: six and six blocks, whose 36 differences are all different: 97 % leaves out
        // as many on each side as the cut says, and the median is between the middle two.
        let now = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        let then = [0.0, 0.1, 0.21, 0.33, 0.46, 0.6];
        let found_shifts = shifts(&now, &then, 0.0);
        let mut values: Vec<f64> = Vec::new();
        now.iter()
            .for_each(|value| values.extend(then.iter().map(|other| value - other)));
        values.sort_by(f64::total_cmp);
        let outside = found_shifts.cut(0.015).0;
        assert!(outside > 0);
        let interval = found_shifts.interval(Confidence::COMPUTED).interval;
        assert!((interval.center - (values[17] + values[18]) / 2.0).abs() < 1e-12);
        assert!((interval.low - values[outside]).abs() < 1e-12);
        assert!((interval.high - values[35 - outside]).abs() < 1e-12);
    }

    #[test]
    fn the_estimate_is_the_median_of_differences() {
        // Method: six blocks 0.2 apart from seven without spread, one of them wild; few
        // blocks have no opinion; what changed between is in the interval.
        let now = [0.3, 0.3, 0.3, 0.3, 0.3, -5.0];
        let rank_interval = shifts(&now, &[0.1; 7], 0.0).interval(Confidence::COMPUTED);
        assert!((rank_interval.interval.center - 0.2).abs() < 1e-12);
        let equal = shifts(&[0.3; 6], &[0.1; 7], 0.01).interval(Confidence::COMPUTED);
        assert!((equal.interval.half_width() - 0.0217).abs() < 1e-5);
        let few = TwoSamples {
            now: &now,
            then: &[0.1; 5],
            between: 0.0,
        };
        assert_eq!(Shifts::of(few), Ok(None));
    }
}
