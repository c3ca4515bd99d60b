//! Several claims at once: how strong each one's evidence must be so that all
//! of them together are wrong no more often than a single one may be.

/// Adjusts the p-values of claims that are made together, each at the place
/// where its own was.
///
/// Method: sorted upwards, the i-th of m (from 0) is multiplied by m − i, never
/// gets smaller than the one before it, and is at most 1. A claim stands when
/// its adjusted value is below the level that all together may be wrong at,
/// whatever dependence there is between them. With one claim nothing changes.
/// A number that is not finite counts as 1: no evidence.
///
/// Source: Holm, Scandinavian Journal of Statistics 6 (1979).
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let usable = |p: f64| {
        if p.is_finite() {
            p.clamp(0.0, 1.0)
        } else {
            1.0
        }
    };
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|one, other| usable(p_values[*one]).total_cmp(&usable(p_values[*other])));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least = 0.0_f64;
    for (rank, place) in order.into_iter().enumerate() {
        let remaining = (p_values.len() - rank) as f64;
        least = least.max((remaining * usable(p_values[place])).min(1.0));
        adjusted[place] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_smallest_is_multiplied_most() {
        // Method: four values by hand: 4 · 0.005, 3 · 0.01, then 2 · 0.03, and
        // 1 · 0.04, which may not be smaller than the one before.
        let found = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in found.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn what_is_no_number_is_no_evidence() {
        // Method: NaN beside a small value, and none at all.
        assert_eq!(holm(&[f64::NAN, 0.01]), [1.0, 0.02]);
        assert!(holm(&[]).is_empty());
        assert_eq!(holm(&[0.02]), [0.02]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn adjusting_lies_between_nothing_and_bonferroni(
            p_values in prop::collection::vec(0.0_f64..=1.0, 1..12)
        ) {
            // Method: never below the value itself, never above m times it, and
            // never in another order.
            let adjusted = holm(&p_values);
            for (p, q) in p_values.iter().zip(&adjusted) {
                prop_assert!(q >= p && *q <= (p * p_values.len() as f64).min(1.0) + 1e-12);
            }
            for (one, p) in p_values.iter().enumerate() {
                for (other, q) in p_values.iter().enumerate() {
                    prop_assert!(p > q || adjusted[one] <= adjusted[other]);
                }
            }
        }
    }
}
