//! Whether the ends, and the builds that confirm a commit, have enough blocks.

use abx_stats::Margin;
use abx_stats::paired::PairedMean;
use abx_stats::stop::{BLOCKS_FOR_VERDICT, Decision, decide};
use abx_stats::student::Confidence;

use crate::bisect::confirmation::decide_confirmation;

/// A difference is clear if the half-width of its interval is at most this share of it. Such an
/// interval is far from 0, so that a look after every block causes no errors, and the steps of a
/// search need no better estimate of the difference of the ends.
const CLEAR: f64 = 1.0 / 3.0;

/// Whether the two ends have enough blocks: by the rule that ends a study, or because their
/// difference is clear, however large the noise.
#[must_use]
pub fn are_ends_known(logs: &[f64], margin: Margin) -> bool {
    let decision = decide(logs, margin).unwrap_or(Decision::Continue);
    decision != Decision::Continue || is_clear(logs)
}

/// Whether the pairs of builds of a commit and of its parent have enough blocks.
#[must_use]
pub fn are_builds_known(logs: &[Vec<f64>], margin: Margin) -> bool {
    let are_clear = !logs.is_empty() && logs.iter().all(|logs| is_clear(logs));
    are_clear || decide_confirmation(logs, margin) != Decision::Continue
}

fn is_clear(logs: &[f64]) -> bool {
    let Ok(mean) = PairedMean::of(logs) else {
        return false;
    };
    let half_width = mean.half_width(Confidence::COMPUTED);
    logs.len() >= BLOCKS_FOR_VERDICT && half_width < CLEAR * mean.mean().abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks around `center`, alternately above and below it.
    fn blocks(count: usize, center: f64, apart: f64) -> Vec<f64> {
        let sign = |block: usize| {
            if block.is_multiple_of(2) {
                apart
            } else {
                -apart
            }
        };
        (0..count).map(|block| center + sign(block)).collect()
    }

    #[test]
    fn a_large_difference_needs_no_narrow_interval() {
        // Method: ten blocks that halve the speed, with 20 % of noise, which is far from precise;
        // the same noise around a small difference; too few blocks; and builds of which one pair
        // is not clear.
        let known = |logs: &[f64]| are_ends_known(logs, Margin::DEFAULT);
        assert!(known(&blocks(10, -0.7, 0.2)));
        assert!(!known(&blocks(10, -0.1, 0.2)));
        assert!(!known(&blocks(6, -0.7, 0.2)));
        let mut pairs = vec![blocks(10, -0.7, 0.2); 4];
        assert!(are_builds_known(&pairs, Margin::DEFAULT));
        pairs[3] = blocks(10, -0.1, 0.2);
        assert!(!are_builds_known(&pairs, Margin::DEFAULT));
        assert!(!are_builds_known(&[], Margin::DEFAULT));
    }
}
