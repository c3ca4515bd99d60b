//! What an interval means: the verdict, and whether it stands on firm ground.
//! [`assess`] takes the per-block log ratios of one comparison to all of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judge::metric::Sense;
use crate::stats::holm::holm;
use crate::stats::paired::{LogInterval, PairedMean, RatioInterval};
use crate::stats::signed_rank::signed_rank;
use crate::stats::stop::{BLOCKS_FOR_VERDICT, blocks_needed};
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
    /// For a speed; else take it [`Verdict::in_sense`].
    pub verdict: Verdict,
    /// Whether a method that trusts single blocks less disagrees.
    pub fragile: bool,
    /// That method's estimate, `None` below 6 blocks.
    pub hodges_lehmann: Option<RatioInterval>,
    /// How many blocks more would settle it, for an inconclusive verdict.
    pub blocks_more: Option<u32>,
}

/// Judges one comparison by the log ratios `ln(subject / baseline)` of its
/// blocks, in any order. Below 6 blocks there is an interval, and the verdict
/// is always inconclusive.
///
/// # Errors
/// - [`StatsError::NoLogRatio`] for a number that is not finite.
/// - [`StatsError::TooFewBlocks`] below 2 blocks.
pub fn assess(log_ratios: &[f64], margin: Margin) -> Result<Assessment, StatsError> {
    let mut all = assess_together(&[log_ratios], margin, 1);
    all.pop().expect("as many answers as questions")
}

/// Judges comparisons that are claimed together, so that all their directions
/// are wrong no more often than that of a single one may be. Each interval is
/// that of its comparison alone: with several, one that excludes 1 may still
/// be inconclusive.
///
/// Method: directions by Holm's adjustment of the p-values; equivalence by
/// intervals at one minus the error over `equivalences`, which is k − 1 for k
/// subjects, whether all of them are beside one or each beside each.
/// Source: docs/statistics.md, "Several subjects"; Lauzon and Caffo (2009).
#[must_use]
pub fn assess_together(
    all: &[&[f64]],
    margin: Margin,
    equivalences: usize,
) -> Vec<Result<Assessment, StatsError>> {
    let means: Vec<_> = all.iter().map(|one| PairedMean::of(one)).collect();
    // What has no mean claims nothing, and makes nothing harder for the others.
    let claims = means.iter().filter_map(|mean| mean.as_ref().ok());
    let mut adjusted = holm(&claims.map(PairedMean::p_value).collect::<Vec<_>>()).into_iter();
    let error = (1.0 - Confidence::COMPUTED.share()) / equivalences.max(1) as f64;
    let equivalence = Confidence::new(1.0 - error).unwrap_or(Confidence::CERTAIN);
    let mut assessed = Vec::with_capacity(all.len());
    for (log_ratios, mean) in all.iter().zip(means) {
        assessed.push(mean.and_then(|mean| {
            let p_adjusted = adjusted.next().expect("one for each mean");
            let verdict = judge_claim(&mean, p_adjusted, equivalence, margin);
            describe(log_ratios, &mean, p_adjusted, verdict, margin)
        }));
    }
    assessed
}

/// A verdict on a speed, by the evidence that is left after adjustment.
fn judge_claim(
    mean: &PairedMean,
    p_adjusted: f64,
    equivalence: Confidence,
    margin: Margin,
) -> Verdict {
    let alone = mean.interval(Confidence::COMPUTED);
    if mean.blocks() < BLOCKS_FOR_VERDICT {
        Verdict::Inconclusive
    } else if is_within(&mean.interval(equivalence), margin) {
        Verdict::Equivalent
    } else if p_adjusted >= 1.0 - Confidence::COMPUTED.share() {
        Verdict::Inconclusive
    } else if alone.center > 0.0 {
        Verdict::Faster
    } else {
        Verdict::Slower
    }
}

fn describe(
    log_ratios: &[f64],
    mean: &PairedMean,
    p_adjusted: f64,
    verdict: Verdict,
    margin: Margin,
) -> Result<Assessment, StatsError> {
    let interval = mean.interval(Confidence::COMPUTED);
    let second = signed_rank(log_ratios)?;
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
        p_adjusted,
        verdict,
        fragile: second.is_some_and(|second| is_fragile(&interval, &second.interval, margin)),
        hodges_lehmann: second.map(|second| second.interval.ratios(second.coverage)),
        blocks_more: (verdict == Verdict::Inconclusive)
            .then(|| blocks_needed(mean.blocks(), interval.half_width(), margin)),
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
        Verdict::Equivalent
    } else if interval.low > 0.0 {
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

/// Whether the verdict of `mean` hangs on the choice of method: the
/// Hodges-Lehmann interval gives another one, or its center is further from
/// the mean than half of the half-width.
#[must_use]
pub fn is_fragile(mean: &LogInterval, hodges_lehmann: &LogInterval, margin: Margin) -> bool {
    judge_interval(mean, margin) != judge_interval(hodges_lehmann, margin)
        || (mean.center - hodges_lehmann.center).abs() > mean.half_width() / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(!found.fragile);
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
    fn several_claims_need_stronger_evidence_each() {
        // Method: six blocks whose interval alone excludes 1, beside itself four
        // times, and beside four that are beyond doubt: Holm lets it stand last.
        let weak = [0.05, 0.13, -0.01, 0.09, 0.10, 0.03];
        let strong = [0.50, 0.51, 0.49, 0.50, 0.505, 0.495];
        let verdicts = |all: &[&[f64]]| -> Vec<Verdict> {
            let found = assess_together(all, Margin::DEFAULT, all.len());
            found.into_iter().map(|one| one.unwrap().verdict).collect()
        };
        assert_eq!(verdicts(&[&weak]), [Verdict::Faster]);
        assert_eq!(verdicts(&[&weak[..]; 5]), [Verdict::Inconclusive; 5]);
        assert_eq!(
            verdicts(&[&strong, &strong, &weak, &strong]),
            [Verdict::Faster; 4]
        );
        let alone = assess(&weak, Margin::DEFAULT).unwrap();
        let among = assess_together(&[&weak[..]; 5], Margin::DEFAULT, 5);
        let among = among[0].as_ref().unwrap();
        assert_eq!((among.low, among.high), (alone.low, alone.high));
        assert!((among.p_adjusted - 5.0 * alone.p_adjusted).abs() < 1e-12);
    }

    #[test]
    fn equivalence_among_several_needs_a_narrower_spread() {
        // Method: an interval just inside of the margin alone, outside at 99.4 %.
        let close = [0.03, -0.01, 0.028, -0.012, 0.02, 0.0, 0.022, -0.006];
        let verdict = |equivalences| {
            let found = assess_together(&[&close], Margin::DEFAULT, equivalences);
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
        let found = assess_together(&[&silent, &weak], Margin::DEFAULT, 2);
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
        // Method: eleven blocks at 5 % and one far off, which blows up the t
        // interval; the signed-rank interval of twelve stays above 0.
        let mut blocks = [0.05, 0.051, 0.049, 0.052, 0.048, 0.05].repeat(2);
        assert!(!assess(&blocks, Margin::DEFAULT).unwrap().fragile);
        blocks[11] = -0.9;
        let found = assess(&blocks, Margin::DEFAULT).unwrap();
        assert_eq!(found.verdict, Verdict::Inconclusive);
        assert!(found.fragile);
    }
}
