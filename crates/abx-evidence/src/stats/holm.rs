//! Several claims at once: how strong each one's evidence must be so that all
//! of them together are wrong no more often than a single one may be.

/// What the claims beside it leave for one claim.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adjusted {
    /// Its p-value, adjusted: the claim stands when it is below the error of all.
    pub p_value: f64,
    /// The error at which its own p-value is decided: part of the error of all.
    pub error: f64,
}

/// Adjusts the p-values of claims that are made together and may all together be
/// wrong at `error`, each at the place where its own was.
///
/// Method: sorted upwards, the i-th of m (from 0) is held to the error over m − i,
/// and all behind the first that fails to the same as that one: so its own interval
/// at one minus this error excludes 0 where, and only where, its claim stands. Whatever
/// dependence there is between them, all are right together as often as one would be. With
/// one claim nothing changes. A number that is not finite counts as 1: no evidence.
///
/// Source: Holm, Scandinavian Journal of Statistics 6 (1979).
#[must_use]
pub fn holm(p_values: &[f64], error: f64) -> Vec<Adjusted> {
    let usable = |p: f64| {
        if p.is_finite() {
            p.clamp(0.0, 1.0)
        } else {
            1.0
        }
    };
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|one, other| usable(p_values[*one]).total_cmp(&usable(p_values[*other])));
    let none = Adjusted {
        p_value: 1.0,
        error,
    };
    let mut adjusted = vec![none; p_values.len()];
    let mut before = Adjusted {
        p_value: 0.0,
        error,
    };
    for (rank, place) in order.into_iter().enumerate() {
        let remaining = (p_values.len() - rank) as f64;
        let has_failed = before.p_value >= error;
        before = Adjusted {
            p_value: (remaining * usable(p_values[place])).clamp(before.p_value, 1.0),
            error: if has_failed {
                before.error
            } else {
                error / remaining
            },
        };
        adjusted[place] = before;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn p_adjusted(p_values: &[f64]) -> Vec<f64> {
        let adjusted = holm(p_values, 0.03).into_iter();
        adjusted.map(|one| one.p_value).collect()
    }

    #[test]
    fn the_smallest_is_multiplied_most() {
        // Method: four values by hand: 4 · 0.005, 3 · 0.01, then 2 · 0.03, and
        // 1 · 0.04, which may not be smaller than the one before.
        let found = p_adjusted(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in found.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn all_behind_the_first_that_fails_are_held_to_its_error() {
        // Method: by hand at 4 %: 1 % and 1.3 % for the two that stand, 2 % for the
        // third, which fails, and 2 % for the last, which would stand at 4 %.
        let found = holm(&[0.03, 0.001, 0.029, 0.002], 0.04);
        for (found, expected) in found.iter().zip([0.02, 0.01, 0.02, 0.04 / 3.0]) {
            assert!((found.error - expected).abs() < 1e-12, "{found:?}");
        }
    }

    #[test]
    fn what_is_no_number_is_no_evidence() {
        // Method: NaN beside a small value, and none at all.
        assert_eq!(p_adjusted(&[f64::NAN, 0.01]), [1.0, 0.02]);
        assert!(holm(&[], 0.03).is_empty());
        assert_eq!(p_adjusted(&[0.02]), [0.02]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn adjusting_lies_between_nothing_and_bonferroni(
            p_values in prop::collection::vec(0.0_f64..=1.0, 1..12)
        ) {
            // Method: never below the value itself, never above m times it, and
            // never in another order.
            let adjusted = p_adjusted(&p_values);
            for (p, q) in p_values.iter().zip(&adjusted) {
                prop_assert!(q >= p && *q <= (p * p_values.len() as f64).min(1.0) + 1e-12);
            }
            for (one, p) in p_values.iter().enumerate() {
                for (other, q) in p_values.iter().enumerate() {
                    prop_assert!(p > q || adjusted[one] <= adjusted[other]);
                }
            }
        }

        #[test]
        fn a_claim_stands_where_its_own_value_is_below_its_own_error(
            p_values in prop::collection::vec(0.0_f64..=0.2, 1..12)
        ) {
            // Method: both ways to decide, for small values, of which some stand.
            for (p, one) in p_values.iter().zip(holm(&p_values, 0.1)) {
                prop_assert_eq!(one.p_value < 0.1, *p < one.error);
            }
        }
    }
}
