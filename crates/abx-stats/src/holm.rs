//! Several claims at once: the evidence that each needs, so that any of them is wrong
//! no more often than a single claim may be.

/// The adjusted evidence of one claim among several.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adjusted {
    /// Its adjusted p-value: the claim stands if this is below the error of all.
    pub p_value: f64,
    /// The error at which its unadjusted p-value is decided: a part of the error of all.
    pub error: f64,
}

/// The error that claims may have together, and the part that they hand on to others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorBudget {
    /// How often any of them may be wrong.
    pub error: f64,
    /// The share of the error that claims which stand hand on to claims behind the gate.
    pub handed_on: f64,
}

impl ErrorBudget {
    /// A budget that hands nothing on.
    #[must_use]
    pub fn whole(error: f64) -> ErrorBudget {
        ErrorBudget {
            error,
            handed_on: 0.0,
        }
    }

    /// The share of the error for the claim at this rank of so many.
    fn share(self, rank: usize, claims: usize) -> f64 {
        self.handed_on / claims as f64 + (1.0 - self.handed_on) / (claims - rank) as f64
    }

    /// The error for the claims behind these, of which so many stand: the same part of the share
    /// that is handed on, or the whole error if all stand.
    ///
    /// Source: Dmitrienko, Tamhane and Wiens, "General multistage gatekeeping procedures",
    /// Biometrical Journal 50 (2008).
    #[must_use]
    pub fn behind(self, standing: usize, claims: usize) -> f64 {
        if standing >= claims {
            self.error
        } else {
            self.error * self.handed_on * standing as f64 / claims as f64
        }
    }
}

/// Adjusts the p-values of claims that are made together, in the order of the p-values. A claim
/// stands if its adjusted value is below the error of all.
///
/// Method: in ascending order, the i-th of m (from 0) is decided at the error over m − i. A share
/// that is handed on is divided by m instead. All claims after the first that fails are decided at
/// the error of that one. So the interval of a claim at one minus its error excludes 0 if, and only
/// if, the claim stands. For any dependence between the claims, any of them is wrong no more often
/// than a single claim. A single claim is unchanged. A p-value that is not finite counts as 1, no
/// evidence.
///
/// Source: Holm, Scandinavian Journal of Statistics 6 (1979).
#[must_use]
pub fn holm(p_values: &[f64], budget: ErrorBudget) -> Vec<Adjusted> {
    let error = budget.error;
    let usable = |p: f64| {
        if p.is_finite() {
            p.clamp(0.0, 1.0)
        } else {
            1.0
        }
    };
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|index, other| usable(p_values[*index]).total_cmp(&usable(p_values[*other])));
    let none = Adjusted {
        p_value: 1.0,
        error,
    };
    let mut adjusted = vec![none; p_values.len()];
    let mut before = Adjusted {
        p_value: 0.0,
        error,
    };
    for (rank, index) in order.into_iter().enumerate() {
        let share = budget.share(rank, p_values.len());
        let has_failed = before.p_value >= error;
        before = Adjusted {
            p_value: (usable(p_values[index]) / share).clamp(before.p_value, 1.0),
            error: if has_failed {
                before.error
            } else {
                error * share
            },
        };
        adjusted[index] = before;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn p_adjusted(p_values: &[f64]) -> Vec<f64> {
        let adjusted = holm(p_values, ErrorBudget::whole(0.03)).into_iter();
        adjusted.map(|adjusted| adjusted.p_value).collect()
    }

    #[test]
    fn the_smallest_p_value_is_multiplied_most() {
        // Method: four values by hand: 4 · 0.005, 3 · 0.01, 2 · 0.03, and then
        // 1 · 0.04, which may not be smaller than its predecessor.
        let values = p_adjusted(&[0.01, 0.04, 0.03, 0.005]);
        for (result, expected) in values.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((result - expected).abs() < 1e-12, "{result} {expected}");
        }
    }

    #[test]
    fn claims_behind_the_first_failure_have_its_error() {
        // Method: by hand at 4 %: 1 % and 1.3 % for the two significant claims, 2 % for the
        // third, which fails, and 2 % for the last, which would be significant at 4 %.
        let claims = holm(&[0.03, 0.001, 0.029, 0.002], ErrorBudget::whole(0.04));
        for (adjusted, expected) in claims.iter().zip([0.02, 0.01, 0.02, 0.04 / 3.0]) {
            assert!((adjusted.error - expected).abs() < 1e-12, "{adjusted:?}");
        }
    }

    #[test]
    fn handed_on_error_is_available_only_to_later_claims() {
        // Method: three claims at 6 %, half of it handed on, by hand: 2 %, 1 % + 1.5 %, and
        // 1 % + 3 %. Behind two significant claims, 2 % remain; behind all, 6 %.
        let budget = ErrorBudget {
            error: 0.06,
            handed_on: 0.5,
        };
        let claims = holm(&[0.001, 0.002, 0.05], budget);
        for (adjusted, expected) in claims.iter().zip([0.02, 0.025, 0.04]) {
            assert!((adjusted.error - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert!((claims[2].p_value - 0.05 * 0.06 / 0.04).abs() < 1e-12);
        let behind = |standing| budget.behind(standing, 3);
        assert!((behind(2) - 0.02).abs() < 1e-12);
        assert_eq!((behind(0), behind(3)), (0.0, 0.06));
        assert_eq!(holm(&[0.01], budget)[0].error, 0.06);
    }

    #[test]
    fn nan_is_no_evidence() {
        // Method: NaN beside a small value, no value, and a single value.
        assert_eq!(p_adjusted(&[f64::NAN, 0.01]), [1.0, 0.02]);
        assert!(p_adjusted(&[]).is_empty());
        assert_eq!(p_adjusted(&[0.02]), [0.02]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn adjusted_values_lie_between_the_value_and_bonferroni(
            p_values in prop::collection::vec(0.0_f64..=1.0, 1..12)
        ) {
            // Method: never below the value itself, never above m times the value, and never
            // in another order.
            let adjusted = p_adjusted(&p_values);
            for (p, q) in p_values.iter().zip(&adjusted) {
                prop_assert!(q >= p && *q <= (p * p_values.len() as f64).min(1.0) + 1e-12);
            }
            for (number, p) in p_values.iter().enumerate() {
                for (other, q) in p_values.iter().enumerate() {
                    prop_assert!(p > q || adjusted[number] <= adjusted[other]);
                }
            }
        }

        #[test]
        fn a_claim_is_significant_if_its_value_is_below_its_error(
            p_values in prop::collection::vec(0.0_f64..=0.2, 1..12)
        ) {
            // Method: decide both ways, for small values of which some are significant.
            for (p, adjusted) in p_values.iter().zip(holm(&p_values, ErrorBudget::whole(0.1))) {
                prop_assert_eq!(adjusted.p_value < 0.1, *p < adjusted.error);
            }
        }
    }
}
