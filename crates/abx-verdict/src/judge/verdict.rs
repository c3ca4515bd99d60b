//! From the log ratios of blocks to verdicts, and whether a verdict is fragile. Start at
//! [`assess`], which does this for one comparison.

use abx_stats::holm::{ErrorBudget, holm};
use abx_stats::paired::{LogInterval, PairedMean, RatioInterval};
use abx_stats::pooled::SpreadPrior;
use abx_stats::signed_rank::{RankInterval, WalshAverages};
use abx_stats::stop::{
    BLOCKS_FOR_VERDICT, BLOCKS_ORDERED, Decision, EARLY_LOOKS, Reason, blocks_for_verdict,
    blocks_needed, decide,
};
use abx_stats::student::Confidence;
use abx_stats::{Margin, StatsError};

pub use crate::judge::verdict_word::Verdict;

/// The result of one comparison, ready to be printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assessment {
    /// Subject over baseline; 1.10 is "10 % more".
    pub ratio: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// The confidence to print, [`Confidence::PRINTED`]. The interval is
    /// computed at [`Confidence::COMPUTED`]; docs/explain/statistics/blocks.md explains why.
    pub confidence: f64,
    /// The number of blocks on which it rests.
    pub blocks: usize,
    /// How often blocks without a difference would look at least so different,
    /// adjusted for the claims made together with this one.
    pub p_adjusted: f64,
    /// The evidence that each of its claims needs among those made together.
    pub required: Required,
    /// For a metric of which more is better; see [`Verdict::in_sense`] for others.
    pub verdict: Verdict,
    /// The verdict of ranks, which give single blocks less weight, by the same required
    /// evidence; `None` if they have no result.
    pub second_verdict: Option<Verdict>,
    /// Whether a few blocks pull the mean: the estimate by ranks is further from it
    /// than half of the half-width.
    pub is_pulled: bool,
    /// The estimate by ranks; `None` below 6 blocks.
    pub hodges_lehmann: Option<RatioInterval>,
    /// The number of additional blocks that would settle an inconclusive verdict.
    pub blocks_more: Option<u32>,
    /// The number of additional blocks until a direction shows, for comparisons that cannot be
    /// equivalent.
    pub blocks_to_direction: Option<u32>,
}

impl Assessment {
    /// Whether the verdict depends on the choice of method.
    #[must_use]
    pub fn is_fragile(&self) -> bool {
        self.is_pulled || self.second_verdict.unwrap_or(self.verdict) != self.verdict
    }

    /// The claims that hold at both bounds of the blocks' ratios: `bounds` are the assessments of
    /// the lowest ratio in each block and of the highest. The interval spans both. The verdict is
    /// theirs if they agree, otherwise inconclusive. The ratio is that of the bound nearer to 1 for
    /// a direction, otherwise that of `self`.
    #[must_use]
    pub fn between(self, bounds: [Assessment; 2]) -> Assessment {
        let [low, high] = bounds;
        let agreed = |low: Verdict, high: Verdict| {
            if low == high {
                low
            } else {
                Verdict::Inconclusive
            }
        };
        let verdict = agreed(low.verdict, high.verdict);
        let second =
            |assessment: Assessment| assessment.second_verdict.unwrap_or(assessment.verdict);
        let has_second = low.second_verdict.or(high.second_verdict).is_some();
        let hodges_lehmann = low.hodges_lehmann.zip(high.hodges_lehmann);
        Assessment {
            ratio: match verdict {
                Verdict::Faster => low.ratio,
                Verdict::Slower => high.ratio,
                _ => self.ratio,
            },
            low: low.low,
            high: high.high,
            p_adjusted: low.p_adjusted.max(high.p_adjusted),
            verdict,
            second_verdict: has_second.then(|| agreed(second(low), second(high))),
            is_pulled: low.is_pulled || high.is_pulled,
            hodges_lehmann: self.hodges_lehmann.zip(hodges_lehmann).map(
                |(interval, (low, high))| RatioInterval {
                    low: low.low,
                    high: high.high,
                    ..interval
                },
            ),
            blocks_more: low.blocks_more.max(high.blocks_more),
            blocks_to_direction: low.blocks_to_direction.max(high.blocks_to_direction),
            ..self
        }
    }
}

/// The evidence that the two claims about one comparison need.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Required {
    /// The confidence for faster or slower; `None` if no evidence would be enough.
    pub direction: Option<Confidence>,
    pub equivalence: Confidence,
    /// The fewest blocks for either claim.
    pub blocks: usize,
    /// The spread that the other comparisons show, if they are evidence of this one's.
    pub prior: Option<SpreadPrior>,
}

/// Comparisons that are judged together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClaimFamily {
    /// The error that all their directions together may have.
    pub budget: ErrorBudget,
    /// The number of subjects less one. The error of equivalence is divided by it.
    pub equivalences: usize,
    /// The fewest blocks that carry a verdict.
    pub blocks: usize,
    /// Whether the comparisons are evidence of each other's spread.
    pub is_spread_shared: bool,
}

impl ClaimFamily {
    /// Comparisons that hand no error on to others.
    #[must_use]
    pub fn alone(equivalences: usize) -> ClaimFamily {
        ClaimFamily {
            budget: ErrorBudget::whole(ERROR),
            equivalences,
            blocks: BLOCKS_FOR_VERDICT,
            is_spread_shared: false,
        }
    }

    /// The requested comparisons, which are judged before all others of the same subjects.
    #[must_use]
    pub fn gate(equivalences: usize) -> ClaimFamily {
        ClaimFamily {
            budget: ErrorBudget {
                error: ERROR,
                handed_on: HANDED_ON,
            },
            equivalences,
            blocks: BLOCKS_FOR_VERDICT,
            is_spread_shared: false,
        }
    }

    /// This family in a study whose number of blocks was set in advance, or was not. If it was,
    /// fewer blocks carry a verdict, and comparisons are evidence of each other's spread.
    #[must_use]
    pub fn ordered(self, is_ordered: bool) -> ClaimFamily {
        ClaimFamily {
            blocks: blocks_for_verdict(is_ordered),
            is_spread_shared: is_ordered,
            ..self
        }
    }

    /// This family with a share of the error, because it is only that share of the requested
    /// comparisons: the others are judged separately, by another metric.
    #[must_use]
    pub fn part(self, share: f64) -> ClaimFamily {
        let error = self.budget.error * share;
        ClaimFamily {
            budget: ErrorBudget {
                error,
                ..self.budget
            },
            ..self
        }
    }

    /// The comparisons behind this gate, of whose claims so many stand.
    #[must_use]
    pub fn behind(self, standing: usize, claims: usize) -> ClaimFamily {
        ClaimFamily {
            budget: ErrorBudget::whole(self.budget.behind(standing, claims)),
            // Each of their subjects is in several of these pairs.
            is_spread_shared: false,
            ..self
        }
    }

    /// The evidence that each claim needs, given its p-value, and its adjusted p-value.
    pub(crate) fn held_to(self, p_values: &[f64]) -> Vec<(Required, f64)> {
        let equivalence = ERROR / self.equivalences.max(1) as f64;
        let equivalence = Confidence::new(1.0 - equivalence).unwrap_or(Confidence::CERTAIN);
        let claims = holm(p_values, self.budget).into_iter().map(|adjusted| {
            let required = Required {
                direction: Confidence::new(1.0 - adjusted.error),
                equivalence,
                blocks: self.blocks,
                prior: None,
            };
            // Compares with the whole error, whatever share of it this family has.
            let p_adjusted = (adjusted.p_value * ERROR / self.budget.error).min(1.0);
            (required, p_adjusted)
        });
        claims.collect()
    }
}

impl Required {
    /// The evidence that a single comparison needs.
    pub const ALONE: Required = Required {
        direction: Some(Confidence::COMPUTED),
        equivalence: Confidence::COMPUTED,
        blocks: BLOCKS_FOR_VERDICT,
        prior: None,
    };

    /// The verdict of one method, by its intervals at these confidences.
    pub(crate) fn verdict(
        self,
        interval: impl Fn(Confidence) -> LogInterval,
        margin: Margin,
    ) -> Verdict {
        if is_within(&interval(self.equivalence), margin) {
            return Verdict::Equivalent;
        }
        match self.direction {
            Some(confidence) => direction(&interval(confidence)),
            None => Verdict::Inconclusive,
        }
    }
}

/// Judges one comparison by the log ratios `ln(subject / baseline)` of its
/// blocks, in any order. Below 7 blocks the verdict is always inconclusive.
///
/// # Errors
/// - [`StatsError::NoLogRatio`] for a log ratio that is not finite.
/// - [`StatsError::TooFewBlocks`] below 2 blocks.
pub fn assess(log_ratios: &[f64], margin: Margin) -> Result<Assessment, StatsError> {
    let mut results = assess_together(&[log_ratios], margin, ClaimFamily::alone(1));
    results.pop().expect("as many assessments as comparisons")
}

/// Judges comparisons together, so that any of their directions is false no more
/// often than that of a single comparison may be. Each interval is that of its
/// comparison alone, so one that excludes 1 may still be inconclusive.
///
/// Method: directions by Holm's adjustment of the p-values; equivalence by
/// intervals at a confidence of 1 − error ÷ (k − 1) for k subjects, whether all are
/// compared with one of them or each with each.
/// Source: docs/explain/statistics/several-subjects.md, "Several subjects"; Lauzon and Caffo (2009).
#[must_use]
pub fn assess_together(
    comparisons: &[&[f64]],
    margin: Margin,
    family: ClaimFamily,
) -> Vec<Result<Assessment, StatsError>> {
    let prior = SpreadPrior::of(comparisons).filter(|_| family.is_spread_shared);
    let means: Vec<_> = comparisons
        .iter()
        .map(|log_ratios| mean_of(log_ratios, prior))
        .collect();
    // A comparison without a mean claims nothing, so the others need no more evidence.
    let claims = means.iter().filter_map(|mean| mean.as_ref().ok());
    let p_values: Vec<f64> = claims.map(PairedMean::p_value).collect();
    let mut held_to = family.held_to(&p_values).into_iter();
    let mut assessed = Vec::with_capacity(comparisons.len());
    for (log_ratios, mean) in comparisons.iter().zip(means) {
        assessed.push(mean.and_then(|mean| {
            let (required, p_adjusted) = held_to.next().expect("one for each mean");
            let required = Required { prior, ..required };
            describe(log_ratios, &mean, required, margin).map(|assessment| Assessment {
                p_adjusted,
                ..assessment
            })
        }));
    }
    assessed
}

/// Decides whether comparisons that are judged together have enough blocks: each needs a verdict
/// in the family, and an interval that would end a study of this comparison alone; see
/// [`decide`]. Without any comparison, measuring continues.
#[must_use]
pub fn decide_together(comparisons: &[&[f64]], margin: Margin, family: ClaimFamily) -> Decision {
    // A block without a verified response has no ratio, so it settles nothing.
    let alone = comparisons
        .iter()
        .map(|log_ratios| decide(log_ratios, margin).unwrap_or(Decision::Continue));
    let is_open = |result: Result<Assessment, _>| {
        !result.is_ok_and(|assessment| assessment.verdict != Verdict::Inconclusive)
    };
    Decision::together(alone, || {
        let mut results = assess_together(comparisons, margin, family).into_iter();
        results.any(is_open)
    })
}

/// Which of the comparisons that are judged together are settled, whatever later blocks of the
/// others show. Either the interval of one lies inside the margin at the confidence that
/// equivalence needs. Or, after one of the [`EARLY_LOOKS`], its direction is beyond doubt for
/// the whole family.
///
/// Method: the error of [`Confidence::CERTAIN`] is divided among m claims, so the order in which
/// Holm takes the others changes nothing. Claims that are judged separately by another metric
/// count among the m. A comparison must not leave as soon as it has a verdict in the family:
/// each look would be another chance of a false direction. Source:
/// docs/explain/statistics/stopping.md, "Each load by its own rule".
#[must_use]
pub fn settled_for_good(
    comparisons: &[&[f64]],
    margin: Margin,
    family: ClaimFamily,
) -> Vec<Option<Reason>> {
    let claims = comparisons.len().max(1) as f64 * ERROR / family.budget.error;
    let (required, _) = family.held_to(&[0.0])[0];
    let certain = Confidence::new(1.0 - (1.0 - Confidence::CERTAIN.share()) / claims);
    let reason = |log_ratios: &&[f64]| {
        let is_enough = matches!(decide(log_ratios, margin), Ok(Decision::Stop(_)));
        let mean = PairedMean::of(log_ratios).ok().filter(|_| is_enough)?;
        let is_look = EARLY_LOOKS.contains(&log_ratios.len());
        if is_look && certain.is_some_and(|certain| mean.interval(certain).excludes_zero()) {
            Some(Reason::Certain)
        } else {
            let is_same = is_within(&mean.interval(required.equivalence), margin);
            is_same.then_some(Reason::Precise)
        }
    };
    comparisons.iter().map(reason).collect()
}

/// Judges other log ratios of a comparison that was judged together with others, by the same
/// required evidence: some of its blocks, or blocks without some of their rounds.
///
/// # Errors
/// As [`assess`].
pub fn assess_as(
    log_ratios: &[f64],
    required: Required,
    margin: Margin,
) -> Result<Assessment, StatsError> {
    let mean = mean_of(log_ratios, required.prior)?;
    describe(log_ratios, &mean, required, margin)
}

fn mean_of(log_ratios: &[f64], prior: Option<SpreadPrior>) -> Result<PairedMean, StatsError> {
    let mean = PairedMean::of(log_ratios)?;
    Ok(prior.map_or(mean, |prior| mean.with(prior)))
}

/// The probability that any direction of a family is false.
pub(crate) const ERROR: f64 = 1.0 - Confidence::COMPUTED.share();

/// The share of the last requested pair's error that goes to the pairs behind the gate. The
/// smaller it is, the less evidence the requested pairs need.
const HANDED_ON: f64 = 0.1;

fn describe(
    log_ratios: &[f64],
    mean: &PairedMean,
    required: Required,
    margin: Margin,
) -> Result<Assessment, StatsError> {
    let interval = mean.interval(Confidence::COMPUTED);
    let averages = WalshAverages::of(log_ratios)?;
    let second = averages
        .as_ref()
        .map(|averages| averages.interval(Confidence::COMPUTED));
    let pull = second.map_or(0.0, |ranks| (interval.center - ranks.interval.center).abs());
    let verdict = if mean.blocks() < required.blocks {
        Verdict::Inconclusive
    } else {
        required.verdict(|confidence| mean.interval(confidence), margin)
    };
    let is_open = verdict == Verdict::Inconclusive;
    let to_direction = is_open
        .then(|| blocks_to_direction(mean, required))
        .flatten();
    let to_precision = is_open.then(|| blocks_to_precision(mean, required, margin));
    let RatioInterval {
        ratio,
        low,
        high,
        confidence,
    } = interval.ratios(Confidence::PRINTED.share());
    Ok(Assessment {
        ratio,
        low,
        high,
        confidence,
        blocks: mean.blocks(),
        p_adjusted: mean.p_value(),
        required,
        verdict,
        second_verdict: averages.and_then(|averages| {
            let ranks = |confidence| averages.interval(confidence);
            second_verdict(ranks, verdict, required, margin)
        }),
        is_pulled: pull > interval.half_width() / 2.0,
        hodges_lehmann: second.map(|second| second.interval.ratios(second.coverage)),
        blocks_more: to_precision.into_iter().chain(to_direction).min(),
        blocks_to_direction: to_direction,
    })
}

/// The verdict of ranks, given that of the mean. `None` if the mean's is inconclusive and the
/// ranks of so few blocks cannot reach the confidence that a claim requires: weaker evidence
/// contradicts no such claim.
pub(crate) fn second_verdict(
    ranks: impl Fn(Confidence) -> RankInterval,
    verdict: Verdict,
    required: Required,
    margin: Margin,
) -> Option<Verdict> {
    let is_reached = |confidence: Confidence| ranks(confidence).coverage >= confidence.share();
    let can_claim = required.direction.is_some_and(is_reached) && is_reached(required.equivalence);
    let second = required.verdict(|confidence| ranks(confidence).interval, margin);
    (can_claim || verdict != Verdict::Inconclusive).then_some(second)
}

/// The number of additional blocks until the mean is as precise as the margin requires.
fn blocks_to_precision(mean: &PairedMean, required: Required, margin: Margin) -> u32 {
    let half_width = mean.half_width(required.equivalence);
    blocks_needed(mean.blocks(), required.blocks, half_width, margin)
}

/// The number of additional blocks until a direction shows; `None` if [`BLOCKS_MOST`] are not
/// enough.
fn blocks_to_direction(mean: &PairedMean, required: Required) -> Option<u32> {
    let blocks = mean.blocks();
    if blocks < BLOCKS_ORDERED {
        // Too few to estimate a spread.
        return Some(required.blocks.saturating_sub(blocks) as u32);
    }
    let count = mean.blocks_to_direction(required.direction?, BLOCKS_MOST)?;
    Some(count.saturating_sub(blocks).max(1) as u32)
}

/// More blocks than is practical: at a minute each they take two years.
const BLOCKS_MOST: usize = 1_000_000;

/// Judges an interval of log ratios of a metric of which more is better:
/// equivalent if it lies inside the margin, else faster or slower if it
/// excludes "no difference", else inconclusive.
///
/// Never [`Verdict::Invalid`], which findings decide before.
#[must_use]
pub fn judge_interval(interval: &LogInterval, margin: Margin) -> Verdict {
    if is_within(interval, margin) {
        return Verdict::Equivalent;
    }
    direction(interval)
}

fn direction(interval: &LogInterval) -> Verdict {
    if interval.low > 0.0 {
        Verdict::Faster
    } else if interval.high < 0.0 {
        Verdict::Slower
    } else {
        Verdict::Inconclusive
    }
}

fn is_within(interval: &LogInterval, margin: Margin) -> bool {
    interval.low > -margin.log() && interval.high < margin.log()
}

#[cfg(test)]
mod tests;
