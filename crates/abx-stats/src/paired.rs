//! The mean of per-block log ratios with its interval. Each block is one number,
//! `ln(subject / baseline)`, regardless of its slices.

use crate::StatsError;
use crate::log_ratios::check_log_ratios;
use crate::moments::Moments;
use crate::pooled::SpreadPrior;
use crate::student::{Confidence, t_quantile_between, two_sided_p};

/// The fewest blocks that have a spread.
pub const BLOCKS_MIN: usize = 2;

/// A log ratio and the interval around it, on the log scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogInterval {
    /// The estimate; 0 means "no difference".
    pub center: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl LogInterval {
    pub(super) fn around(center: f64, half_width: f64) -> LogInterval {
        LogInterval {
            center,
            low: center - half_width,
            high: center + half_width,
        }
    }

    /// Half the distance between the ends.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Whether "no difference" lies outside the interval.
    #[must_use]
    pub fn excludes_zero(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    /// The interval as plain ratios, with the confidence to print: a share, 0.95
    /// for 95 %.
    #[must_use]
    pub fn ratios(&self, confidence: f64) -> RatioInterval {
        RatioInterval {
            ratio: self.center.exp(),
            low: self.low.exp(),
            high: self.high.exp(),
            confidence,
        }
    }
}

/// A ratio of subject over baseline and the interval around it: 1.10 means
/// "10 % more than the baseline".
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioInterval {
    /// The estimate; 1 means "no difference".
    pub ratio: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The share of such intervals that contain the truth.
    pub confidence: f64,
}

/// Mean and spread of the log ratios of at least [`BLOCKS_MIN`] blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedMean {
    blocks: usize,
    mean: f64,
    spread: f64,
    /// Degrees of freedom in addition to those of its own blocks.
    prior_degrees: f64,
}

impl PairedMean {
    /// Summarises per-block log ratios. Their order has no influence.
    ///
    /// # Errors
    /// - [`StatsError::NoLogRatio`] for a number that is not finite.
    /// - [`StatsError::TooFewBlocks`] below [`BLOCKS_MIN`] blocks.
    pub fn of(log_ratios: &[f64]) -> Result<PairedMean, StatsError> {
        check_log_ratios(log_ratios)?;
        let blocks = log_ratios.len();
        if blocks < BLOCKS_MIN {
            return Err(StatsError::TooFewBlocks {
                got: blocks,
                need: BLOCKS_MIN,
            });
        }
        let moments = Moments::of(log_ratios);
        Ok(PairedMean {
            blocks,
            mean: moments.mean,
            spread: (moments.squares / (blocks - 1) as f64).sqrt(),
            prior_degrees: 0.0,
        })
    }

    /// This mean with the evidence of other comparisons about its spread: the average of both
    /// variances, weighted by their degrees of freedom. The spread is never less than its own,
    /// because a comparison that is noisier than the others would have too many certain verdicts:
    /// docs/explain/statistics/several-subjects.md, "Few blocks of many subjects".
    #[must_use]
    pub fn with(self, prior: SpreadPrior) -> PairedMean {
        let own_degrees = (self.blocks - 1) as f64;
        let shared = prior.degrees * prior.variance + own_degrees * self.spread.powi(2);
        PairedMean {
            spread: self
                .spread
                .max((shared / (prior.degrees + own_degrees)).sqrt()),
            prior_degrees: prior.degrees,
            ..self
        }
    }

    /// The degrees of freedom of its spread over so many blocks.
    pub(super) fn degrees(&self, blocks: usize) -> f64 {
        (blocks - 1) as f64 + self.prior_degrees
    }

    /// The number of blocks.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// The mean; 0 is "no difference".
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The standard deviation between blocks, as a log ratio: 0.02 is about 2 %.
    #[must_use]
    pub fn spread(&self) -> f64 {
        self.spread
    }

    /// `t · s / √n`: the distance of the interval's ends from the mean.
    #[must_use]
    pub fn half_width(&self, confidence: Confidence) -> f64 {
        t_quantile_between(confidence, self.degrees(self.blocks)) * self.spread
            / (self.blocks as f64).sqrt()
    }

    /// How often blocks without any true difference have a mean at least this
    /// far from 0. Blocks without a spread are certain, unless they are 0.
    #[must_use]
    pub fn p_value(&self) -> f64 {
        if self.mean == 0.0 {
            return 1.0;
        }
        let t = self.mean / (self.spread / (self.blocks as f64).sqrt());
        two_sided_p(t, self.degrees(self.blocks))
    }

    /// The mean with its t interval.
    #[must_use]
    pub fn interval(&self, confidence: Confidence) -> LogInterval {
        LogInterval::around(self.mean, self.half_width(confidence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_the_mean_plus_and_minus_t_standard_errors() {
        // Method: three blocks by hand. Mean 0.02, spread 0.01, and 4.30265
        // from the printed table for 2 degrees of freedom at 95 %.
        let paired = PairedMean::of(&[0.01, 0.02, 0.03]).unwrap();
        let interval = paired.interval(Confidence::PRINTED);
        assert!((paired.spread() - 0.01).abs() < 1e-12);
        assert!((interval.center - 0.02).abs() < 1e-12);
        assert!((interval.half_width() - 4.30265 * 0.01 / 3.0_f64.sqrt()).abs() < 1e-7);

        let ratios = interval.ratios(0.95);
        assert!((ratios.ratio - 0.02_f64.exp()).abs() < 1e-12);
        assert!((ratios.low.ln() - interval.low).abs() < 1e-12);
        assert!((ratios.high.ln() - interval.high).abs() < 1e-12);
    }

    #[test]
    fn an_interval_excludes_zero_only_if_both_ends_are_on_one_side() {
        // Method: intervals on each side of 0, around 0, and with a bound at 0.
        let table = [
            (0.01, 0.02, true),
            (-0.02, -0.01, true),
            (-0.03, 0.01, false),
            (-0.01, 0.03, false),
            (0.0, 0.02, false),
            (-0.02, 0.0, false),
        ];
        for (low, high, expected) in table {
            let center = f64::midpoint(low, high);
            let interval = LogInterval { center, low, high };
            assert_eq!(interval.excludes_zero(), expected, "{low} to {high}");
        }
    }

    #[test]
    fn the_interval_at_the_confidence_of_the_p_value_ends_at_zero() {
        // Method: the definition; and blocks without spread.
        let paired = PairedMean::of(&[0.01, 0.02, 0.03, -0.005]).unwrap();
        let confidence = Confidence::new(1.0 - paired.p_value()).unwrap();
        assert!(paired.interval(confidence).low.abs() < 1e-9);
        assert_eq!(PairedMean::of(&[0.1; 6]).unwrap().p_value(), 0.0);
        assert_eq!(PairedMean::of(&[0.0; 6]).unwrap().p_value(), 1.0);
    }

    #[test]
    fn a_prior_never_makes_a_spread_smaller() {
        // Method: by hand for three blocks with a variance of 1e-4 on 2 degrees of freedom,
        // and a prior of 6 more: with 5e-4, the average is 4e-4; with 0, the blocks' own
        // variance stays. t with 8 degrees of freedom at 95 % is 2.306004 in printed tables.
        let mean = PairedMean::of(&[0.01, 0.02, 0.03]).unwrap();
        for (variance, spread) in [(5e-4, 0.02), (0.0, 0.01)] {
            let prior = SpreadPrior {
                variance,
                degrees: 6.0,
            };
            let both = mean.with(prior);
            assert!((both.spread() - spread).abs() < 1e-12, "{both:?}");
            let half_width = 2.306004 * spread / 3.0_f64.sqrt();
            assert!((both.half_width(Confidence::PRINTED) - half_width).abs() < 1e-7);
        }
    }

    #[test]
    fn equal_blocks_have_no_spread() {
        // Method: 0.1 is inexact in binary, so a sum of squares would leave a remainder.
        let paired = PairedMean::of(&[0.1; 7]).unwrap();
        assert_eq!(paired.half_width(Confidence::COMPUTED), 0.0);
        assert_eq!(paired.interval(Confidence::COMPUTED).center, 0.1);
    }

    #[test]
    fn one_block_has_no_interval() {
        // Method: no block and one block.
        for blocks in [&[][..], &[0.1][..]] {
            let got = blocks.len();
            assert_eq!(
                PairedMean::of(blocks),
                Err(StatsError::TooFewBlocks { got, need: 2 })
            );
        }
    }

    #[test]
    fn a_block_with_a_rate_of_zero_is_named() {
        // Method: the logarithm of zero, in the second block.
        let value = (0.0_f64 / 100.0).ln();
        assert_eq!(
            PairedMean::of(&[0.01, value, 0.02]),
            Err(StatsError::NoLogRatio { block: 1, value })
        );
    }
}
