//! Two sides that were measured at different times: Welch's interval on the
//! difference of their means. Nothing pairs their blocks, so whatever changes
//! from block to block is in it, and it is wider than a paired one. What changed
//! between the two is in no block's spread: its error is given beside them.
//!
//! Source: B. L. Welch, Biometrika 34 (1947); docs/explain/statistics/older-records.md.

use crate::paired::{LogInterval, PairedMean};
use crate::power::{POWER, fewest};
use crate::stop::{BLOCKS_FOR_VERDICT, BLOCKS_ORDERED, Decision, decide_by, wanted_half_width};
use crate::student::{Confidence, t_quantile_between, two_sided_p_between};
use crate::{Margin, StatsError};

/// No study has so many blocks: where an estimate looks no further.
const BLOCKS_MOST: usize = 10_000;

/// With more degrees of freedom, quantiles differ in the fourth digit only.
const DEGREES_MOST: f64 = 5_000.0;

/// The values of both sides, one for each block: the logarithm of its throughput, or of
/// that over the throughput of what was measured beside it.
#[derive(Debug, Clone, Copy)]
pub struct TwoSamples<'a> {
    pub now: &'a [f64],
    /// What was measured before.
    pub then: &'a [f64],
    /// The standard error of what changed between them and is in no block's spread.
    pub between: f64,
}

/// The difference of the means of two sides, now minus then, with its error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Welch {
    difference: f64,
    error: f64,
    degrees: f64,
}

impl Welch {
    /// Summarises both sides. The order of blocks has no influence, and neither
    /// has the number of blocks of the other side.
    ///
    /// # Errors
    /// - [`StatsError::NoLogRatio`] for a number that is not finite.
    /// - [`StatsError::TooFewBlocks`] below 2 blocks on a side.
    pub fn of(sides: TwoSamples) -> Result<Welch, StatsError> {
        let [now, then] = [PairedMean::of(sides.now)?, PairedMean::of(sides.then)?];
        Ok(Welch::from_sides(
            [&now, &then],
            sides.between,
            now.blocks(),
        ))
    }

    /// As many blocks now as is said, of the spread that was seen.
    fn from_sides([now, then]: [&PairedMean; 2], between: f64, blocks_now: usize) -> Welch {
        // The variance of each mean.
        let parts = [(now, blocks_now), (then, then.blocks())]
            .map(|(side, blocks)| (side.spread().powi(2) / blocks as f64, (blocks - 1) as f64));
        let of_blocks: f64 = parts.iter().map(|(part, _)| part).sum();
        let sum = of_blocks + between * between;
        // What changed between the sides is no estimate from blocks, and takes no degree.
        let weighed: f64 = parts.iter().map(|(part, free)| part * part / free).sum();
        let [most, least] =
            [f64::max, f64::min].map(|choose: fn(f64, f64) -> f64| choose(parts[0].1, parts[1].1));
        let degrees = sum * sum / weighed;
        Welch {
            difference: now.mean() - then.mean(),
            error: sum.sqrt(),
            // Without any spread there is nothing to weigh: the careful end.
            degrees: if degrees.is_finite() {
                // Rounding must not leave the range that the formula has.
                degrees.clamp(
                    least,
                    if between > 0.0 {
                        DEGREES_MOST
                    } else {
                        most + least
                    },
                )
            } else {
                if between > 0.0 { DEGREES_MOST } else { least }
            },
        }
    }

    /// Degrees of freedom by Welch and Satterthwaite, mostly no whole number.
    #[must_use]
    pub fn degrees(&self) -> f64 {
        self.degrees
    }

    /// How often two sides without a difference would look at least so different.
    #[must_use]
    pub fn p_value(&self) -> f64 {
        match self.difference.abs() / self.error {
            // Neither a difference nor a spread.
            t if t.is_nan() => 1.0,
            t => two_sided_p_between(t, self.degrees),
        }
    }

    /// How far the interval reaches to each side of the difference.
    #[must_use]
    pub fn half_width(&self, confidence: Confidence) -> f64 {
        t_quantile_between(confidence, self.degrees) * self.error
    }

    /// The difference with its interval.
    #[must_use]
    pub fn interval(&self, confidence: Confidence) -> LogInterval {
        LogInterval::around(self.difference, self.half_width(confidence))
    }
}

/// Decides for one such comparison as [`decide`](crate::stop::decide) does for a
/// paired one: the same counts of blocks now, the same widths.
///
/// # Errors
/// As [`Welch::of`] when there are blocks enough to look at.
pub fn decide(sides: TwoSamples, margin: Margin) -> Result<Decision, StatsError> {
    let blocks = sides.now.len();
    if blocks < BLOCKS_FOR_VERDICT {
        return Ok(Decision::Continue);
    }
    let welch = Welch::of(sides)?;
    let half_width = |confidence| welch.half_width(confidence);
    Ok(decide_by(blocks, margin, welch.difference, half_width))
}

/// How many blocks more, measured now, would settle it: as many as narrow the interval at
/// the first confidence to what the margin asks for, or fewer where one at the second
/// excludes "no difference" in 4 of 5 studies before. `None` when no number would, since
/// the other side does not grow, and neither does what is known of the time between.
///
/// An estimate: it takes the difference and the spreads seen so far for the true ones. Below
/// [`BLOCKS_ORDERED`] blocks now it is how many are missing to that number.
///
/// # Errors
/// As [`Welch::of`].
pub fn blocks_more(
    sides: TwoSamples,
    margin: Margin,
    equivalence: Confidence,
    direction: Option<Confidence>,
) -> Result<Option<u32>, StatsError> {
    let blocks = sides.now.len();
    if blocks < BLOCKS_ORDERED {
        return Ok(Some((BLOCKS_ORDERED - blocks) as u32));
    }
    let [now, then] = [PairedMean::of(sides.now)?, PairedMean::of(sides.then)?];
    let for_power = Confidence::new(2.0 * POWER - 1.0);
    let is_enough = |more: usize| {
        let welch = Welch::from_sides([&now, &then], sides.between, blocks + more);
        let is_precise = welch.half_width(equivalence) <= wanted_half_width(margin);
        let shows = direction.zip(for_power).is_some_and(|(direction, power)| {
            welch.half_width(direction) + welch.half_width(power) <= welch.difference.abs()
        });
        is_precise || shows
    };
    Ok(fewest(1..BLOCKS_MOST + 1, is_enough).map(|more| more as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::Reason;

    #[test]
    fn a_published_example_comes_out_as_printed() {
        // Method: Student's sleep data (1908), ten patients under each of two
        // drugs, read as two groups: the common textbooks print t = -1.8608 on
        // 17.776 degrees of freedom, and -3.3655 to 0.2055 for 95 %.
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let welch = Welch::of(TwoSamples {
            now: &first,
            then: &second,
            between: 0.0,
        })
        .unwrap();
        let interval = welch.interval(Confidence::PRINTED);
        assert!((welch.degrees() - 17.776).abs() < 5e-4, "{welch:?}");
        assert!((interval.center / welch.error + 1.8608).abs() < 5e-5);
        assert!((interval.low + 3.365_483_2).abs() < 1e-6, "{interval:?}");
        assert!((interval.high - 0.205_483_2).abs() < 1e-6, "{interval:?}");
    }

    #[test]
    fn equal_blocks_have_no_spread() {
        // Method: both sides without spread, then one of them.
        let point = Welch::of(TwoSamples {
            now: &[0.2; 6],
            then: &[0.1; 8],
            between: 0.0,
        });
        let point = point.unwrap();
        assert_eq!(point.half_width(Confidence::COMPUTED), 0.0);
        // Nothing says whose the degrees are: those of the side with fewer.
        assert_eq!(point.degrees(), 5.0);
        let result = Welch::of(TwoSamples {
            now: &[0.2; 6],
            then: &[0.1, 0.2, 0.3],
            between: 0.0,
        });
        // All of the error is of the side of three blocks.
        assert!((result.unwrap().degrees() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn it_stops_when_a_paired_study_would() {
        // Method: five blocks, six precise ones, wide ones far from each other
        // at six and at seven, and wide ones close to each other.
        let around = |count: usize, center: f64, apart: f64| -> Vec<f64> {
            let sign = |block| if block % 2 == 0 { apart } else { -apart };
            (0..count).map(|block| center + sign(block)).collect()
        };
        let decided = |now: Vec<f64>, apart| {
            let then = around(12, 0.0, apart);
            let sides = TwoSamples {
                now: &now,
                then: &then,
                between: 0.0,
            };
            decide(sides, Margin::DEFAULT).unwrap()
        };
        let precise = Decision::Stop(Reason::Precise);
        assert_eq!(decided(around(6, 0.0, 0.0), 0.001), Decision::Continue);
        assert_eq!(decided(around(7, 0.0, 0.001), 0.001), precise);
        let certain = Decision::Stop(Reason::Certain);
        assert_eq!(decided(around(7, 0.9, 0.1), 0.1), certain);
        assert_eq!(decided(around(8, 0.9, 0.1), 0.1), Decision::Continue);
        assert_eq!(decided(around(7, 0.0, 0.1), 0.1), Decision::Continue);
        // On about 12 degrees of freedom: 18 % apart, where 97 % reach 2.46 · 5 % to each side and
        // 99.9 % reach 4.3 · 5 %; and 1.55 % at 97 %, which would be 1.37 % at 95 %.
        assert_eq!(decided(around(7, 0.18, 0.1), 0.1), Decision::Continue);
        assert_eq!(decided(around(7, 0.0, 0.0125), 0.0125), Decision::Continue);
    }

    #[test]
    fn more_blocks_settle_it_only_when_the_other_side_is_precise() {
        // Method: a precise side of twenty blocks and a wild one of six, each
        // beside the same six blocks; then as many more as were said.
        let wide = [0.02, -0.02, 0.02, -0.02, 0.02, -0.02];
        let precise = [0.001, -0.001].repeat(10);
        let sides = TwoSamples {
            now: &wide,
            then: &precise,
            between: 0.0,
        };
        let more = blocks_more(sides, Margin::DEFAULT, Confidence::COMPUTED, None)
            .unwrap()
            .unwrap();
        let now = PairedMean::of(&wide).unwrap();
        let then = PairedMean::of(&precise).unwrap();
        let half_width = |more: u32| {
            let welch = Welch::from_sides([&now, &then], 0.0, 6 + more as usize);
            welch.half_width(Confidence::COMPUTED)
        };
        assert!(half_width(more) <= wanted_half_width(Margin::DEFAULT));
        assert!(half_width(more - 1) > wanted_half_width(Margin::DEFAULT));
        let never = TwoSamples {
            now: &precise,
            then: &wide,
            between: 0.0,
        };
        assert_eq!(
            blocks_more(never, Margin::DEFAULT, Confidence::COMPUTED, None),
            Ok(None)
        );
        let few = TwoSamples {
            now: &wide[..2],
            then: &precise,
            between: 0.0,
        };
        assert_eq!(
            blocks_more(few, Margin::DEFAULT, Confidence::COMPUTED, None),
            Ok(Some(4))
        );
    }

    #[test]
    fn what_changed_between_the_sides_is_in_the_error() {
        // Method: sides without spread, so that all of the error is the change of 1 %: the
        // interval is the normal one, 2.17 times that, and no number of blocks narrows it.
        let sides = TwoSamples {
            now: &[0.02; 8],
            then: &[0.0; 8],
            between: 0.01,
        };
        let welch = Welch::of(sides).unwrap();
        let half_width = welch.half_width(Confidence::COMPUTED);
        assert!((half_width / 0.01 - 2.170).abs() < 2e-3, "{half_width}");
        assert!((welch.p_value() - 0.0455).abs() < 1e-3, "{welch:?}");
        let more = |direction| blocks_more(sides, Margin::DEFAULT, Confidence::COMPUTED, direction);
        assert_eq!(more(None), Ok(None));
        assert_eq!(more(Some(Confidence::COMPUTED)), Ok(None));
        assert_eq!(more(Confidence::new(0.5)), Ok(Some(1)));
    }

    #[test]
    fn what_changed_between_the_sides_takes_no_degree() {
        // Method: sides of eight blocks with means of the same variance v, and as much again
        // between them: (2 v + 2 v)² ÷ (2 · v² ÷ 7) = 56, more than the blocks alone have.
        let now = [0.01, -0.01].repeat(4);
        let v = PairedMean::of(&now).unwrap().spread().powi(2) / 8.0;
        let welch = |between| {
            let then = &now;
            let sides = TwoSamples {
                now: &now,
                then,
                between,
            };
            Welch::of(sides).unwrap()
        };
        assert!((welch((2.0 * v).sqrt()).degrees() - 56.0).abs() < 1e-9);
        assert!((welch(0.0).degrees() - 14.0).abs() < 1e-9);
    }

    #[test]
    fn sides_without_difference_or_spread_are_no_evidence() {
        // Method: the edges of the p-value: 0 over 0, and a difference over 0.
        let p_value = |now: &[f64]| {
            let sides = TwoSamples {
                now,
                then: &[0.1; 6],
                between: 0.0,
            };
            Welch::of(sides).unwrap().p_value()
        };
        assert_eq!(p_value(&[0.1; 6]), 1.0);
        assert_eq!(p_value(&[0.2; 6]), 0.0);
    }
}
