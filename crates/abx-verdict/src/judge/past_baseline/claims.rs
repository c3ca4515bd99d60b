//! What the blocks of both sides say, for all subjects of one load together.

use crate::judge::verdict::{ClaimFamily, Required, Verdict, second_verdict};
use abx_stats::rank_sum::Shifts;
use abx_stats::signed_rank::RankInterval;
use abx_stats::stop::{BLOCKS_ORDERED, Decision};
use abx_stats::student::Confidence;
use abx_stats::welch::{self, TwoSamples, Welch};
use abx_stats::{Margin, StatsError};

/// The logarithms of both sides of one comparison, block by block: over what was measured
/// beside them, where there is such a thing.
pub(super) struct Sides {
    pub(super) now: Vec<f64>,
    pub(super) then: Vec<f64>,
    /// The standard error of what happened in between and is in no block; `None` when
    /// nothing was measured beside them, so that nobody knows.
    pub(super) between: Option<f64>,
}

/// What one comparison claims.
pub(super) struct Claim {
    pub(super) welch: Welch,
    /// With how many it was judged together; 0 where nothing is claimed.
    pub(super) together: usize,
    /// Adjusted for those judged together; `None` where nothing is claimed.
    pub(super) p_adjusted: Option<f64>,
    pub(super) verdict: Verdict,
    pub(super) is_fragile: bool,
    pub(super) second: Option<RankInterval>,
    /// How many blocks more would settle it; `None` when no number would.
    pub(super) blocks_more: Option<u32>,
}

impl Sides {
    pub(super) fn samples(&self) -> TwoSamples<'_> {
        TwoSamples {
            now: &self.now,
            then: &self.then,
            between: self.between.unwrap_or_default(),
        }
    }

    /// Whether its own interval would end a study: where it can claim nothing, blocks may
    /// still say how far the sides are apart.
    fn decide(&self, margin: Margin) -> Decision {
        // A block without a verified response has no logarithm: nothing is settled by it.
        welch::decide(self.samples(), margin).unwrap_or(Decision::Continue)
    }

    fn claim(&self, held_to: Option<(Required, f64)>, together: usize, margin: Margin) -> Claim {
        let samples = self.samples();
        let welch = Welch::of(samples).expect("what has no interval is not asked");
        let shifts = Shifts::of(samples).unwrap_or_default();
        let second = shifts
            .as_ref()
            .map(|shifts| shifts.interval(Confidence::COMPUTED));
        let (Some((required, p_adjusted)), true) = (held_to, self.has_enough()) else {
            let missing = BLOCKS_ORDERED.saturating_sub(self.now.len());
            return Claim {
                welch,
                together: 0,
                p_adjusted: None,
                verdict: Verdict::Inconclusive,
                is_fragile: false,
                second,
                blocks_more: (missing > 0).then_some(missing as u32),
            };
        };
        let verdict = required.verdict(|it| welch.interval(it), margin);
        let interval = welch.interval(Confidence::COMPUTED);
        let is_pulled = second.is_some_and(|second| {
            (interval.center - second.interval.center).abs() > interval.half_width() / 2.0
        });
        let by_ranks = shifts
            .and_then(|shifts| second_verdict(|it| shifts.interval(it), verdict, required, margin));
        let more = || welch::blocks_more(samples, margin, required.equivalence, required.direction);
        Claim {
            welch,
            together,
            p_adjusted: Some(p_adjusted),
            verdict,
            is_fragile: is_pulled || by_ranks.is_some_and(|this_verdict| this_verdict != verdict),
            second,
            blocks_more: (verdict == Verdict::Inconclusive)
                .then(more)
                .and_then(|more| more.unwrap_or_default()),
        }
    }

    fn has_enough(&self) -> bool {
        self.now.len().min(self.then.len()) >= BLOCKS_ORDERED
    }
}

/// What each claims, adjusted for the others; an error for what has no interval, which
/// claims nothing and makes nothing harder for the others.
pub(super) fn claims(sides: &[&Sides], margin: Margin) -> Vec<Result<Claim, StatsError>> {
    let means: Vec<_> = sides
        .iter()
        .map(|sides| Welch::of(sides.samples()))
        .collect();
    let can_claim = |at: usize| means[at].is_ok() && sides[at].between.is_some();
    let p_values: Vec<f64> = (0..sides.len())
        .filter(|at| can_claim(*at))
        .filter_map(|at| Some(means[at].as_ref().ok()?.p_value()))
        .collect();
    let mut held_to = ClaimFamily::alone(p_values.len())
        .held_to(&p_values)
        .into_iter();
    let each = means.iter().enumerate().map(|(at, mean)| {
        mean.as_ref().map_err(|error| *error)?;
        let pair = if can_claim(at) { held_to.next() } else { None };
        Ok(sides[at].claim(pair, p_values.len(), margin))
    });
    each.collect()
}

/// Whether the blocks so far settle all of them; as
/// [`decide_together`](crate::judge::verdict::decide_together) of paired ones.
pub(super) fn decide_together(all_sides: &[&Sides], margin: Margin) -> Decision {
    let alone = all_sides.iter().map(|sides| sides.decide(margin));
    let is_open = |(sides, claim): (&&Sides, Result<Claim, StatsError>)| {
        let is_inconclusive = |it: Claim| it.verdict == Verdict::Inconclusive;
        sides.between.is_some() && claim.map_or(true, is_inconclusive)
    };
    Decision::together(alone, || {
        all_sides.iter().zip(claims(all_sides, margin)).any(is_open)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use abx_stats::stop::Reason;

    /// So many comparisons of these blocks with as many that have no spread.
    fn beside_steady(now: &[f64]) -> Sides {
        Sides {
            now: now.to_vec(),
            then: vec![0.0; now.len()],
            between: Some(0.0),
        }
    }

    #[test]
    fn a_precise_comparison_without_a_verdict_among_others_does_not_stop() {
        // Method: twelve blocks around 1.6 %, 2.95 standard errors from 0 with 11 degrees of
        // freedom: sure enough alone, at 97 %, and not among five, at 99.4 %; nor beside one
        // that is level and settled.
        let weak = beside_steady(&[0.016 + 0.018, 0.016 - 0.018].repeat(6));
        let level = beside_steady(&[0.001, -0.001].repeat(6));
        let decided = |sides: &[&Sides]| decide_together(sides, Margin::DEFAULT);
        assert_eq!(decided(&[&weak]), Decision::Stop(Reason::Precise));
        assert_eq!(decided(&[&weak; 5]), Decision::Continue);
        assert_eq!(
            decided(&[&weak, &weak, &weak, &weak, &level]),
            Decision::Continue
        );
        assert_eq!(decided(&[&level; 5]), Decision::Stop(Reason::Precise));
        assert_eq!(decided(&[]), Decision::Continue);
    }

    #[test]
    fn a_mean_that_a_few_blocks_pull_is_fragile() {
        // Method: thirty blocks, as many above 0 as below, without and with three far above:
        // nothing is settled, but the mean lies 0.3 from the median, of a half-width of 0.39.
        let mut blocks: Vec<f64> = (0..30)
            .map(|block| 0.02 * f64::from(block) - 0.29)
            .collect();
        let claim = |blocks: &[f64]| {
            let mut results = claims(&[&beside_steady(blocks)], Margin::DEFAULT);
            results.remove(0).unwrap()
        };
        assert!(!claim(&blocks).is_fragile);
        // The mean lies 0.114 from the median of 0.06: half of the half-width is 0.117 at
        // 97 %, which is printed, and 0.105 at 95 %.
        blocks[14..17].fill(1.75);
        assert!(!claim(&blocks).is_fragile);
        blocks[14..17].fill(3.0);
        let pulled = claim(&blocks);
        assert_eq!(pulled.verdict, Verdict::Inconclusive);
        assert!(pulled.is_fragile);
    }

    #[test]
    fn the_second_interval_is_as_sure_as_the_first() {
        // Method: six blocks on each side: ranks at 95 % leave out five differences on each
        // side, as printed in tables, and cover less than 97 %.
        let six = beside_steady(&[0.01, 0.02, 0.03, 0.04, 0.05, 0.06]);
        let mut results = claims(&[&six], Margin::DEFAULT);
        let second = results.remove(0).unwrap().second.unwrap();
        assert!(second.coverage >= 0.97, "{second:?}");
    }
}
