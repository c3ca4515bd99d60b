//! What an interval means: the verdict, and whether it stands on firm ground.
//! [`assess`] takes the per-block log ratios of one comparison to all of it.

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

/// The result of the blocks of one comparison, ready to be printed.
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
    /// How many blocks it rests on.
    pub blocks: usize,
    /// How often blocks without a difference would look at least so different,
    /// adjusted for the claims made together with this one.
    pub p_adjusted: f64,
    /// What its claims are held to among those made together.
    pub required: Required,
    /// For a speed; else take it [`Verdict::in_sense`].
    pub verdict: Verdict,
    /// The verdict of a method that trusts single blocks less, held to the same
    /// evidence; `None` if it has no result.
    pub second_verdict: Option<Verdict>,
    /// Whether a few blocks pull the mean: that method's estimate is further from it
    /// than half of the half-width.
    pub is_pulled: bool,
    /// That method's estimate, `None` below 6 blocks.
    pub hodges_lehmann: Option<RatioInterval>,
    /// How many blocks more would settle it, for an inconclusive verdict.
    pub blocks_more: Option<u32>,
    /// The same where it cannot be called equivalent: until a direction shows.
    pub blocks_to_direction: Option<u32>,
}

impl Assessment {
    /// Whether the verdict hangs on the choice of method.
    #[must_use]
    pub fn is_fragile(&self) -> bool {
        self.is_pulled || self.second_verdict.is_some_and(|it| it != self.verdict)
    }
}

impl Assessment {
    /// What holds at both ends of what the blocks may be: `ends` are the assessments of the
    /// lowest ratio in each block and of the highest. The interval reaches from the lowest to
    /// the highest. The verdict is that of both ends, or inconclusive. The ratio is that
    /// of the end nearer to 1 for a direction, else that of this one.
    #[must_use]
    pub fn between(self, ends: [Assessment; 2]) -> Assessment {
        let [low, high] = ends;
        let agreed = |this_verdict: Verdict, other: Verdict| {
            if this_verdict == other {
                this_verdict
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
                |(ratio_interval, (low, high))| RatioInterval {
                    low: low.low,
                    high: high.high,
                    ..ratio_interval
                },
            ),
            blocks_more: low.blocks_more.max(high.blocks_more),
            blocks_to_direction: low.blocks_to_direction.max(high.blocks_to_direction),
            ..self
        }
    }
}

/// How sure the two claims about one comparison must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Required {
    /// To be called faster or slower; `None` where nothing would do.
    pub direction: Option<Confidence>,
    pub equivalence: Confidence,
    /// The fewest blocks for either.
    pub blocks: usize,
    /// What the others show of its spread, if they may.
    pub prior: Option<SpreadPrior>,
}

/// Comparisons that are judged together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClaimFamily {
    /// What their directions may be wrong in.
    pub budget: ErrorBudget,
    /// Subjects less one: equivalence is claimed at one minus the error over it.
    pub equivalences: usize,
    /// The fewest blocks that carry a verdict.
    pub blocks: usize,
    /// Whether they are evidence of each other's spread.
    pub is_spread_shared: bool,
}

impl ClaimFamily {
    /// Comparisons that no others stand behind, among so many subjects less one.
    #[must_use]
    pub fn alone(equivalences: usize) -> ClaimFamily {
        ClaimFamily {
            budget: ErrorBudget::whole(ERROR),
            equivalences,
            blocks: BLOCKS_FOR_VERDICT,
            is_spread_shared: false,
        }
    }

    /// Comparisons that were requested before all others of the same subjects.
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

    /// The same in a study whose number of blocks was set, or was not: if it was,
    /// fewer carry a verdict, and they are evidence of each other's spread.
    #[must_use]
    pub fn ordered(self, is_ordered: bool) -> ClaimFamily {
        ClaimFamily {
            blocks: blocks_for_verdict(is_ordered),
            is_spread_shared: is_ordered,
            ..self
        }
    }

    /// These, if they are this share of all that are requested together and the others
    /// are judged apart, by another metric: each may be wrong in its share.
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

    /// Comparisons behind these, of which so many claims stand.
    #[must_use]
    pub fn behind(self, standing: usize, claims: usize) -> ClaimFamily {
        ClaimFamily {
            budget: ErrorBudget::whole(self.budget.behind(standing, claims)),
            // They are pairs of subjects that occur in several others each.
            is_spread_shared: false,
            ..self
        }
    }

    /// What each of these claims is held to, by its p-value, which comes back adjusted.
    pub(crate) fn held_to(self, p_values: &[f64]) -> Vec<(Required, f64)> {
        let equivalence = ERROR / self.equivalences.max(1) as f64;
        let equivalence = Confidence::new(1.0 - equivalence).unwrap_or(Confidence::CERTAIN);
        let each = holm(p_values, self.budget).into_iter().map(|adjusted| {
            let required = Required {
                direction: Confidence::new(1.0 - adjusted.error),
                equivalence,
                blocks: self.blocks,
                prior: None,
            };
            // As if all that directions may be wrong in were these claims'.
            let p_adjusted = (adjusted.p_value * ERROR / self.budget.error).min(1.0);
            (required, p_adjusted)
        });
        each.collect()
    }
}

impl Required {
    /// Of a comparison that is the only one.
    pub const ALONE: Required = Required {
        direction: Some(Confidence::COMPUTED),
        equivalence: Confidence::COMPUTED,
        blocks: BLOCKS_FOR_VERDICT,
        prior: None,
    };

    /// Reads the intervals of one method at these confidences.
    pub(crate) fn verdict(
        self,
        interval: impl Fn(Confidence) -> LogInterval,
        margin: Margin,
    ) -> Verdict {
        if is_within(&interval(self.equivalence), margin) {
            return Verdict::Equivalent;
        }
        self.direction
            .map_or(Verdict::Inconclusive, |it| direction(&interval(it)))
    }
}

/// Judges one comparison by the log ratios `ln(subject / baseline)` of its
/// blocks, in any order. Below 7 blocks there is an interval, and the verdict
/// is always inconclusive.
///
/// # Errors
/// - [`StatsError::NoLogRatio`] for a number that is not finite.
/// - [`StatsError::TooFewBlocks`] below 2 blocks.
pub fn assess(log_ratios: &[f64], margin: Margin) -> Result<Assessment, StatsError> {
    let mut results = assess_together(&[log_ratios], margin, ClaimFamily::alone(1));
    results.pop().expect("as many assessments as comparisons")
}

/// Judges comparisons that are claimed together, so that all their directions
/// are wrong no more often than that of a single one may be. Each interval is
/// that of its comparison alone: with several, one that excludes 1 may still
/// be inconclusive.
///
/// Method: directions by Holm's adjustment of the p-values; equivalence by
/// intervals at one minus the error over k − 1 for k subjects, whether all of them
/// are beside one or each beside each.
/// Source: docs/explain/statistics/several-subjects.md, "Several subjects"; Lauzon and Caffo (2009).
#[must_use]
pub fn assess_together(
    values: &[&[f64]],
    margin: Margin,
    family: ClaimFamily,
) -> Vec<Result<Assessment, StatsError>> {
    let prior = SpreadPrior::of(values).filter(|_| family.is_spread_shared);
    let means: Vec<_> = values.iter().map(|values| mean_of(values, prior)).collect();
    // What has no mean claims nothing, and makes nothing harder for the others.
    let claims = means.iter().filter_map(|mean| mean.as_ref().ok());
    let p_values: Vec<f64> = claims.map(PairedMean::p_value).collect();
    let mut held_to = family.held_to(&p_values).into_iter();
    let mut assessed = Vec::with_capacity(values.len());
    for (log_ratios, mean) in values.iter().zip(means) {
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

/// Decides whether comparisons that are claimed together have blocks enough: when each
/// has a verdict among them, and its own interval would end the study; see [`decide`].
/// With no comparison at all there is nothing to be sure of, so it continues.
#[must_use]
pub fn decide_together(values: &[&[f64]], margin: Margin, family: ClaimFamily) -> Decision {
    // A block without a verified response has no ratio: nothing is settled by it.
    let alone = values
        .iter()
        .map(|values| decide(values, margin).unwrap_or(Decision::Continue));
    let is_open = |assessed: Result<Assessment, _>| {
        assessed.map_or(true, |it: Assessment| it.verdict == Verdict::Inconclusive)
    };
    Decision::together(alone, || {
        let mut assessed = assess_together(values, margin, family).into_iter();
        assessed.any(is_open)
    })
}

/// Which of the comparisons that are claimed together are settled whatever later blocks of
/// the others show: the interval of one lies inside the margin at the confidence that sameness
/// is held to, or after one of the [`EARLY_LOOKS`] its direction is beyond doubt for all of
/// them together.
///
/// Method: beyond doubt for m claims is [`Confidence::CERTAIN`] divided among m, so the order
/// in which Holm takes the others changes nothing. Those that are judged apart by another metric
/// count among the m. A comparison that left as soon as its
/// verdict stood among them would have a false direction far too often: each look would be one
/// more chance. Source: docs/explain/statistics/stopping.md, "Each load by its own rule".
#[must_use]
pub fn settled_for_good(
    values: &[&[f64]],
    margin: Margin,
    family: ClaimFamily,
) -> Vec<Option<Reason>> {
    let claims = values.len().max(1) as f64 * ERROR / family.budget.error;
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
    values.iter().map(reason).collect()
}

/// Reads blocks as one of several comparisons that were made together, held to what
/// that one was held to: such as some of its blocks, or of their rounds.
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
    let paired_mean = PairedMean::of(log_ratios)?;
    Ok(prior.map_or(paired_mean, |prior| paired_mean.with(prior)))
}

/// What all directions of a family together may be wrong in.
pub(crate) const ERROR: f64 = 1.0 - Confidence::COMPUTED.share();

/// The share of what the last requested pair may be wrong in that goes to the pairs behind
/// the gate. The less it is, the less the requested pairs pay for them.
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
    let pull = second.map_or(0.0, |it| (interval.center - it.interval.center).abs());
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
            second_verdict(|it| averages.interval(it), verdict, required, margin)
        }),
        is_pulled: pull > interval.half_width() / 2.0,
        hodges_lehmann: second.map(|second| second.interval.ratios(second.coverage)),
        blocks_more: to_precision.into_iter().chain(to_direction).min(),
        blocks_to_direction: to_direction,
    })
}

/// The verdict of ranks beside that of the mean; `None` if it settles nothing and
/// a few blocks cannot be ranked with as much confidence as a claim requires: weaker
/// evidence contradicts no claim that requires more.
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

/// How many blocks more it takes for the precision that the margin requires.
fn blocks_to_precision(mean: &PairedMean, required: Required, margin: Margin) -> u32 {
    let half_width = mean.half_width(required.equivalence);
    blocks_needed(mean.blocks(), required.blocks, half_width, margin)
}

/// How many blocks more it takes until a direction shows; `None` when no number that
/// anybody would wait for does.
fn blocks_to_direction(mean: &PairedMean, required: Required) -> Option<u32> {
    let blocks = mean.blocks();
    if blocks < BLOCKS_ORDERED {
        // Too few for a spread to go by.
        return Some(required.blocks.saturating_sub(blocks) as u32);
    }
    let count = mean.blocks_to_direction(required.direction?, BLOCKS_MOST)?;
    Some(count.saturating_sub(blocks).max(1) as u32)
}

/// More blocks than is practical: at a minute each they take two years.
const BLOCKS_MOST: usize = 1_000_000;

/// Reads an interval of log ratios of a metric of which more is better:
/// equivalent when it lies inside the margin, else faster or slower when it
/// excludes "no difference", else inconclusive.
///
/// Never [`Verdict::Invalid`]: that is decided from findings, before.
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
