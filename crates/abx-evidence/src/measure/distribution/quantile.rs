//! Quantiles of times, some of which are only known as "at least".

use crate::measure::distribution::histogram::Histogram;

/// A quantile of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantile {
    pub us: u64,
    /// Whether the true quantile may be longer. It is never shorter.
    pub at_least: bool,
}

impl Quantile {
    /// The lower end of the quantile `q` (0 to 1) of `times`, of which those in `at_least` are
    /// lower bounds. `None` without times.
    #[must_use]
    pub fn of(times: &Histogram, at_least: Option<&Histogram>, q: f64) -> Option<Quantile> {
        let bracket = QuantileBracket::of(times, at_least, q)?;
        Some(Quantile {
            us: bracket.low_us,
            at_least: bracket.high_us != Some(bracket.low_us),
        })
    }
}

/// The range of a quantile if some times are only known as "at least".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuantileBracket {
    /// The shortest possible quantile, in µs.
    pub low_us: u64,
    /// The longest possible quantile, in µs; `None` if nothing bounds it.
    pub high_us: Option<u64>,
}

impl QuantileBracket {
    /// The quantile `q` (0 to 1) of `times`, of which those in `at_least` are lower bounds of
    /// unknown times. `None` without times.
    ///
    /// Method: the r-th shortest of n times, r = ⌈q·n⌉ and at least 1. With each bound as the time
    /// itself, it is the lower end, because no true time is shorter. With each bound at infinity,
    /// it is the upper end: the r-th shortest of the known times, if there are r. Whatever the
    /// unknown times are, the quantile lies between the two.
    /// Source: the identification bounds of Manski (2003), chapter 1, for a time that is
    /// censored on the right; docs/reference/record-format.md, "Times at least".
    pub fn of(times: &Histogram, at_least: Option<&Histogram>, q: f64) -> Option<QuantileBracket> {
        let rank = ((q * times.count() as f64).ceil() as u64).clamp(1, times.count().max(1));
        let (mut below, mut known) = (0, 0);
        let mut low_us = None;
        for (us, count) in times.steps() {
            below += count;
            let bounds = at_least.map_or(0, |bounds| bounds.count_at_us(us));
            known += count.saturating_sub(bounds);
            if below >= rank {
                low_us = low_us.or(Some(us));
            }
            if known >= rank {
                let high_us = Some(us);
                return Some(QuantileBracket {
                    low_us: low_us?,
                    high_us,
                });
            }
        }
        Some(QuantileBracket {
            low_us: low_us?,
            high_us: None,
        })
    }
}

/// The median; of an even number, the mean of the middle two.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let (low, high) = (values[last / 2], values[last.div_ceil(2)]);
    Some(f64::midpoint(low, high))
}

/// The median of counts, rounded to the nearest one.
pub fn median_count(values: impl IntoIterator<Item = u64>) -> Option<u64> {
    let middle = median(values.into_iter().map(|value| value as f64))?;
    Some(middle.round() as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Times of up to 2,047 µs, which the histogram distinguishes exactly.
    fn times() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(1_u64..2_048, 0..12)
    }

    fn histogram<'a>(times: impl IntoIterator<Item = &'a u64>) -> Histogram {
        let mut histogram = Histogram::new();
        times
            .into_iter()
            .for_each(|us| histogram.record_ns(us * 1_000));
        histogram
    }

    fn quantile(known: &[u64], bounds: &[u64], q: f64) -> Option<Quantile> {
        Quantile::of(
            &histogram(known.iter().chain(bounds)),
            Some(&histogram(bounds)),
            q,
        )
    }

    /// The quantile by sorting all times.
    fn sorted(known: &[u64], others: impl Iterator<Item = u64>, q: f64) -> u64 {
        let mut numbers: Vec<u64> = known.iter().copied().chain(others).collect();
        numbers.sort_unstable();
        let rank = (q * numbers.len() as f64).ceil() as usize;
        numbers[rank.clamp(1, numbers.len()) - 1]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn quantiles_are_the_bounds_of_possible_truths(
            known in times(),
            bounds in times(),
            more in prop::collection::vec(0_u64..3_000, 12),
            q in 0.0_f64..=1.0,
        ) {
            // Method: sorted lists with the bounds as they are, at infinity, and at random true
            // times above them, whose quantile must lie between.
            prop_assume!(!(known.is_empty() && bounds.is_empty()));
            let result = quantile(&known, &bounds, q).unwrap();
            let low = sorted(&known, bounds.iter().copied(), q);
            let high = sorted(&known, bounds.iter().map(|_| u64::MAX), q);
            let truth = sorted(&known, bounds.iter().zip(&more).map(|(number, more)| number + more), q);
            prop_assert_eq!(result, Quantile { us: low, at_least: low != high });
            let times = histogram(known.iter().chain(&bounds));
            let bracket = QuantileBracket::of(&times, Some(&histogram(&bounds)), q).unwrap();
            prop_assert_eq!(bracket.low_us, low);
            prop_assert_eq!(bracket.high_us.unwrap_or(u64::MAX), high);
            prop_assert!(low <= truth && truth <= high);
            prop_assert!(result.at_least || truth == low);
        }

        #[test]
        fn without_bounds_they_are_plain_quantiles(known in times(), q in 0.0_f64..=1.0) {
            // Method: compared with the histogram's own quantile.
            let plain = histogram(&known).quantile_us(q);
            let quantile = Quantile::of(&histogram(&known), None, q);
            prop_assert_eq!(quantile.map(|quantile| quantile.us), plain);
            prop_assert!(!quantile.is_some_and(|quantile| quantile.at_least));
        }
    }

    #[test]
    fn a_quantile_below_every_bound_is_exact_and_the_longest_time_never_is() {
        // Method: 98 responses of 1 to 98 µs, and two requests given up after 50.
        let known: Vec<u64> = (1..=98).collect();
        let exact = |us| {
            Some(Quantile {
                us,
                at_least: false,
            })
        };
        let bound = |us| Some(Quantile { us, at_least: true });
        assert_eq!(quantile(&known, &[50, 50], 0.40), exact(40));
        assert_eq!(quantile(&known, &[50, 50], 0.50), exact(50));
        // The 51st shortest is one of the two, or the 51 µs after them.
        assert_eq!(quantile(&known, &[50, 50], 0.51), bound(50));
        assert_eq!(quantile(&known, &[50, 50], 1.0), bound(98));
    }

    #[test]
    fn a_bound_that_is_shorter_than_a_tie_of_responses_does_not_matter() {
        // Method: a request given up after 1 µs: the second shortest time is 5 µs in any case, the
        // shortest is not known.
        let known = [5, 5, 10];
        let shown = |q| quantile(&known, &[1], q).unwrap();
        assert_eq!((shown(0.5).us, shown(0.5).at_least), (5, false));
        assert_eq!((shown(0.25).us, shown(0.25).at_least), (1, true));
    }

    #[test]
    fn nothing_counted_has_no_quantile() {
        // Method: no times, and bounds alone.
        assert_eq!(quantile(&[], &[], 0.5), None);
        let alone = quantile(&[], &[7], 0.5).unwrap();
        assert_eq!((alone.us, alone.at_least), (7, true));
    }

    #[test]
    fn the_median_is_in_the_middle() {
        // Method: none, one, odd and even numbers of values.
        assert_eq!(median([]), None);
        assert_eq!(median([7.0]), Some(7.0));
        assert_eq!(median([9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(median([9.0, 1.0, 5.0, 3.0]), Some(4.0));
        assert_eq!(median_count([9, 1, 6, 3]), Some(5));
    }
}
