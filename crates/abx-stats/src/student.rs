//! Student's t: the half-width of an interval in standard errors.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// How often a two-sided interval contains the truth, as a share.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Confidence(f64);

impl Confidence {
    /// The confidence that is printed with an interval, and that it has in simulation.
    pub const PRINTED: Confidence = Confidence(0.95);

    /// The confidence at which an interval is computed. It is higher than the printed
    /// one, because a study that stops by its own data may look many times, and every
    /// look costs some coverage: docs/explain/statistics/stopping.md, "Stop rule".
    pub const COMPUTED: Confidence = Confidence(0.97);

    /// The confidence of an interval that ends a study early if it excludes "no difference".
    pub const CERTAIN: Confidence = Confidence(0.999);

    /// A share strictly between 0 and 1, `None` for any other number.
    #[must_use]
    pub fn new(share: f64) -> Option<Confidence> {
        (share > 0.0 && share < 1.0).then_some(Confidence(share))
    }

    /// The share: 0.95 for 95 %.
    #[must_use]
    pub const fn share(self) -> f64 {
        self.0
    }
}

/// The two-sided t quantile: a t variable with this many degrees of freedom
/// (at least 1) lies within plus and minus the quantile with this confidence.
///
/// Source: Student, Biometrika 6 (1908).
#[must_use]
pub fn t_quantile(confidence: Confidence, degrees: usize) -> f64 {
    t_quantile_between(confidence, degrees as f64)
}

/// As [`t_quantile`], for degrees of freedom (at least 1) that are not whole, such as
/// Welch's.
#[must_use]
pub fn t_quantile_between(confidence: Confidence, degrees: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees)
        .expect("at least one degree of freedom")
        .inverse_cdf(0.5 + confidence.share() / 2.0)
}

/// How often a t variable with these degrees of freedom (at least 1, whole or not) is at
/// least as far from 0 as `t`, on either side; 0 for an infinite `t`. The inverse of
/// [`t_quantile`].
#[must_use]
pub fn two_sided_p(t: f64, degrees: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, degrees).expect("at least one degree of freedom");
    2.0 * student.sf(t.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_p_value_is_the_complement_of_the_confidence() {
        // Method: to the quantile and back, on both sides, and the two extremes.
        for (share, degrees) in [(0.95, 1), (0.97, 5), (0.999, 23)] {
            let t = t_quantile(Confidence::new(share).unwrap(), degrees);
            for t in [t, -t] {
                assert!((two_sided_p(t, degrees as f64) - (1.0 - share)).abs() < 1e-9);
            }
        }
        assert_eq!(two_sided_p(0.0, 5.0), 1.0);
        assert_eq!(two_sided_p(f64::INFINITY, 5.0), 0.0);
    }

    #[test]
    fn a_confidence_is_a_share_strictly_between_0_and_1() {
        // Method: both edges, which are excluded, and values that are no share.
        assert_eq!(Confidence::new(0.5).map(Confidence::share), Some(0.5));
        for refused in [0.0, 1.0, -0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert_eq!(Confidence::new(refused), None, "{refused}");
        }
    }

    /// The probability that a t variable is within ±`t`, as a finite sum of powers of a cosine.
    /// Source: Abramowitz and Stegun (1964), 26.7.3-4.
    fn share_within(t: f64, degrees: usize) -> f64 {
        let angle = (t / (degrees as f64).sqrt()).atan();
        let (sine, cosine) = angle.sin_cos();
        let is_odd = degrees % 2 == 1;
        let mut term = if is_odd { cosine } else { 1.0 };
        let mut sum = 0.0;
        let mut power = if is_odd { 1 } else { 0 };
        while power + 2 <= degrees {
            sum += term;
            term *= cosine * cosine * (power + 1) as f64 / (power + 2) as f64;
            power += 2;
        }
        if is_odd {
            std::f64::consts::FRAC_2_PI * (angle + sine * sum)
        } else {
            sine * sum
        }
    }

    #[test]
    fn quantiles_agree_with_printed_tables() {
        // Method: values from the common tables of Student's t, and for 97 % the closed forms for
        // 1 and 2 degrees of freedom.
        let table = [
            (0.95, 1, 12.7062),
            (0.95, 2, 4.30265),
            (0.95, 5, 2.57058),
            (0.95, 9, 2.26216),
            (0.95, 30, 2.04227),
            (0.95, 60, 2.00030),
            (0.97, 1, (0.485 * std::f64::consts::PI).tan()),
            (0.97, 2, 0.97 * (2.0_f64 / (1.0 - 0.97 * 0.97)).sqrt()),
            (0.999, 1, 636.619),
            (0.999, 2, 31.5991),
            (0.999, 5, 6.86883),
            (0.999, 9, 4.78091),
            (0.999, 30, 3.64596),
            (0.999, 60, 3.46020),
        ];
        for (share, degrees, printed) in table {
            let result = t_quantile(Confidence(share), degrees);
            let error = (result / printed - 1.0).abs();
            assert!(error < 1e-4, "{share} {degrees}: {result} for {printed}");
        }
    }

    #[test]
    fn a_t_variable_is_within_its_quantile_with_the_given_probability() {
        // Method: the distribution function as a finite sum, for every number of blocks and every
        // level that a study uses.
        for degrees in 1..=60 {
            for share in [0.95, 0.97, 0.999] {
                let t = t_quantile(Confidence(share), degrees);
                let error = (share_within(t, degrees) - share).abs();
                assert!(error < 1e-9, "{share} {degrees}: off by {error}");
            }
        }
    }
}
