//! When a study has enough blocks: it stops for precision, and early only if
//! a difference is beyond doubt, never because of a verdict.

use crate::log_ratios::check_log_ratios;
use crate::paired::{LogInterval, PairedMean};
use crate::student::Confidence;
use crate::{Margin, StatsError};

/// The fewest blocks that carry a verdict in a study whose measurements may end it: the
/// signs of fewer blocks do not reach the confidence that such a verdict needs, 97 %.
pub const BLOCKS_FOR_VERDICT: usize = 7;

/// The fewest blocks in a study whose number of blocks was set in advance. It never looks at
/// its measurements, so the printed confidence is enough, 95 %.
pub const BLOCKS_ORDERED: usize = 6;

/// The fewest blocks that carry a verdict, in a study of either kind.
#[must_use]
pub fn blocks_for_verdict(is_ordered: bool) -> usize {
    if is_ordered {
        BLOCKS_ORDERED
    } else {
        BLOCKS_FOR_VERDICT
    }
}

/// The block counts at which a difference beyond doubt ends a study. Only two,
/// because each such look at the result costs some coverage.
pub const EARLY_LOOKS: [usize; 2] = [7, 13];

/// The decision after a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Measure another block, if the budget allows.
    Continue,
    Stop(Reason),
}

impl Decision {
    /// The joint decision with another part of the study, which decides `other`: it stops if
    /// both would, and is precise if both are.
    #[must_use]
    pub fn and(self, other: Decision) -> Decision {
        match (self, other) {
            (Decision::Stop(Reason::Precise), other) => other,
            (Decision::Stop(Reason::Certain), Decision::Stop(_)) => self,
            (Decision::Stop(Reason::Certain) | Decision::Continue, _) => Decision::Continue,
        }
    }

    /// Stops if every part would. Without any part it continues.
    pub fn of_parts(parts: impl IntoIterator<Item = Decision>) -> Decision {
        let joint = parts.into_iter().reduce(Decision::and);
        joint.unwrap_or(Decision::Continue)
    }

    /// Decides for comparisons that are judged together: stops if each would stop by its
    /// own interval and, judged together, no verdict is open. The latter costs most, so it
    /// is computed last.
    pub fn together(
        alone: impl IntoIterator<Item = Decision>,
        is_any_open: impl FnOnce() -> bool,
    ) -> Decision {
        match Decision::of_parts(alone) {
            Decision::Stop(_) if is_any_open() => Decision::Continue,
            decision => decision,
        }
    }
}

/// Why a study stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The interval is as narrow as the margin requires.
    Precise,
    /// The interval at [`Confidence::CERTAIN`] excludes "no difference".
    Certain,
}

/// Decides for one comparison from its log ratios so far, by its interval alone.
///
/// # Errors
/// [`StatsError::NoLogRatio`] for a number that is not finite.
pub fn decide(log_ratios: &[f64], margin: Margin) -> Result<Decision, StatsError> {
    check_log_ratios(log_ratios)?;
    if log_ratios.len() < BLOCKS_FOR_VERDICT {
        return Ok(Decision::Continue);
    }
    let paired = PairedMean::of(log_ratios)?;
    let half_width = |confidence| paired.half_width(confidence);
    Ok(decide_by(
        log_ratios.len(),
        margin,
        paired.mean(),
        half_width,
    ))
}

/// The rule itself, for an estimate over at least [`BLOCKS_FOR_VERDICT`] blocks, paired or not.
pub(super) fn decide_by(
    blocks: usize,
    margin: Margin,
    center: f64,
    half_width: impl Fn(Confidence) -> f64,
) -> Decision {
    if half_width(Confidence::COMPUTED) <= wanted_half_width(margin) {
        return Decision::Stop(Reason::Precise);
    }
    let is_certain = EARLY_LOOKS.contains(&blocks)
        && LogInterval::around(center, half_width(Confidence::CERTAIN)).excludes_zero();
    if is_certain {
        Decision::Stop(Reason::Certain)
    } else {
        Decision::Continue
    }
}

/// The number of additional blocks that would narrow an interval of this half-width over
/// `blocks` blocks to the precision that the margin requires: `n · (h / w)² − n`,
/// rounded up, at least 1.
///
/// An estimate, which assumes that the spread so far is the true one. Below
/// [`BLOCKS_ORDERED`] blocks the spread is too uncertain for that, and the result is the
/// number that is missing to `fewest`.
#[must_use]
pub fn blocks_needed(blocks: usize, fewest: usize, half_width: f64, margin: Margin) -> u32 {
    if blocks < BLOCKS_ORDERED {
        return fewest.saturating_sub(blocks).max(1) as u32;
    }
    blocks_to_narrow(blocks, half_width, wanted_half_width(margin))
}

/// The number of additional blocks that would narrow an interval of this half-width over
/// `blocks` blocks to `wanted`, at least 1; an estimate as [`blocks_needed`].
#[must_use]
pub fn blocks_to_narrow(blocks: usize, half_width: f64, wanted: f64) -> u32 {
    let n = blocks as f64;
    let more = n * (half_width / wanted).powi(2) - n;
    // The conversion saturates: an infinite half-width requires the largest number.
    more.ceil().max(1.0) as u32
}

/// Half the margin, so that an interval around "no difference" fits inside.
pub fn wanted_half_width(margin: Margin) -> f64 {
    margin.log() / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks around `center`, alternately above and below it by `apart`.
    fn blocks(count: usize, center: f64, apart: f64) -> Vec<f64> {
        (0..count)
            .map(|block| center + if block % 2 == 0 { apart } else { -apart })
            .collect()
    }

    fn decided(count: usize, center: f64, apart: f64) -> Decision {
        decide(&blocks(count, center, apart), Margin::DEFAULT).unwrap()
    }

    #[test]
    fn six_blocks_are_never_enough() {
        // Method: 0 to 6 equal blocks, which have no spread, then seven.
        for count in 0..7 {
            assert_eq!(decided(count, 0.5, 0.0), Decision::Continue);
        }
        assert_eq!(decided(7, 0.5, 0.0), Decision::Stop(Reason::Precise));
    }

    #[test]
    fn a_study_stops_when_the_interval_is_narrow_enough() {
        // Method: by hand. w is ln(1.03) / 2 = 1.478 %. Eight blocks of ±1 % reach
        // 2.715 · 1.069 % / √8 = 1.03 %; with ±1.6 % they reach 1.64 %.
        assert_eq!(decided(8, 0.0, 0.010), Decision::Stop(Reason::Precise));
        assert_eq!(decided(8, 0.0, 0.016), Decision::Continue);
    }

    #[test]
    fn a_difference_beyond_doubt_stops_at_seven_and_thirteen_blocks_only() {
        // Method: a log ratio of 0.6 with a spread too large for precision.
        for count in 6..=14 {
            let expected = if count == 7 || count == 13 {
                Decision::Stop(Reason::Certain)
            } else {
                Decision::Continue
            };
            assert_eq!(decided(count, 0.6, 0.1), expected, "{count} blocks");
            assert_eq!(decided(count, -0.6, 0.1), expected, "{count} blocks");
        }
        // Seven blocks with a mean of 0.2: at 97 %, the interval reaches 2.829 · 4.04 % = 11 % to
        // each side, and at 99.9 % it reaches 5.959 · 4.04 % = 24 %.
        assert_eq!(decided(7, 0.2, 0.1), Decision::Continue);
    }

    #[test]
    fn both_parts_of_a_study_must_stop() {
        // Method: every pair of decisions, in both orders.
        let [precise, certain] = [Reason::Precise, Reason::Certain].map(Decision::Stop);
        let table = [
            (precise, precise, precise),
            (precise, certain, certain),
            (certain, certain, certain),
            (precise, Decision::Continue, Decision::Continue),
            (certain, Decision::Continue, Decision::Continue),
            (Decision::Continue, Decision::Continue, Decision::Continue),
        ];
        for (decision, other, both) in table {
            assert_eq!(decision.and(other), both, "{decision:?} {other:?}");
            assert_eq!(other.and(decision), both, "{other:?} {decision:?}");
        }
    }

    #[test]
    fn twice_the_width_needs_four_times_the_blocks() {
        // Method: the formula at round numbers and at its edges.
        let wanted = Margin::DEFAULT.log() / 2.0;
        assert_eq!(
            blocks_needed(10, 7, 2.0 * wanted * 0.9999, Margin::DEFAULT),
            30
        );
        assert_eq!(blocks_needed(10, 7, wanted / 2.0, Margin::DEFAULT), 1);
        assert_eq!(
            blocks_needed(10, 7, f64::INFINITY, Margin::DEFAULT),
            u32::MAX
        );
        assert_eq!(blocks_needed(2, 7, 10.0, Margin::DEFAULT), 5);
    }
}
