//! Two groups of blocks that nothing pairs, such as slow starts of a subject and fast ones:
//! Welch's interval on the difference of their means.
//!
//! Source: B. L. Welch, Biometrika 34 (1947).

use crate::StatsError;
use crate::paired::{LogInterval, PairedMean};
use crate::student::{Confidence, t_quantile_between};

/// The difference of the means of two groups, with its error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Welch {
    difference: f64,
    error: f64,
    degrees: f64,
}

impl Welch {
    /// Summarises two groups of values, one value per block: the first minus the second. The
    /// order of blocks has no influence.
    ///
    /// # Errors
    /// - [`StatsError::NoLogRatio`] for a number that is not finite.
    /// - [`StatsError::TooFewBlocks`] below 2 blocks in a group.
    pub fn of([first, second]: [&[f64]; 2]) -> Result<Welch, StatsError> {
        let sides = [PairedMean::of(first)?, PairedMean::of(second)?];
        // The variance of each mean, and its degrees of freedom.
        let parts = sides.each_ref().map(|side| {
            let blocks = side.blocks() as f64;
            (side.spread().powi(2) / blocks, blocks - 1.0)
        });
        let variance: f64 = parts.iter().map(|(part, _)| part).sum();
        let squares: f64 = parts.iter().map(|(part, free)| part * part / free).sum();
        let [first, second] = parts.map(|(_, free)| free);
        let degrees = variance * variance / squares;
        Ok(Welch {
            difference: sides[0].mean() - sides[1].mean(),
            error: variance.sqrt(),
            // Without any spread, the lower end of the range is the careful choice. Rounding must
            // not leave the range of the formula.
            degrees: if degrees.is_finite() {
                degrees.clamp(first.min(second), first + second)
            } else {
                first.min(second)
            },
        })
    }

    /// The difference with its interval.
    #[must_use]
    pub fn interval(&self, confidence: Confidence) -> LogInterval {
        let half_width = t_quantile_between(confidence, self.degrees) * self.error;
        LogInterval::around(self.difference, half_width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_example_has_its_printed_figures() {
        // Method: Student's sleep data (1908), ten patients under each of two
        // drugs, read as two groups. Textbooks print t = -1.8608 on 17.776
        // degrees of freedom, and -3.3655 to 0.2055 at 95 %.
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let welch = Welch::of([&first, &second]).unwrap();
        let interval = welch.interval(Confidence::PRINTED);
        assert!((welch.degrees - 17.776).abs() < 5e-4, "{welch:?}");
        assert!((interval.center / welch.error + 1.8608).abs() < 5e-5);
        assert!((interval.low + 3.365_483_2).abs() < 1e-6, "{interval:?}");
        assert!((interval.high - 0.205_483_2).abs() < 1e-6, "{interval:?}");
    }

    #[test]
    fn equal_blocks_have_no_spread() {
        // Method: both groups without spread, then one group, and a group of one block.
        let point = Welch::of([&[0.2; 6], &[0.1; 8]]).unwrap();
        let interval = point.interval(Confidence::COMPUTED);
        assert_eq!(
            (interval.low, interval.high),
            (interval.center, interval.center)
        );
        // Without an error, the degrees of freedom are those of the smaller group.
        assert_eq!(point.degrees, 5.0);
        let one_sided = Welch::of([&[0.2; 6], &[0.1, 0.2, 0.3]]).unwrap();
        // The whole error is that of the group of three blocks.
        assert!((one_sided.degrees - 2.0).abs() < 1e-9);
        assert!(Welch::of([&[0.2; 6], &[0.1]]).is_err());
    }
}
