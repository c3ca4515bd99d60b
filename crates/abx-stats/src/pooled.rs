//! The common spread of comparisons with one baseline: few blocks estimate their own spread badly,
//! but many comparisons of few blocks estimate it well.

use statrs::function::gamma::digamma;

use crate::moments::Moments;

/// The evidence of other comparisons about the spread of one, as additional degrees of freedom
/// with this variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpreadPrior {
    /// The square of the spread of a typical comparison.
    pub variance: f64,
    /// The degrees of freedom that it counts as: the more alike the spreads, the more.
    pub degrees: f64,
}

impl SpreadPrior {
    /// From the log ratios of comparisons that share their blocks and their baseline.
    /// `None` for fewer than two comparisons, for different numbers of blocks, if one
    /// comparison has no spread, or if all differ so much that they are no evidence of each other.
    ///
    /// Method: the variances count as draws from a scaled inverse χ², whose two parameters
    /// follow from the mean and variance of their logarithms. The comparisons share the noise of
    /// the baseline, so together they have fewer degrees of freedom than the sum:
    /// with their covariances C, the mean has (Σ C_ii)² ÷ Σ C_ij² times those of one
    /// (Satterthwaite 1946), and the prior plus a comparison's own degrees get no more.
    /// Source: Smyth, Statistical Applications in Genetics and Molecular Biology 3 (2004).
    #[must_use]
    pub fn of(comparisons: &[&[f64]]) -> Option<SpreadPrior> {
        let blocks = comparisons.first()?.len();
        let is_unequal = |log_ratios: &&[f64]| log_ratios.len() != blocks;
        if comparisons.len() < 2 || blocks < 2 || comparisons.iter().any(is_unequal) {
            return None;
        }
        let own_degrees = (blocks - 1) as f64;
        let deviations: Vec<Vec<f64>> = comparisons
            .iter()
            .map(|log_ratios| deviations(log_ratios))
            .collect();
        let covariance = |first: &[f64], second: &[f64]| {
            let products = first.iter().zip(second).map(|(a, b)| a * b);
            products.sum::<f64>() / own_degrees
        };
        let variances: Vec<f64> = deviations
            .iter()
            .map(|comparison| covariance(comparison, comparison))
            .collect();
        if !variances.iter().all(|variance| variance.is_normal()) {
            return None;
        }
        let logs: Vec<f64> = variances
            .iter()
            .map(|variance| variance.ln() - log_bias(own_degrees))
            .collect();
        let moments = Moments::of(&logs);
        // The variance of the logarithms beyond that of equal spreads over so few blocks.
        let variance = moments.squares / (comparisons.len() - 1) as f64;
        let excess = variance - trigamma(own_degrees / 2.0);
        let prior_degrees = if excess > 0.0 {
            2.0 * trigamma_inverse(excess)
        } else {
            f64::INFINITY
        };
        let squares: f64 = deviations
            .iter()
            .flat_map(|first| {
                deviations
                    .iter()
                    .map(move |second| covariance(first, second))
            })
            .map(|covariance| covariance * covariance)
            .sum();
        let joint_degrees = own_degrees * variances.iter().sum::<f64>().powi(2) / squares;
        let degrees = prior_degrees.min(joint_degrees - own_degrees);
        let bias = if prior_degrees.is_finite() {
            log_bias(prior_degrees)
        } else {
            0.0
        };
        (degrees > 0.0).then(|| SpreadPrior {
            variance: (moments.mean + bias).exp(),
            degrees,
        })
    }
}

/// The deviation of each block from their mean.
fn deviations(log_ratios: &[f64]) -> Vec<f64> {
    let mean = Moments::of(log_ratios).mean;
    log_ratios.iter().map(|ratio| ratio - mean).collect()
}

/// The mean of ln(χ² ÷ degrees).
fn log_bias(degrees: f64) -> f64 {
    digamma(degrees / 2.0) - (degrees / 2.0).ln()
}

/// The second derivative of ln Γ above 0, by recurrence until the series is exact.
/// Source: Abramowitz and Stegun (1964), 6.4.6 and 6.4.12.
fn trigamma(mut at: f64) -> f64 {
    let mut sum = 0.0;
    while at < 10.0 {
        sum += at.powi(-2);
        at += 1.0;
    }
    sum + 1.0 / at + at.powi(-2) / 2.0 + at.powi(-3) / 6.0 - at.powi(-5) / 30.0 + at.powi(-7) / 42.0
}

/// The argument at which `trigamma` is `value`, by bisection on a log scale, because the function
/// decreases everywhere.
fn trigamma_inverse(value: f64) -> f64 {
    let (mut low, mut high) = (1e-6_f64, 1e9_f64);
    for _ in 0..100 {
        let middle = (low * high).sqrt();
        if trigamma(middle) > value {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low * high).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trigamma_function_agrees_with_printed_tables() {
        // Method: π²/6 at 1, π²/2 at a half; and the inverse over seven decades.
        let pi2 = std::f64::consts::PI.powi(2);
        assert!((trigamma(1.0) - pi2 / 6.0).abs() < 1e-10);
        assert!((trigamma(0.5) - pi2 / 2.0).abs() < 1e-10);
        for at in [1e-3, 0.1, 2.5, 40.0, 1e4] {
            assert!(
                (trigamma_inverse(trigamma(at)) / at - 1.0).abs() < 1e-6,
                "{at}"
            );
        }
    }

    #[test]
    fn independent_equal_spreads_add_up() {
        // Method: four comparisons with orthogonal blocks and equal spreads. Each has 7 degrees
        // of freedom, so the others add 21 with the variance that they share.
        let rows = [0b0101_0101_u8, 0b0011_0011, 0b0000_1111, 0b0110_0110];
        let values = rows.map(|row| -> Vec<f64> {
            (0..8)
                .map(|bit| if row >> bit & 1 == 1 { 0.07 } else { -0.07 })
                .collect()
        });
        let prior = SpreadPrior::of(&values.each_ref().map(Vec::as_slice)).unwrap();
        assert!((prior.degrees - 21.0).abs() < 1e-9, "{prior:?}");
        let own_variance = 0.07_f64.powi(2) * 8.0 / 7.0;
        let unbiased = own_variance / log_bias(7.0).exp();
        assert!((prior.variance / unbiased - 1.0).abs() < 1e-9, "{prior:?}");
    }

    #[test]
    fn comparisons_that_share_all_noise_are_no_evidence() {
        // Method: the same blocks four times; then a single comparison, a comparison without a
        // spread beside another, and different numbers of blocks.
        let values = [0.01, -0.03, 0.02, 0.05, 0.0, -0.01];
        let prior = SpreadPrior::of(&[&values[..]; 4]);
        assert!(prior.is_none_or(|prior| prior.degrees < 1e-9), "{prior:?}");
        assert_eq!(SpreadPrior::of(&[&values]), None);
        assert_eq!(SpreadPrior::of(&[&values, &[0.0; 6]]), None);
        assert_eq!(SpreadPrior::of(&[&values, &values[..5]]), None);
    }

    #[test]
    fn too_few_blocks_and_blocks_without_a_spread_are_no_evidence() {
        // Method: two comparisons of one block and of none, and no comparison; then a comparison
        // without a spread beside two that have a spread.
        for blocks in [&[0.1][..], &[]] {
            assert_eq!(SpreadPrior::of(&[blocks, blocks]), None);
        }
        assert_eq!(SpreadPrior::of(&[]), None);
        let [values, other] = [[0.01, -0.01, 0.01, -0.01], [0.01, 0.01, -0.01, -0.01]];
        assert!(SpreadPrior::of(&[&values, &other]).is_some());
        assert_eq!(SpreadPrior::of(&[&values, &other, &[0.0; 4]]), None);
    }

    #[test]
    fn a_prior_needs_additional_degrees_of_freedom() {
        // Method: two comparisons of two blocks each, which share their single degree of
        // freedom: by hand, (2 + 2)² ÷ (4 · 2²) times one, less the comparison's own degree.
        let blocks = [1.0, -1.0];
        assert_eq!(SpreadPrior::of(&[&blocks, &blocks]), None);
    }

    #[test]
    fn the_degrees_of_a_prior_follow_from_the_variance_of_spreads() {
        // Method: four comparisons with orthogonal blocks, two of which have log variances
        // larger by e. The four log variances have the variance e²/3 around their mean. Equal
        // spreads with seven degrees of freedom have trigamma(7/2) = π²/2 − 4 · (1 + 1/9 + 1/25)
        // by chance. With e² = 3 · (that + π²/6 − 1), the remainder is trigamma(2), so the prior
        // has four degrees. Its variance follows from the mean of the log variances and from
        // ψ(7/2) = 1.1031566 and ψ(2) = 0.4227843 in printed tables.
        let pi2 = std::f64::consts::PI.powi(2);
        let by_chance = pi2 / 2.0 - 4.0 * (1.0 + 1.0 / 9.0 + 1.0 / 25.0);
        let apart = (3.0 * (by_chance + pi2 / 6.0 - 1.0)).sqrt();
        let row = |bits: u8, side: f64| -> Vec<f64> {
            (0..8)
                .map(|bit| if bits >> bit & 1 == 1 { side } else { -side })
                .collect()
        };
        let wide = 0.01 * (apart / 2.0).exp();
        let values = [
            row(0x55, 0.01),
            row(0x33, wide),
            row(0x0f, 0.01),
            row(0x66, wide),
        ];
        let prior = SpreadPrior::of(&values.each_ref().map(Vec::as_slice)).unwrap();
        assert!((prior.degrees - 4.0).abs() < 1e-6, "{prior:?}");
        let mean = (0.01_f64.powi(2) * 8.0 / 7.0).ln() + apart / 2.0;
        let of_seven = 1.103_156_6 - 3.5_f64.ln();
        let of_four = 0.422_784_3 - 2.0_f64.ln();
        let by_hand = (mean - of_seven + of_four).exp();
        assert!((prior.variance / by_hand - 1.0).abs() < 1e-6, "{prior:?}");
    }

    #[test]
    fn differing_spreads_are_weaker_evidence() {
        // Method: orthogonal blocks, with ten times the spread in one of four comparisons.
        let row = |bits: u8, apart: f64| -> Vec<f64> {
            (0..8)
                .map(|bit| if bits >> bit & 1 == 1 { apart } else { -apart })
                .collect()
        };
        let values = [
            row(0x55, 0.01),
            row(0x33, 0.01),
            row(0x0f, 0.01),
            row(0x66, 0.1),
        ];
        let prior = SpreadPrior::of(&values.each_ref().map(Vec::as_slice)).unwrap();
        assert!(prior.degrees < 2.0, "{prior:?}");
    }
}
