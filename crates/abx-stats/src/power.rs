//! The smallest difference that a number of blocks shows.

use std::ops::Range;

use crate::Margin;
use crate::paired::PairedMean;
use crate::stop::{BLOCKS_FOR_VERDICT, wanted_half_width};
use crate::student::{Confidence, t_quantile, t_quantile_between};

/// The share of studies that show the smallest detectable difference: 4 in 5.
pub(super) const POWER: f64 = 0.8;

/// With more degrees of freedom, quantiles differ in the fourth digit only, and take long.
const DEGREES_MOST: usize = 5_000;

/// The difference, as a share, that so many blocks show in 4 of 5 studies, if
/// their interval has this half-width on the log scale; `None` below 2 blocks,
/// and for an infinite difference.
///
/// Method: the half-width `t · s / √n` at [`Confidence::COMPUTED`], plus that of
/// the power in the same units. Source: the usual sum of two t quantiles,
/// one for the interval and one for the power; Cohen (1988), chapter 2.
#[must_use]
pub fn detectable(half_width: f64, blocks: usize) -> Option<f64> {
    let degrees = blocks.checked_sub(1).filter(|degrees| *degrees > 0)?;
    let for_interval = t_quantile(Confidence::COMPUTED, degrees);
    // One-sided 80 % is two-sided 60 %.
    let for_power = t_quantile(Confidence::new(2.0 * POWER - 1.0)?, degrees);
    let share = (half_width * (1.0 + for_power / for_interval)).exp_m1();
    share.is_finite().then_some(share)
}

/// The difference, as a share, that so many blocks of this spread (of a log ratio from
/// block to block) show in 4 of 5 studies, if it is the hardest to claim of `together`
/// comparisons that are judged together; as [`detectable`].
#[must_use]
pub fn detectable_among(spread: f64, blocks: usize, together: usize) -> Option<f64> {
    let degrees = blocks.checked_sub(1).filter(|degrees| *degrees > 0)?;
    let error = (1.0 - Confidence::COMPUTED.share()) / together.max(1) as f64;
    let both = [1.0 - error, 2.0 * POWER - 1.0];
    let [for_claim, for_power] =
        both.map(|share| Some(t_quantile(Confidence::new(share)?, degrees)));
    let share = ((for_claim? + for_power?) * spread / (blocks as f64).sqrt()).exp_m1();
    share.is_finite().then_some(share)
}

/// The number of blocks of this spread after which a study of `together` comparisons ends by
/// itself, because their interval is as narrow as the margin requires; at most `most`.
#[must_use]
pub fn blocks_to_end(spread: f64, margin: Margin, together: usize, most: usize) -> usize {
    let error = (1.0 - Confidence::COMPUTED.share()) / together.max(1) as f64;
    let confidence = Confidence::new(1.0 - error).unwrap_or(Confidence::CERTAIN);
    let count = fewest(BLOCKS_FOR_VERDICT..most.saturating_add(1), |blocks| {
        let degrees = (blocks - 1).min(DEGREES_MOST);
        let half_width = t_quantile(confidence, degrees) * spread / (blocks as f64).sqrt();
        half_width <= wanted_half_width(margin)
    });
    count.unwrap_or(most)
}

impl PairedMean {
    /// The difference, as a share, that another study of so many blocks with this
    /// spread shows in 4 of 5 cases; see [`detectable`].
    #[must_use]
    pub fn detectable(&self, blocks: usize) -> Option<f64> {
        let degrees = blocks.checked_sub(1).filter(|degrees| *degrees > 0)?;
        let for_interval = t_quantile(Confidence::COMPUTED, degrees);
        let half_width = for_interval * self.spread() / (blocks as f64).sqrt();
        detectable(half_width, blocks)
    }

    /// The fewest blocks, up to `most`, in which [`PairedMean::detectable`] is
    /// `share` or less; `None` when even `most` show less than that.
    #[must_use]
    pub fn blocks_to_detect(&self, share: f64, most: usize) -> Option<usize> {
        fewest(2..most + 1, |blocks| {
            self.detectable(blocks)
                .is_some_and(|result| result <= share)
        })
    }

    /// The fewest blocks, up to `most`, whose interval at this confidence excludes "no
    /// difference" in 4 of 5 studies with this difference and this spread; `None` if
    /// even `most` do not.
    #[must_use]
    pub fn blocks_to_direction(&self, confidence: Confidence, most: usize) -> Option<usize> {
        let for_power = Confidence::new(2.0 * POWER - 1.0)?;
        let distance = self.mean().abs();
        fewest(2..most.saturating_add(1), |blocks| {
            let degrees = self.degrees(blocks).min(DEGREES_MOST as f64);
            let both =
                [confidence, for_power].map(|confidence| t_quantile_between(confidence, degrees));
            both.iter().sum::<f64>() * self.spread() / (blocks as f64).sqrt() <= distance
        })
    }
}

/// The first number of the range that is enough, by bisection: every later number is enough, too.
pub(super) fn fewest(range: Range<usize>, is_enough: impl Fn(usize) -> bool) -> Option<usize> {
    let last = range
        .end
        .checked_sub(1)
        .filter(|last| *last >= range.start)?;
    if !is_enough(last) {
        return None;
    }
    let (mut from, mut enough) = (range.start, last);
    while from < enough {
        let middle = from.midpoint(enough);
        if is_enough(middle) {
            enough = middle;
        } else {
            from = middle + 1;
        }
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_detectable_difference_of_ten_blocks_follows_the_formula() {
        // Method: by hand. A spread of 1 %, and for 9 degrees of freedom 2.5738 for the
        // interval at 97 % and 0.8834 for the power, from the common tables.
        let paired = PairedMean::of(&[0.01, 0.02, 0.03]).unwrap();
        let by_hand = ((2.5738 + 0.8834) * 0.01 / 10.0_f64.sqrt()).exp_m1();
        let result = paired.detectable(10).unwrap();
        assert!((result / by_hand - 1.0).abs() < 1e-3, "{result} {by_hand}");
    }

    #[test]
    fn the_detectable_difference_is_larger_among_several_comparisons() {
        // Method: a spread of 2.1 % over nine blocks. Alone, the formula for a single comparison
        // applies; for the hardest of five at 99.4 %, t is 3.705 for 8 degrees of freedom, from
        // the tables.
        let paired = PairedMean::of(&[0.021, -0.021, 0.0]).unwrap();
        let alone = detectable_among(paired.spread(), 9, 1).unwrap();
        assert!((alone - paired.detectable(9).unwrap()).abs() < 1e-12);
        let five = detectable_among(0.021, 9, 5).unwrap();
        let by_hand = ((3.705 + 0.889) * 0.021 / 3.0_f64).exp_m1();
        assert!((five / by_hand - 1.0).abs() < 2e-3, "{five} {by_hand}");
        assert_eq!(detectable_among(0.02, 1, 1), None);
    }

    #[test]
    fn a_study_ends_when_its_interval_is_narrow_enough() {
        // Method: by hand at a spread of 2 % and a margin of 3 %: 2.491 · 2 % ÷ √12 is 1.44 % at
        // 12 blocks and 1.52 % at 11, and 1.48 % is required. Among five comparisons it takes
        // more blocks. With hardly any spread, a verdict's minimum is enough, and a budget may
        // end the study earlier.
        let blocks =
            |spread, together, most| blocks_to_end(spread, Margin::DEFAULT, together, most);
        assert_eq!(blocks(0.02, 1, 100), 12);
        // At 1.95 %, 11 blocks reach 2.528 · 1.95 % ÷ √11 = 1.486 %, slightly too much.
        assert_eq!(blocks(0.0195, 1, 100), 12);
        assert!(blocks(0.02, 5, 100) > 15);
        assert_eq!(blocks(1e-6, 1, 100), BLOCKS_FOR_VERDICT);
        assert_eq!(blocks(0.02, 1, 9), 9);
        assert_eq!(blocks(0.02, 1, 2), 2);
    }

    #[test]
    fn the_half_width_and_the_spread_give_the_same_detectable_difference() {
        // Method: the half-width of the interval itself, and the spread.
        let paired = PairedMean::of(&[0.04, -0.02, 0.01, 0.03]).unwrap();
        let half_width = paired.interval(Confidence::COMPUTED).half_width();
        let by_width = detectable(half_width, 4).unwrap();
        let by_pair = paired.detectable(4).unwrap();
        assert!((by_width - by_pair).abs() < 1e-12, "{by_width} {by_pair}");
    }

    #[test]
    fn one_block_detects_nothing_and_blocks_without_spread_detect_everything() {
        // Method: no block and one block, equal blocks, and an enormous spread.
        let equal = PairedMean::of(&[0.1; 3]).unwrap();
        assert_eq!((equal.detectable(0), equal.detectable(1)), (None, None));
        assert_eq!((detectable(0.01, 0), detectable(0.01, 1)), (None, None));
        assert_eq!(equal.detectable(10), Some(0.0));
        assert_eq!(equal.blocks_to_detect(0.03, 9), Some(2));
        assert_eq!(equal.blocks_to_detect(0.03, 2), Some(2));
        assert_eq!(equal.blocks_to_detect(0.03, 1), None);
        let wild = PairedMean::of(&[-2e4, 2e4]).unwrap();
        assert_eq!(wild.detectable(2), None);
        assert_eq!(wild.blocks_to_detect(0.03, 99), None);
    }

    #[test]
    fn the_blocks_to_a_direction_are_the_fewest_that_show_it() {
        // Method: by hand for a difference of 27 % with a spread of 28 %: (2.461 + 0.873)
        // standard errors are 26.1 % at 13 blocks and 27.4 % at 12. A higher confidence takes
        // more blocks, and beyond the limit there is no result.
        let paired = PairedMean::of(&[0.60, -0.05, 0.50, 0.10, 0.45, 0.00]).unwrap();
        let blocks = |confidence, most| paired.blocks_to_direction(confidence, most);
        assert_eq!(blocks(Confidence::COMPUTED, 1_000), Some(13));
        assert!(blocks(Confidence::CERTAIN, 1_000) > Some(20));
        assert_eq!(blocks(Confidence::COMPUTED, 13), Some(13));
        assert_eq!(blocks(Confidence::COMPUTED, 12), None);
        assert_eq!(blocks(Confidence::COMPUTED, 0), None);
    }

    #[test]
    fn the_blocks_to_detect_a_difference_are_the_fewest_that_do() {
        // Method: a spread of 3.3 % and a difference of 3 %, with one block fewer.
        let paired = PairedMean::of(&[0.03, -0.03, 0.03, -0.03, 0.03, -0.03]).unwrap();
        let fewest = paired.blocks_to_detect(0.03, 1_000).unwrap();
        assert!(paired.detectable(fewest).unwrap() <= 0.03);
        assert!(paired.detectable(fewest - 1).unwrap() > 0.03);
        assert_eq!(paired.blocks_to_detect(0.03, fewest), Some(fewest));
        assert_eq!(paired.blocks_to_detect(0.03, fewest - 1), None);
    }
}
