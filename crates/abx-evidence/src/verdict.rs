//! What an interval means: the verdict, and whether it stands on firm ground.
//! [`assess`] takes the per-block log ratios of one comparison to all of it.

use serde::{Deserialize, Serialize};

use crate::stats::paired::{LogInterval, PairedMean, RatioInterval};
use crate::stats::signed_rank::signed_rank;
use crate::stats::stop::{BLOCKS_FOR_VERDICT, blocks_needed};
use crate::stats::student::Confidence;
use crate::stats::{Margin, StatsError};

/// What a comparison says about the subject beside its baseline. Stored in
/// records as a string in snake case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
            Verdict::Invalid | Verdict::Equivalent | Verdict::Inconclusive => self,
        }
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
    /// For a metric of which more is better; else take it [`Verdict::mirrored`].
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
    let paired = PairedMean::of(log_ratios)?;
    let blocks = paired.blocks();
    let interval = paired.interval(Confidence::COMPUTED);
    let verdict = if blocks < BLOCKS_FOR_VERDICT {
        Verdict::Inconclusive
    } else {
        judge_interval(&interval, margin)
    };
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
        blocks,
        verdict,
        fragile: second.is_some_and(|second| is_fragile(&interval, &second.interval, margin)),
        hodges_lehmann: second.map(|second| second.interval.ratios(second.coverage)),
        blocks_more: (verdict == Verdict::Inconclusive)
            .then(|| blocks_needed(blocks, interval.half_width(), margin)),
    })
}

/// Reads an interval of log ratios of a metric of which more is better:
/// equivalent when it lies inside the margin, else faster or slower when it
/// excludes "no difference", else inconclusive.
///
/// Never [`Verdict::Invalid`]: that is decided from findings, before.
#[must_use]
pub fn judge_interval(interval: &LogInterval, margin: Margin) -> Verdict {
    let margin = margin.log();
    if interval.low > -margin && interval.high < margin {
        Verdict::Equivalent
    } else if interval.low > 0.0 {
        Verdict::Faster
    } else if interval.high < 0.0 {
        Verdict::Slower
    } else {
        Verdict::Inconclusive
    }
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
        let words = r#"["invalid","equivalent","faster","slower","inconclusive"]"#;
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
