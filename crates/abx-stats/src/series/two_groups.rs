//! Whether values fall into two groups: the largest gap between neighbours, compared with the
//! spread inside the groups at its sides.

use crate::moments::Moments;

/// The fewest values that can show groups.
pub const VALUES_MIN: usize = 6;

/// The fewest values of a group: a single value is an outlier.
pub const GROUP_MIN: usize = 2;

/// Values in two groups with a gap between them. Each group has the indexes of its values in
/// the list, in ascending order of values.
#[derive(Debug, Clone, PartialEq)]
pub struct TwoGroups {
    pub low: Vec<usize>,
    pub high: Vec<usize>,
    /// The mean of the lower group, and that of the higher one.
    pub levels: [f64; 2],
}

impl TwoGroups {
    /// Cuts n values at the largest gap that leaves [`GROUP_MIN`] values at each side, and finds
    /// two groups if that gap is wider than 6 + 40 ÷ (n − 2)² times the pooled standard
    /// deviation inside the groups. `None` for one group, for fewer than [`VALUES_MIN`] values,
    /// and for values that are not finite.
    ///
    /// A single group of 6 to 40 values that are normal, or Student's t with 4 degrees of freedom,
    /// with or without an outlier, is cut in less than 1 % of the cases. Two groups of 12 to 40
    /// normal values that are 12 standard deviations apart are found in 9 of 10 cases, even if the
    /// smaller one has only 2 of 24. So are groups of 6 or 7 values that are 15 apart.
    ///
    /// Source: docs/explain/statistics/blocks.md, "Starts that differ".
    #[must_use]
    pub fn of(values: &[f64]) -> Option<TwoGroups> {
        let count = values.len();
        if count < VALUES_MIN || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|index, other| values[*index].total_cmp(&values[*other]));
        let gap = |cut: usize| values[order[cut]] - values[order[cut - 1]];
        let cuts = GROUP_MIN..=count - GROUP_MIN;
        let cut = cuts.max_by(|cut, other| gap(*cut).total_cmp(&gap(*other)))?;
        let groups = [&order[..cut], &order[cut..]];
        let moments = groups.map(|group| {
            let values: Vec<f64> = group.iter().map(|index| values[*index]).collect();
            Moments::of(&values)
        });
        let [low, high] = moments;
        let spread = ((low.squares + high.squares) / (count - 2) as f64).sqrt();
        let is_gap = gap(cut) > 0.0 && gap(cut) > gap_by_chance(count) * spread;
        is_gap.then(|| TwoGroups {
            low: groups[0].to_vec(),
            high: groups[1].to_vec(),
            levels: [low.mean, high.mean],
        })
    }
}

/// The widest gap inside one group of so many values, in standard deviations.
fn gap_by_chance(count: usize) -> f64 {
    6.0 + 40.0 / (count as f64 - 2.0).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_a_wide_gap_are_two_groups() {
        // Method: by hand. Two low values 0.02 apart and four high values from 0 to 0.03. The
        // pooled deviation is √((0.0002 + 0.0005) ÷ 4) = 0.0132, and the gap must be more than
        // 8.5 deviations, which is 0.1125: a gap of 0.113, then of 0.111.
        let values = |gap: f64| [0.0, -gap - 0.02, 0.02, -gap, 0.03, 0.01];
        let groups = TwoGroups::of(&values(0.113)).expect("two groups");
        assert_eq!(
            (&groups.low[..], &groups.high[..]),
            (&[1, 3][..], &[0, 5, 2, 4][..])
        );
        let [low, high] = groups.levels;
        assert!(
            (low + 0.123).abs() < 1e-12 && (high - 0.015).abs() < 1e-12,
            "{groups:?}"
        );
        assert_eq!(TwoGroups::of(&values(0.111)), None);
        let mirrored = values(0.113).map(|value| -value);
        assert_eq!(
            TwoGroups::of(&mirrored).expect("two groups").low,
            [4, 2, 5, 0]
        );
    }

    #[test]
    fn one_outlier_is_no_group() {
        // Method: one value far below seven others, then two.
        let with_low = |lows: usize| -> Vec<f64> {
            let value = |place| {
                if place < lows {
                    -10.0
                } else {
                    0.01 * place as f64
                }
            };
            (0..8).map(value).collect()
        };
        assert_eq!(TwoGroups::of(&with_low(1)), None);
        assert_eq!(
            TwoGroups::of(&with_low(2)).expect("two groups").low.len(),
            2
        );
    }

    #[test]
    fn values_without_a_spread_are_two_groups_only_if_they_differ() {
        // Method: equal values, two exact levels, too few values, and NaN.
        assert_eq!(TwoGroups::of(&[1.0; 8]), None);
        let levels = [1.0, 2.0, 1.0, 2.0, 1.0, 2.0];
        assert_eq!(
            TwoGroups::of(&levels).expect("two levels").levels,
            [1.0, 2.0]
        );
        assert_eq!(TwoGroups::of(&levels[..5]), None);
        let broken = levels.map(|level| if level > 1.0 { f64::NAN } else { level });
        assert_eq!(TwoGroups::of(&broken), None);
    }
}
