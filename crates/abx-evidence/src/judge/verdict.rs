//! What an interval means: the verdict, and whether it stands on firm ground.
//! [`assess`] takes the per-block log ratios of one comparison to all of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judge::metric::Sense;
use crate::stats::holm::{ErrorBudget, holm};
use crate::stats::paired::{LogInterval, PairedMean, RatioInterval};
use crate::stats::signed_rank::{RankInterval, WalshAverages};
use crate::stats::stop::{BLOCKS_FOR_VERDICT, Decision, blocks_needed, decide};
use crate::stats::student::Confidence;
use crate::stats::{Margin, StatsError};

/// What a comparison says about the subject beside its baseline. Stored in
/// records as a string in snake case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A finding forbids any claim. Decided before any interval is read.
    Invalid,
    /// No difference as large as the margin.
    Equivalent,
    /// The subject is faster than the baseline.
    Faster,
    /// The subject is slower than the baseline.
    Slower,
    /// The subject needs less than the baseline.
    Less,
    /// The subject needs more than the baseline.
    More,
    /// The blocks at hand settle nothing.
    Inconclusive,
}

impl Verdict {
    /// The verdict seen from the other side: for a metric of which less is
    /// better, such as a time, or with subject and baseline exchanged.
    #[must_use]
    pub fn mirrored(self) -> Verdict {
        match self {
            Verdict::Faster => Verdict::Slower,
            Verdict::Slower => Verdict::Faster,
            Verdict::Less => Verdict::More,
            Verdict::More => Verdict::Less,
            Verdict::Invalid | Verdict::Equivalent | Verdict::Inconclusive => self,
        }
    }

    /// A verdict on a speed, turned into one on a metric of this sense.
    #[must_use]
    pub fn in_sense(self, sense: Sense) -> Verdict {
        match (sense, self) {
            (Sense::Speed, _) => self,
            (Sense::Time, _) => self.mirrored(),
            (Sense::Cost, Verdict::Faster) => Verdict::More,
            (Sense::Cost, Verdict::Slower) => Verdict::Less,
            (Sense::Cost, _) => self,
        }
    }

    /// Whether it says that the two differ, and which way.
    #[must_use]
    pub fn is_directed(self) -> bool {
        !matches!(
            self,
            Verdict::Invalid | Verdict::Equivalent | Verdict::Inconclusive
        )
    }
}

/// What the blocks of one comparison say, ready to be printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assessment {
    /// Subject over baseline; 1.10 is "10 % more".
    pub ratio: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// The confidence to print, [`Confidence::PRINTED`]. The interval is
    /// computed at [`Confidence::COMPUTED`]; docs/statistics.md says why.
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
    /// evidence; `None` where it can say nothing.
    pub second_verdict: Option<Verdict>,
    /// Whether a few blocks pull the mean: that method's estimate is further from it
    /// than half of the half-width.
    pub is_pulled: bool,
    /// That method's estimate, `None` below 6 blocks.
    pub hodges_lehmann: Option<RatioInterval>,
    /// How many blocks more would settle it, for an inconclusive verdict.
    pub blocks_more: Option<u32>,
}

impl Assessment {
    /// Whether the verdict hangs on the choice of method.
    #[must_use]
    pub fn is_fragile(&self) -> bool {
        self.is_pulled || self.second_verdict.is_some_and(|it| it != self.verdict)
    }
}

/// How sure the two claims about one comparison must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Required {
    /// To be called faster or slower; `None` where nothing would do.
    pub direction: Option<Confidence>,
    /// To be called equivalent.
    pub equivalence: Confidence,
}

/// Comparisons that are judged together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClaimFamily {
    /// What their directions may be wrong in.
    pub budget: ErrorBudget,
    /// Subjects less one: equivalence is claimed at one minus the error over it.
    pub equivalences: usize,
}

impl ClaimFamily {
    /// Comparisons that no others stand behind, among so many subjects less one.
    #[must_use]
    pub fn alone(equivalences: usize) -> ClaimFamily {
        ClaimFamily {
            budget: ErrorBudget::whole(ERROR),
            equivalences,
        }
    }

    /// Comparisons that were asked for before all others of the same subjects.
    #[must_use]
    pub fn gate(equivalences: usize) -> ClaimFamily {
        ClaimFamily {
            budget: ErrorBudget {
                error: ERROR,
                handed_on: HANDED_ON,
            },
            equivalences,
        }
    }

    /// These, where they are this share of all that are asked together and the others
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
/// blocks, in any order. Below 6 blocks there is an interval, and the verdict
/// is always inconclusive.
///
/// # Errors
/// - [`StatsError::NoLogRatio`] for a number that is not finite.
/// - [`StatsError::TooFewBlocks`] below 2 blocks.
pub fn assess(log_ratios: &[f64], margin: Margin) -> Result<Assessment, StatsError> {
    let mut all = assess_together(&[log_ratios], margin, ClaimFamily::alone(1));
    all.pop().expect("as many answers as questions")
}

/// Judges comparisons that are claimed together, so that all their directions
/// are wrong no more often than that of a single one may be. Each interval is
/// that of its comparison alone: with several, one that excludes 1 may still
/// be inconclusive.
///
/// Method: directions by Holm's adjustment of the p-values; equivalence by
/// intervals at one minus the error over k − 1 for k subjects, whether all of them
/// are beside one or each beside each.
/// Source: docs/statistics.md, "Several subjects"; Lauzon and Caffo (2009).
#[must_use]
pub fn assess_together(
    all: &[&[f64]],
    margin: Margin,
    family: ClaimFamily,
) -> Vec<Result<Assessment, StatsError>> {
    let means: Vec<_> = all.iter().map(|one| PairedMean::of(one)).collect();
    // What has no mean claims nothing, and makes nothing harder for the others.
    let claims = means.iter().filter_map(|mean| mean.as_ref().ok());
    let p_values: Vec<f64> = claims.map(PairedMean::p_value).collect();
    let mut held_to = family.held_to(&p_values).into_iter();
    let mut assessed = Vec::with_capacity(all.len());
    for (log_ratios, mean) in all.iter().zip(means) {
        assessed.push(mean.and_then(|mean| {
            let (required, p_adjusted) = held_to.next().expect("one for each mean");
            describe(log_ratios, &mean, required, margin)
                .map(|one| Assessment { p_adjusted, ..one })
        }));
    }
    assessed
}

/// Decides whether comparisons that are claimed together have blocks enough: when each
/// has a verdict among them, and its own interval would end the study; see [`decide`].
/// With no comparison at all there is nothing to be sure of, so it goes on.
#[must_use]
pub fn decide_together(all: &[&[f64]], margin: Margin, family: ClaimFamily) -> Decision {
    // A block without a verified answer has no ratio: nothing is settled by it.
    let alone = all
        .iter()
        .map(|one| decide(one, margin).unwrap_or(Decision::Continue));
    match alone.reduce(Decision::and) {
        None | Some(Decision::Continue) => Decision::Continue,
        Some(decision) => {
            let assessed = assess_together(all, margin, family);
            let is_open = |one: &Result<Assessment, _>| {
                one.as_ref()
                    .map_or(true, |one| one.verdict == Verdict::Inconclusive)
            };
            match assessed.iter().any(is_open) {
                true => Decision::Continue,
                false => decision,
            }
        }
    }
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
    describe(log_ratios, &PairedMean::of(log_ratios)?, required, margin)
}

/// What all directions of a family together may be wrong in.
pub(crate) const ERROR: f64 = 1.0 - Confidence::COMPUTED.share();

/// What goes to the pairs behind the gate. The less it is, the less those pay that were
/// asked for first: this share of what the last of them may be wrong in.
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
    let verdict = match mean.blocks() < BLOCKS_FOR_VERDICT {
        true => Verdict::Inconclusive,
        false => required.verdict(|confidence| mean.interval(confidence), margin),
    };
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
        blocks_more: (verdict == Verdict::Inconclusive)
            .then(|| blocks_more(mean, required, margin)),
    })
}

/// What ranks say beside the verdict of the mean; `None` where it settles nothing and
/// a few blocks cannot be ranked with as much confidence as a claim asks for: weaker
/// evidence contradicts nobody who asks for more.
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

/// How many blocks more would settle it: as many as the precision that the margin
/// asks for takes, or fewer where a direction shows before.
fn blocks_more(mean: &PairedMean, required: Required, margin: Margin) -> u32 {
    let blocks = mean.blocks();
    let precise = blocks_needed(blocks, mean.half_width(required.equivalence), margin);
    if blocks < BLOCKS_FOR_VERDICT {
        return precise;
    }
    let most = blocks.saturating_add(precise as usize);
    let confidence = required.direction;
    let direction = confidence.and_then(|it| mean.blocks_to_direction(it, most));
    direction.map_or(precise, |found| {
        found
            .saturating_sub(blocks)
            .max(1)
            .try_into()
            .unwrap_or(precise)
    })
}

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
mod tests {
    use super::*;
    use crate::stats::stop::Reason;

    fn interval(low: f64, high: f64) -> LogInterval {
        LogInterval {
            center: f64::midpoint(low, high),
            low,
            high,
        }
    }

    #[test]
    fn verdicts_are_decided_in_their_order() {
        // Method: one interval for each way to lie to 0 and to the margin,
        // among them the small but certain difference, which is equivalent.
        let table = [
            (-0.01, 0.01, Verdict::Equivalent),
            (0.01, 0.02, Verdict::Equivalent),
            (0.01, 0.04, Verdict::Faster),
            (0.05, 0.06, Verdict::Faster),
            (-0.04, -0.01, Verdict::Slower),
            (-0.01, 0.04, Verdict::Inconclusive),
            (-0.10, 0.10, Verdict::Inconclusive),
            (f64::NAN, f64::NAN, Verdict::Inconclusive),
        ];
        for (low, high, expected) in table {
            let found = judge_interval(&interval(low, high), Margin::DEFAULT);
            assert_eq!(found, expected, "{low} to {high}");
        }
    }

    #[test]
    fn verdicts_are_stored_as_words() {
        // Method: to JSON and back.
        let words = r#"["invalid","equivalent","faster","slower","less","more","inconclusive"]"#;
        let verdicts: Vec<Verdict> = serde_json::from_str(words).unwrap();
        assert_eq!(serde_json::to_string(&verdicts).unwrap(), words);
    }

    #[test]
    fn a_clear_difference_is_faster_and_not_fragile() {
        // Method: six blocks around 10 %, close together.
        let found = assess(&[0.10, 0.11, 0.09, 0.10, 0.105, 0.095], Margin::DEFAULT).unwrap();
        assert_eq!(found.verdict, Verdict::Faster);
        assert!(!found.is_fragile());
        assert_eq!(found.confidence, 0.95);
        assert_eq!(found.blocks_more, None);
        assert!(found.low < found.ratio && found.ratio < found.high);
    }

    #[test]
    fn five_blocks_are_inconclusive_however_clear() {
        // Method: equal blocks, so that the interval is a point.
        let found = assess(&[0.5; 5], Margin::DEFAULT).unwrap();
        assert_eq!(found.verdict, Verdict::Inconclusive);
        assert_eq!(found.blocks_more, Some(1));
        assert_eq!(found.hodges_lehmann, None);
        assert!((found.low - 0.5_f64.exp()).abs() < 1e-12);
    }

    #[test]
    fn an_inconclusive_verdict_says_what_would_settle_it() {
        // Method: ±4 % in six blocks, then the formula by hand: half-width
        // 3.0029 · 4.3818 % / √6 = 5.3718 %, wanted 1.4779 %.
        let found = assess(&[0.04, -0.04, 0.04, -0.04, 0.04, -0.04], Margin::DEFAULT).unwrap();
        assert_eq!(found.verdict, Verdict::Inconclusive);
        assert_eq!(found.blocks_more, Some(74));
    }

    #[test]
    fn a_large_difference_needs_only_the_blocks_that_show_it() {
        // Method: six blocks 27 % apart on average with a spread of 28 %. By hand:
        // (t(97 %) + t(60 %)) · s ÷ √n falls below the mean at n = 13, while the
        // precision that the margin asks for takes thousands.
        let blocks = [0.60, -0.05, 0.50, 0.10, 0.45, 0.00];
        let found = assess(&blocks, Margin::DEFAULT).unwrap();
        assert_eq!(found.verdict, Verdict::Inconclusive);
        assert_eq!(found.blocks_more, Some(7));
    }

    #[test]
    fn the_second_opinion_is_held_to_the_same_evidence() {
        // Method: blocks that ranks alone call faster at 95 %, the mean not at
        // 97 %; blocks that both call faster alone and neither among five; and six
        // blocks above 0, of which ranks tell no more than 96.9 %, among five. Both
        // opinions say the same each time, or one is silent, so nothing is fragile.
        let close = [0.05, 0.03, -0.02, 0.09, 0.10, 0.01, 0.04];
        let weak = [0.05, 0.13, -0.01, 0.09, 0.10, 0.03, 0.08];
        let found = assess_together(&[&weak[..]; 5], Margin::DEFAULT, ClaimFamily::alone(5));
        let among = found[0].as_ref().unwrap();
        let alone = assess(&close, Margin::DEFAULT).unwrap();
        let above = [0.05, 0.13, 0.01, 0.09, 0.10, 0.03];
        let found = assess_together(&[&above[..]; 5], Margin::DEFAULT, ClaimFamily::alone(5));
        let few = found[0].as_ref().unwrap();
        for one in [&alone, among, few] {
            assert_eq!(one.verdict, Verdict::Inconclusive);
            assert!(!one.is_fragile(), "{one:?}");
        }
    }

    #[test]
    fn several_claims_need_stronger_evidence_each() {
        // Method: six blocks whose interval alone excludes 1, beside itself four
        // times, and beside four that are beyond doubt: Holm lets it stand last.
        let weak = [0.05, 0.13, -0.01, 0.09, 0.10, 0.03];
        let strong = [0.50, 0.51, 0.49, 0.50, 0.505, 0.495];
        let verdicts = |all: &[&[f64]]| -> Vec<Verdict> {
            let found = assess_together(all, Margin::DEFAULT, ClaimFamily::alone(all.len()));
            found.into_iter().map(|one| one.unwrap().verdict).collect()
        };
        assert_eq!(verdicts(&[&weak]), [Verdict::Faster]);
        assert_eq!(verdicts(&[&weak[..]; 5]), [Verdict::Inconclusive; 5]);
        assert_eq!(
            verdicts(&[&strong, &strong, &weak, &strong]),
            [Verdict::Faster; 4]
        );
        let alone = assess(&weak, Margin::DEFAULT).unwrap();
        let among = assess_together(&[&weak[..]; 5], Margin::DEFAULT, ClaimFamily::alone(5));
        let among = among[0].as_ref().unwrap();
        assert_eq!((among.low, among.high), (alone.low, alone.high));
        assert!((among.p_adjusted - 5.0 * alone.p_adjusted).abs() < 1e-12);
    }

    #[test]
    fn equivalence_among_several_needs_a_narrower_spread() {
        // Method: an interval just inside of the margin alone, outside at 99.4 %.
        let close = [0.03, -0.01, 0.028, -0.012, 0.02, 0.0, 0.022, -0.006];
        let verdict = |equivalences| {
            let found =
                assess_together(&[&close], Margin::DEFAULT, ClaimFamily::alone(equivalences));
            found[0].as_ref().unwrap().verdict
        };
        assert_eq!(verdict(1), Verdict::Equivalent);
        assert_eq!(verdict(5), Verdict::Inconclusive);
    }

    #[test]
    fn a_claim_without_a_number_makes_nothing_harder_for_the_others() {
        // Method: a comparison with a silent block beside a weak one.
        let weak = [0.05, 0.13, -0.01, 0.09, 0.10, 0.03];
        let silent = [f64::NEG_INFINITY; 6];
        let found = assess_together(&[&silent, &weak], Margin::DEFAULT, ClaimFamily::alone(2));
        assert!(found[0].is_err());
        assert_eq!(found[1].as_ref().unwrap().verdict, Verdict::Faster);
    }

    #[test]
    fn a_cost_is_less_or_more_and_a_time_is_mirrored() {
        // Method: each direction in each sense.
        let table = [
            (Verdict::Faster, Sense::Speed, Verdict::Faster),
            (Verdict::Faster, Sense::Time, Verdict::Slower),
            (Verdict::Faster, Sense::Cost, Verdict::More),
            (Verdict::Slower, Sense::Cost, Verdict::Less),
            (Verdict::Equivalent, Sense::Cost, Verdict::Equivalent),
        ];
        for (verdict, sense, expected) in table {
            assert_eq!(verdict.in_sense(sense), expected, "{verdict:?} {sense:?}");
        }
    }

    #[test]
    fn one_wild_block_makes_a_verdict_fragile() {
        // Method: seventeen blocks at 5 % and one far off, which blows up the t
        // interval; the signed-rank interval of eighteen stays above 0.
        let mut blocks = [0.05, 0.051, 0.049, 0.052, 0.048, 0.05].repeat(3);
        assert!(!assess(&blocks, Margin::DEFAULT).unwrap().is_fragile());
        blocks[17] = -0.9;
        let found = assess(&blocks, Margin::DEFAULT).unwrap();
        assert_eq!(found.verdict, Verdict::Inconclusive);
        assert!(found.is_fragile());
    }

    #[test]
    fn every_comparison_must_stop() {
        // Method: a precise, a certain and an undecided comparison in one study.
        let around = |center: f64, apart: f64| {
            [apart, -apart]
                .repeat(3)
                .iter()
                .map(|it| center + it)
                .collect::<Vec<f64>>()
        };
        let precise = around(0.0, 0.001);
        let certain = around(0.6, 0.1);
        let undecided = around(0.0, 0.1);
        let all = |list: &[&[f64]]| {
            decide_together(list, Margin::DEFAULT, ClaimFamily::alone(list.len()))
        };
        assert_eq!(all(&[&precise, &precise]), Decision::Stop(Reason::Precise));
        assert_eq!(all(&[&certain, &precise]), Decision::Stop(Reason::Certain));
        assert_eq!(all(&[&precise, &undecided]), Decision::Continue);
        assert_eq!(all(&[&precise, &[f64::NAN; 6]]), Decision::Continue);
        assert_eq!(all(&[]), Decision::Continue);
    }

    #[test]
    fn a_precise_comparison_without_a_verdict_among_others_does_not_stop() {
        // Method: twelve blocks around 1.6 % whose own interval is as narrow as the margin
        // asks for and excludes 1; among five such, it settles nothing.
        let blocks = [0.016 + 0.018, 0.016 - 0.018].repeat(6);
        assert_eq!(
            decide(&blocks, Margin::DEFAULT),
            Ok(Decision::Stop(Reason::Precise))
        );
        let together = |count| {
            decide_together(
                &vec![&blocks[..]; count],
                Margin::DEFAULT,
                ClaimFamily::alone(count),
            )
        };
        assert_eq!(together(1), Decision::Stop(Reason::Precise));
        assert_eq!(together(5), Decision::Continue);
    }
}
