//! Times counted roughly, in a hundredth of a histogram's memory, for many intervals of time.

use serde::{Deserialize, Serialize};

use super::layout::{self, MICROS_MAX};

/// Times below 256 µs have a counter each, and each doubling above has 128.
const ROUGH_BITS: u32 = 8;

/// A distribution of times, each true to one part in a hundred, otherwise as in a
/// [`Histogram`](super::Histogram).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u64>", into = "Vec<u64>")]
pub struct RoughTimes {
    /// The counters up to the longest time that was counted.
    counts: Vec<u64>,
}

/// Counts that no times can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("times are counted beyond 1 h, or too often")]
pub struct NoRoughTimes;

impl TryFrom<Vec<u64>> for RoughTimes {
    type Error = NoRoughTimes;

    fn try_from(counts: Vec<u64>) -> Result<RoughTimes, NoRoughTimes> {
        let has_room = counts.len() <= layout::index_of::<ROUGH_BITS>(MICROS_MAX) + 1;
        let sum = counts
            .iter()
            .try_fold(0_u64, |sum, count| sum.checked_add(*count));
        if has_room && sum.is_some() {
            Ok(RoughTimes { counts })
        } else {
            Err(NoRoughTimes)
        }
    }
}

impl From<RoughTimes> for Vec<u64> {
    fn from(times: RoughTimes) -> Vec<u64> {
        times.counts
    }
}

impl RoughTimes {
    /// Counts a time in µs, `times` times.
    pub fn record_us(&mut self, micros: u64, times: u64) {
        let index = layout::index_of::<ROUGH_BITS>(micros.clamp(1, MICROS_MAX));
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += times;
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &RoughTimes) {
        let length = self.counts.len().max(other.counts.len());
        self.counts.resize(length, 0);
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    /// How many times were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The time, in µs, that the share `q` (0 to 1) of all times does not exceed; `None`
    /// when nothing was counted.
    #[must_use]
    pub fn quantile_us(&self, q: f64) -> Option<u64> {
        let rank = (q.clamp(0.0, 1.0) * self.count() as f64).ceil() as u64;
        let mut below = 0;
        let index = self.counts.iter().position(|count| {
            below += count;
            below >= rank.max(1)
        });
        let longest = layout::highest::<ROUGH_BITS>(index?);
        Some(longest.min(MICROS_MAX))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measure::distribution::histogram::Histogram;

    fn rough(times: &[u64]) -> RoughTimes {
        let mut rough = RoughTimes::default();
        times.iter().for_each(|time| rough.record_us(*time, 1));
        rough
    }

    proptest! {
        #[test]
        fn quantiles_are_true_to_one_part_in_a_hundred(
            times in prop::collection::vec(1_u64..MICROS_MAX, 1..200),
            q in 0.0_f64..=1.0,
        ) {
            // Method: the fine histogram of the same times, which is true to a thousandth.
            let mut fine = Histogram::new();
            times.iter().for_each(|time| fine.record_ns(time * 1_000));
            let exact = fine.quantile_us(q).unwrap() as f64;
            let result = rough(&times).quantile_us(q).unwrap() as f64;
            prop_assert!((result - exact).abs() <= exact / 100.0, "{result} {exact}");
        }

        #[test]
        fn parts_merge_in_any_order(
            numbers in prop::collection::vec(1_u64..1 << 40, 0..20),
            other in prop::collection::vec(1_u64..1 << 40, 0..20),
        ) {
            // Method: merged both ways, and all times counted in one distribution.
            let mut left = rough(&numbers);
            left.merge(&rough(&other));
            let mut right = rough(&other);
            right.merge(&rough(&numbers));
            prop_assert_eq!(&left, &right);
            prop_assert_eq!(left.count(), (numbers.len() + other.len()) as u64);
            prop_assert_eq!(left, rough(&[numbers, other].concat()));
        }
    }

    #[test]
    fn nothing_counted_has_no_quantile() {
        // Method: an empty distribution, and one second counted three times.
        let mut times = RoughTimes::default();
        assert_eq!((times.count(), times.quantile_us(0.5)), (0, None));
        times.record_us(1_000_000, 3);
        assert_eq!(times.count(), 3);
        assert!((990_000..=1_010_000).contains(&times.quantile_us(0.0).unwrap()));
    }
}
