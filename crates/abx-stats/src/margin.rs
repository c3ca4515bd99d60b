//! The smallest difference that matters to the user.

use crate::StatsError;

/// A relative difference below which two subjects count as equivalent:
/// 0.03 means 3 %. Always finite, above 0 and at most 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Margin(f64);

impl Margin {
    /// The margin unless the user sets another: 3 %.
    pub const DEFAULT: Margin = Margin(0.03);

    /// Takes a share, so 0.03 for 3 %.
    ///
    /// # Errors
    /// [`StatsError::Margin`] when the share is not finite, not above 0, or above 1.
    pub fn new(share: f64) -> Result<Margin, StatsError> {
        if share > 0.0 && share <= 1.0 {
            Ok(Margin(share))
        } else {
            Err(StatsError::Margin(share))
        }
    }

    /// The share as given: 0.03 for 3 %.
    #[must_use]
    pub fn share(self) -> f64 {
        self.0
    }

    /// The margin as a log ratio, `ln(1 + margin)`. It is the same distance up
    /// and down, so that a verdict does not depend on which subject is the baseline.
    #[must_use]
    pub fn log(self) -> f64 {
        self.0.ln_1p()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_is_a_share_above_zero_and_at_most_one() {
        // Method: both edges, and values that are no share.
        assert!((Margin::new(0.03).unwrap().log() - 1.03_f64.ln()).abs() < 1e-15);
        assert!(Margin::new(1.0).is_ok());
        for refused in [0.0, -0.03, 1.01, 3.0, f64::NAN, f64::INFINITY] {
            assert!(Margin::new(refused).is_err(), "{refused}");
        }
    }
}
