//! The changes of level in a series, such as that of the records of one study over time: binary
//! segmentation, with a permutation test for each cut. Start at [`changes`].
//!
//! [`super::segments`] instead cuts the many bins of one load, in which a single outlying bin is a
//! separate segment.

use std::ops::Range;

use super::segments::NORMAL_MEDIAN;
use crate::StatsError;
use crate::log_ratios::check_log_ratios;
use crate::moments::Moments;
use crate::paired::LogInterval;
use crate::student::{Confidence, t_quantile};

/// The length of the shortest series, or part of a series, that is searched.
pub const VALUES_MIN: usize = 8;

/// The fewest values between two changes, before the first and after the last. Fewer values are
/// outliers and not a level.
pub const LEVEL_MIN: usize = 3;

/// How often a series without a change seems to have one, as a share.
pub const CHANGE_ERROR: f64 = 0.04;

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The index of the first value after it.
    pub at: usize,
    /// The mean from there to the next change, minus the mean from the previous change to
    /// there, with Student's 95 % interval: both sides have one spread.
    pub difference: LogInterval,
}

/// The changes of level in a series of log values, in order of time; none in a series of fewer
/// than [`VALUES_MIN`].
///
/// Method: the cut at which the means of both sides differ most, over the error of that
/// difference, is a change if at most [`CHANGE_ERROR`] of the random orders of the same values
/// have a cut that is as good. Both parts are then searched in the same way, each with half of
/// the error. Values further than 3 spreads from the median of their part are moved to there
/// before, so that one outlier hides no change. A change is placed at the best cut between its
/// neighbours.
///
/// The test needs no shape of the noise, but that any order of the values is equally likely: a
/// slow drift appears as changes. The orders are drawn from a fixed seed.
/// Sources: Vostrikova, Soviet Mathematics Doklady 24 (1981); Antoch and Hušková, Statistics
/// and Probability Letters 53 (2001); docs/explain/statistics/trends.md.
///
/// # Errors
/// [`StatsError::NoLogRatio`] for a value that is not finite.
pub fn changes(values: &[f64]) -> Result<Vec<Change>, StatsError> {
    check_log_ratios(values)?;
    let mut cuts = Vec::new();
    search(values, 0..values.len(), CHANGE_ERROR, &mut cuts);
    cuts.sort_unstable();
    let around = |cuts: &[usize], index: usize| {
        let before = index.checked_sub(1).map_or(0, |before| cuts[before]);
        before..cuts.get(index + 1).copied().unwrap_or(values.len())
    };
    for index in 0..cuts.len() {
        let part = around(&cuts, index);
        let best = best_cut(&centered(&values[part.clone()]));
        cuts[index] = best.map_or(cuts[index], |best| part.start + best.at);
    }
    let change = |index: usize| {
        let (at, part) = (cuts[index], around(&cuts, index));
        let difference = difference(&values[part.start..at], &values[at..part.end]);
        Change { at, difference }
    };
    Ok((0..cuts.len()).map(change).collect())
}

/// The mean of the values after a change minus that of those before it, with its interval.
fn difference(before: &[f64], after: &[f64]) -> LogInterval {
    let [before, after] = [before, after].map(Moments::of);
    let degrees = (before.count + after.count).saturating_sub(2).max(1);
    let spread = ((before.squares + after.squares) / degrees as f64).sqrt();
    let error = spread * (1.0 / before.count as f64 + 1.0 / after.count as f64).sqrt();
    let half_width = t_quantile(Confidence::PRINTED, degrees) * error;
    LogInterval::around(after.mean - before.mean, half_width)
}

/// Adds the cuts of a part of the series to `cuts`.
fn search(values: &[f64], part: Range<usize>, error: f64, cuts: &mut Vec<usize>) {
    let centered = centered(&values[part.clone()]);
    let Some(best) = best_cut(&centered) else {
        return;
    };
    if centered.len() < VALUES_MIN || !is_rare(best.height, centered, error) {
        return;
    }
    let at = part.start + best.at;
    cuts.push(at);
    search(values, part.start..at, error / 2.0, cuts);
    search(values, at..part.end, error / 2.0, cuts);
}

/// The cut of a series.
struct Cut {
    at: usize,
    /// The difference of the means of both sides over its error, in units of the spread of a
    /// value.
    height: f64,
}

/// The best cut of values around 0; `None` if there are too few values for two levels.
fn best_cut(centered: &[f64]) -> Option<Cut> {
    let count = centered.len();
    if count < 2 * LEVEL_MIN {
        return None;
    }
    let mut best = Cut {
        at: LEVEL_MIN,
        height: 0.0,
    };
    let mut sum = 0.0;
    for (index, value) in centered.iter().enumerate() {
        let at = index + 1;
        sum += value;
        if (LEVEL_MIN..=count - LEVEL_MIN).contains(&at) {
            let weight = (at * (count - at)) as f64 / count as f64;
            let height = sum.abs() / weight.sqrt();
            if height > best.height {
                best = Cut { at, height };
            }
        }
    }
    Some(best)
}

/// Whether at most this share of the random orders of the values have a cut that is as good.
fn is_rare(height: f64, mut values: Vec<f64>, share: f64) -> bool {
    // The observed order counts as one of them.
    let most = (share * (ORDERS + 1) as f64) as usize;
    let mut random = SplitMix(SEED);
    let mut as_good = 1;
    for _ in 0..ORDERS {
        random.shuffle(&mut values);
        // Sums in another order differ in their last digits.
        let is_as_good = |cut: Cut| cut.height >= height * (1.0 - 1e-9);
        as_good += usize::from(best_cut(&values).is_some_and(is_as_good));
        if as_good > most {
            return false;
        }
    }
    as_good <= most
}

/// The number of random orders in each test.
const ORDERS: usize = 1_999;
/// The seed of the random orders.
const SEED: u64 = 0x5eed;

/// The values around their mean, with outliers moved to [`OUTLIER`] spreads from the median.
fn centered(values: &[f64]) -> Vec<f64> {
    let middle = median(values.to_vec());
    let apart = values.iter().map(|value| (value - middle).abs());
    let limit = OUTLIER * median(apart.collect()) / NORMAL_MEDIAN;
    // If most values are equal, none is an outlier.
    let limit = if limit > 0.0 { limit } else { f64::INFINITY };
    let clamped = |value: &f64| value.clamp(middle - limit, middle + limit);
    let clamped: Vec<f64> = values.iter().map(clamped).collect();
    let mean = clamped.iter().sum::<f64>() / clamped.len().max(1) as f64;
    clamped.into_iter().map(|value| value - mean).collect()
}

/// The distance from the median in spreads from which a value is an outlier.
const OUTLIER: f64 = 3.0;

/// 0 without values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count => f64::midpoint(values[(count - 1) / 2], values[count / 2]),
    }
}

/// A generator of random numbers, good enough for orders.
/// Source: Steele, Lea and Flood, OOPSLA (2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Source: Durstenfeld, Communications of the ACM 7 (1964).
    fn shuffle(&mut self, values: &mut [f64]) {
        for last in (1..values.len()).rev() {
            let wide = u128::from(self.next()) * (last as u128 + 1);
            values.swap(last, (wide >> 64) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Values with a ripple of about 1 % around these levels.
    fn series(levels: &[(usize, f64)]) -> Vec<f64> {
        let ripple = |index: usize| (index * 7 % 11) as f64 * 0.003 - 0.015;
        levels
            .iter()
            .flat_map(|(count, level)| vec![*level; *count])
            .enumerate()
            .map(|(index, level)| level + ripple(index))
            .collect()
    }

    fn places(values: &[f64]) -> Vec<usize> {
        let changes = changes(values).unwrap();
        changes.iter().map(|change| change.at).collect()
    }

    #[test]
    fn changes_are_found_where_they_are() {
        // Method: no change; a single change; a change of the last three values; down and up
        // again; and three steps, each of which is small compared with the total.
        assert_eq!(places(&series(&[(60, 0.0)])), [0; 0]);
        assert_eq!(places(&series(&[(20, 0.0), (20, -0.1)])), [20]);
        assert_eq!(places(&series(&[(20, 0.0), (3, -0.1)])), [20]);
        let back = series(&[(20, 0.0), (10, -0.1), (30, 0.0)]);
        assert_eq!(places(&back), [20, 30]);
        let stairs = series(&[(15, 0.0), (15, 0.1), (15, 0.2), (15, 0.3)]);
        assert_eq!(places(&stairs), [15, 30, 45]);
    }

    #[test]
    fn a_change_is_reported_with_its_interval() {
        // Method: by hand. Five values around 0, then three around 0.2, with the squares 4e-4 and
        // 2e-4. The spread is 0.01 with 6 degrees of freedom, for which t is 2.4469.
        let values = [0.0, 0.01, -0.01, 0.01, -0.01, 0.19, 0.2, 0.21];
        let changes = changes(&values).unwrap();
        let [change] = &changes[..] else {
            panic!("{changes:?}");
        };
        assert_eq!(change.at, 5);
        assert!((change.difference.center - 0.2).abs() < 1e-12);
        let half_width = 2.4469 * 0.01 * (1.0_f64 / 5.0 + 1.0 / 3.0).sqrt();
        let error = change.difference.half_width() - half_width;
        assert!(error.abs() < 1e-6, "{change:?}");
    }

    #[test]
    fn one_or_two_outliers_are_not_a_level_and_hide_no_change() {
        // Method: one outlier, then two in a row, in a series without a change; and one in a
        // series with a change, on each side of it.
        for wild in [10..11, 10..12, 39..40, 0..1] {
            let mut values = series(&[(40, 0.0)]);
            values[wild.clone()].fill(-1.0);
            assert_eq!(places(&values), [0; 0], "{wild:?}");
        }
        for wild in [5, 33] {
            let mut values = series(&[(20, 0.0), (20, -0.05)]);
            values[wild] = 1.0;
            assert_eq!(places(&values), [20], "{wild}");
        }
    }

    #[test]
    fn equal_values_and_short_series_have_no_change() {
        // Method: no spread, a jump without spread, too few values, no value, and NaN.
        assert_eq!(places(&[0.3; 50]), [0; 0]);
        let mut jump = vec![0.0; 40];
        jump[25..].fill(0.01);
        assert_eq!(places(&jump), [25]);
        assert_eq!(places(&[0.0, 0.0, 0.0, 0.0, 9.0, 9.0, 9.0]), [0; 0]);
        assert_eq!(places(&[]), [0; 0]);
        assert!(changes(&[0.0, f64::NAN]).is_err());
    }

    proptest! {
        #[test]
        fn changes_are_in_order_and_leave_levels(values in prop::collection::vec(-1e3..1e3_f64, 0..60)) {
            // Method: any values. Each part has at least the minimum number of values, and negated
            // values change at the same places.
            let mut ends = places(&values);
            let negated: Vec<f64> = values.iter().map(|value| -value).collect();
            prop_assert_eq!(&places(&negated), &ends);
            let has_changes = !ends.is_empty();
            ends.insert(0, 0);
            ends.push(values.len());
            for pair in ends.windows(2).filter(|_| has_changes) {
                prop_assert!(pair[1] >= pair[0] + LEVEL_MIN, "{:?}", ends);
            }
        }
    }
}
