//! The decision after every block which of two ends a candidate is like: [`EndTest`]. A search
//! between GOOD and BAD uses one test per step, and its steps share one error.

use crate::StatsError;
use crate::log_ratios::check_log_ratios;
use crate::moments::Moments;
use crate::paired::{LogInterval, PairedMean};
use crate::pooled::SpreadPrior;
use crate::student::Confidence;

/// The fewest blocks of a step: fewer do not show whether a candidate is noisier than the rest.
pub const STEP_BLOCKS_MIN: usize = 3;

/// The most blocks of a step. A candidate between both ends would otherwise need any number.
pub const STEP_BLOCKS_MAX: usize = 24;

/// A search takes a wrong turn in at most this share, over all of its steps together.
pub const SEARCH_ERROR: f64 = 0.05;

/// The spread of the blocks of a search so far, around the means of their pairs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SpreadPool {
    squares: f64,
    degrees: f64,
}

impl SpreadPool {
    /// Adds the blocks of one pair.
    ///
    /// # Errors
    /// [`StatsError::NoLogRatio`] for a number that is not finite.
    pub fn add(&mut self, log_ratios: &[f64]) -> Result<(), StatsError> {
        check_log_ratios(log_ratios)?;
        self.squares += Moments::of(log_ratios).squares;
        self.degrees += log_ratios.len().saturating_sub(1) as f64;
        Ok(())
    }

    /// The spread of a candidate with these blocks: that of the pool, or its own if that is larger,
    /// because the test would decide a noisy candidate too early.
    fn prior(self, moments: &Moments) -> SpreadPrior {
        let own = moments.squares / (moments.count.max(2) - 1) as f64;
        let pooled = self.squares / self.degrees.max(1.0);
        SpreadPrior {
            variance: pooled.max(own),
            degrees: self.degrees,
        }
    }
}

/// The decision after a block of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepDecision {
    /// Measure another block.
    Continue,
    LikeGood,
    LikeBad,
    /// The most blocks were measured, and the candidate differs from both ends.
    LikeNeither,
    /// The most blocks were measured, and the candidate may be like either end.
    Undecided,
}

/// The test of one step.
///
/// Method: Wald's sequential probability ratio test of "its log ratio to GOOD is 0" against
/// "it is that of BAD", with ln((1 − error) ÷ error) as the limit to both sides. The spread is
/// unknown: the likelihood is averaged over what earlier blocks of the search show of it (a
/// scaled inverse χ² with their degrees of freedom), which makes it that of Student's t.
/// Sources: Wald, Annals of Mathematical Statistics 16 (1945); Rushton, Biometrika 37 (1950).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EndTest {
    /// The log ratio of BAD to GOOD, not 0; GOOD's own is 0.
    pub bad: f64,
    /// How often this step may be wrong, as a share below a half.
    pub error: f64,
    pub pool: SpreadPool,
}

impl EndTest {
    /// Decides from the log ratios of a candidate to GOOD so far, in any order.
    ///
    /// # Errors
    /// [`StatsError::NoLogRatio`] for a number that is not finite.
    pub fn decide(&self, log_ratios: &[f64]) -> Result<StepDecision, StatsError> {
        check_log_ratios(log_ratios)?;
        if log_ratios.len() < STEP_BLOCKS_MIN {
            return Ok(StepDecision::Continue);
        }
        let evidence = self.evidence(log_ratios);
        let limit = ((1.0 - self.error) / self.error).ln();
        Ok(if evidence >= limit {
            StepDecision::LikeBad
        } else if evidence <= -limit {
            StepDecision::LikeGood
        } else if log_ratios.len() < STEP_BLOCKS_MAX {
            StepDecision::Continue
        } else {
            self.at_the_end(log_ratios)?
        })
    }

    /// The logarithm of how much likelier the blocks are if the candidate is like BAD.
    fn evidence(&self, log_ratios: &[f64]) -> f64 {
        let prior = self.pool.prior(&Moments::of(log_ratios));
        let known = prior.variance * prior.degrees;
        let around = |center: f64| -> f64 {
            let squares = log_ratios.iter().map(|ratio| (ratio - center).powi(2));
            known + squares.sum::<f64>()
        };
        let degrees = prior.degrees + log_ratios.len() as f64;
        degrees / 2.0 * (around(0.0) / around(self.bad)).ln()
    }

    /// The candidate's log ratio to GOOD, by the spread of the test.
    ///
    /// # Errors
    /// - [`StatsError::NoLogRatio`] for a number that is not finite.
    /// - [`StatsError::TooFewBlocks`] below two blocks.
    pub fn interval(
        &self,
        log_ratios: &[f64],
        confidence: Confidence,
    ) -> Result<LogInterval, StatsError> {
        let mean = PairedMean::of(log_ratios)?;
        let prior = self.pool.prior(&Moments::of(log_ratios));
        Ok(mean.with(prior).interval(confidence))
    }

    /// The decision after the most blocks of a step.
    fn at_the_end(&self, log_ratios: &[f64]) -> Result<StepDecision, StatsError> {
        let confidence = Confidence::new(1.0 - self.error).unwrap_or(Confidence::CERTAIN);
        let interval = self.interval(log_ratios, confidence)?;
        let holds = |end: f64| (interval.low..=interval.high).contains(&end);
        Ok(if holds(0.0) || holds(self.bad) {
            StepDecision::Undecided
        } else {
            StepDecision::LikeNeither
        })
    }
}

/// The error of the next step, given the rest of [`SEARCH_ERROR`] and the number of untried
/// candidates: an equal part per step that halving them takes. No number of steps spends more than
/// the rest.
#[must_use]
pub fn step_error(left: f64, untried: usize) -> f64 {
    left / f64::from(halvings(untried).max(1))
}

/// The number of steps to find one change among so many untried candidates and the end after
/// them: ⌈log₂(untried + 1)⌉.
#[must_use]
pub fn halvings(untried: usize) -> u32 {
    usize::BITS - untried.leading_zeros()
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// One draw of a normal variable. Source: Box and Muller (1958).
    fn normal(random: &mut ChaCha8Rng) -> f64 {
        let [radius, angle] = [random.random::<f64>(), random.random::<f64>()];
        (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    /// Simulates steps at a true log ratio. Returns the share of each decision after `Continue`,
    /// in the order of the enum, and the mean number of blocks. The ends have seven blocks.
    fn steps(truth: f64, bad: f64, [spread, own]: [f64; 2], count: u32) -> ([f64; 4], f64) {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let (mut shares, mut blocks) = ([0.0; 4], 0.0);
        for _ in 0..count {
            let ends: Vec<f64> = (0..7).map(|_| bad + spread * normal(&mut random)).collect();
            let mut pool = SpreadPool::default();
            pool.add(&ends).unwrap();
            let bad = Moments::of(&ends).mean;
            let error = SEARCH_ERROR / 6.0;
            let test = EndTest { bad, error, pool };
            let mut log_ratios = Vec::new();
            let place = loop {
                log_ratios.push(truth + own * normal(&mut random));
                match test.decide(&log_ratios).unwrap() {
                    StepDecision::Continue => {}
                    StepDecision::LikeGood => break 0,
                    StepDecision::LikeBad => break 1,
                    StepDecision::LikeNeither => break 2,
                    StepDecision::Undecided => break 3,
                }
            };
            shares[place] += 1.0 / f64::from(count);
            blocks += log_ratios.len() as f64 / f64::from(count);
        }
        (shares, blocks)
    }

    #[test]
    fn the_evidence_is_the_ratio_of_student_densities() {
        // Method: three blocks by hand. The pool has the variance 4e-4 on 6 degrees of freedom,
        // so 24e-4; the squares are 14e-4 around 0 and 59e-4 around 0.05, plus 24e-4 from the
        // pool: 38e-4 and 53e-4.
        let pool = SpreadPool {
            squares: 24e-4,
            degrees: 6.0,
        };
        let (bad, error) = (0.05, 0.01);
        let test = EndTest { bad, error, pool };
        let evidence = test.evidence(&[0.01, 0.02, 0.03]);
        let expected = 4.5 * (38e-4_f64 / 53e-4).ln();
        assert!((evidence - expected).abs() < 1e-9, "{evidence} {expected}");
    }

    #[test]
    fn blocks_without_spread_are_decided_at_once() {
        // Method: exactly at one end and at the other, in both directions, with an empty pool.
        // Two blocks are too few, and NaN is refused.
        let pool = SpreadPool::default();
        for bad in [0.05, -0.05] {
            let error = 0.01;
            let test = EndTest { bad, error, pool };
            assert_eq!(test.decide(&[0.0; 2]), Ok(StepDecision::Continue));
            assert_eq!(test.decide(&[0.0; 3]), Ok(StepDecision::LikeGood));
            assert_eq!(test.decide(&[bad; 3]), Ok(StepDecision::LikeBad));
            assert!(test.decide(&[0.0, f64::NAN, 0.0]).is_err());
        }
    }

    #[test]
    fn a_step_errs_no_more_often_than_its_error() {
        // Method: steps at both ends, in both directions, for differences of 5 and 3 % at spreads
        // of 1 and 2 %. A sixth of 5 % may be wrong. The ends are known from seven blocks only.
        for [bad, spread] in [[0.05, 0.02], [-0.05, 0.02], [0.03, 0.02], [0.03, 0.01]] {
            for (truth, wrong) in [(0.0, 1), (bad, 0)] {
                let (shares, blocks) = steps(truth, bad, [spread; 2], 2_000);
                assert!(shares[wrong] < 0.0083 + 0.005, "{bad} {truth} {shares:?}");
                assert!(blocks < 9.0, "{bad} {truth}: {blocks} blocks");
            }
        }
    }

    #[test]
    fn a_candidate_noisier_than_the_ends_is_not_decided_too_early() {
        // Method: steps at GOOD with three times the spread of the ends.
        let (shares, _) = steps(0.0, 0.05, [0.01, 0.03], 2_000);
        assert!(shares[1] < 0.02, "{shares:?}");
    }

    #[test]
    fn a_candidate_between_the_ends_is_like_neither() {
        // Method: halfway between the ends, with so little spread that the largest number of
        // blocks shows it, and with too much for that.
        let mut pool = SpreadPool::default();
        let blocks = |center: f64, spread: f64| -> Vec<f64> {
            let sign = |block: usize| {
                if block.is_multiple_of(2) {
                    spread
                } else {
                    -spread
                }
            };
            (0..STEP_BLOCKS_MAX)
                .map(|block| center + sign(block))
                .collect()
        };
        pool.add(&blocks(0.0, 0.02)).unwrap();
        let (bad, error) = (0.05, 0.01);
        let test = EndTest { bad, error, pool };
        let decided = |center, spread| test.decide(&blocks(center, spread)).unwrap();
        assert_eq!(decided(0.025, 0.02), StepDecision::LikeNeither);
        assert_eq!(decided(0.025, 0.2), StepDecision::Undecided);
    }

    #[test]
    fn steps_never_spend_more_than_the_remaining_error() {
        // Method: searches of each size in which each step removes a single candidate, as skipped
        // neighbours can force.
        for size in [1, 2, 7, 63, 64, 1_000] {
            let (mut left, mut untried) = (SEARCH_ERROR, size);
            while untried > 0 {
                let error = step_error(left, untried);
                assert!(error > 0.0 && error <= left * 1.000_001, "{size}: {error}");
                left -= error;
                untried -= 1;
            }
            assert!(left.abs() < 1e-12, "{size}: {left}");
        }
        let table = [
            (0, 0),
            (1, 1),
            (2, 2),
            (3, 2),
            (4, 3),
            (62, 6),
            (63, 6),
            (64, 7),
        ];
        for (untried, steps) in table {
            assert_eq!(halvings(untried), steps, "{untried}");
        }
    }
}
