//! Whether one comparison's interval meets an expectation.

use super::result::{Doubt, Standing};
use super::statement::Sign;
use crate::file::study::StudyRecord;
use crate::judge::comparison::{Bounds, Comparison};
use crate::judge::verdict::Verdict;
use abx_evidence::{Finding, Level};
use abx_stats::stop::{blocks_for_verdict, blocks_to_narrow};
use abx_stats::student::{Confidence, t_quantile_between};

/// The figures of a comparison on which a result rests.
pub(super) struct Figures<'a> {
    bounds: Option<Bounds>,
    verdict: Verdict,
    at_least: bool,
    blocks: usize,
    /// The fewest that carry a verdict.
    fewest: usize,
    /// The first finding that forbids a claim.
    void: Option<&'a Finding>,
}

fn first_void<'a>(mut findings: impl Iterator<Item = &'a Finding>) -> Option<&'a Finding> {
    findings.find(|finding| finding.level == Level::Void)
}

impl<'a> Figures<'a> {
    pub(super) fn of(
        comparison: &'a Comparison,
        record: &'a StudyRecord,
        confidence: Confidence,
    ) -> Figures<'a> {
        let degrees = comparison.blocks.saturating_sub(1) as f64;
        Figures {
            bounds: bounds(comparison.ratio, comparison.low, comparison.high)
                .map(|bounds| recomputed(bounds, degrees, confidence)),
            verdict: comparison.verdict,
            at_least: comparison.at_least,
            blocks: comparison.blocks,
            fewest: blocks_for_verdict(record.measured.is_ordered()),
            void: first_void(comparison.limits(&record.conclusions.validity)),
        }
    }
}

fn bounds(ratio: Option<f64>, low: Option<f64>, high: Option<f64>) -> Option<Bounds> {
    let (ratio, (low, high)) = ratio.zip(low.zip(high))?;
    Some(Bounds { ratio, low, high })
}

/// The interval at a confidence other than [`Confidence::COMPUTED`].
///
/// `degrees` are the degrees of freedom of its spread. Comparisons of a set number of blocks share
/// their spread and have more, but no measurement ends such a study.
fn recomputed(bounds: Bounds, degrees: f64, confidence: Confidence) -> Bounds {
    if confidence == Confidence::COMPUTED || degrees < 1.0 {
        return bounds;
    }
    let reach = |confidence| t_quantile_between(confidence, degrees);
    let wider = reach(confidence) / reach(Confidence::COMPUTED);
    let Bounds { ratio, low, high } = bounds;
    Bounds {
        ratio,
        low: ratio * (low / ratio).powf(wider),
        high: ratio * (high / ratio).powf(wider),
    }
}

/// Whether a ratio has the expected subject on top.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Orientation {
    Straight,
    Mirrored,
}

/// A comparison's figures in the orientation that the expectation requires.
pub(super) struct Reading<'a> {
    figures: Figures<'a>,
    /// The range of the true ratio, which extends beyond the interval of a bound.
    reach: Option<(f64, f64)>,
}

impl<'a> Reading<'a> {
    pub(super) fn of(figures: Figures<'a>, orientation: Orientation) -> Reading<'a> {
        let reach = figures.bounds.map(|bounds| reach(bounds, figures.at_least));
        match orientation {
            Orientation::Straight => Reading { figures, reach },
            Orientation::Mirrored => Reading {
                figures: Figures {
                    bounds: figures.bounds.map(|bounds| Bounds {
                        ratio: 1.0 / bounds.ratio,
                        low: 1.0 / bounds.high,
                        high: 1.0 / bounds.low,
                    }),
                    ..figures
                },
                reach: reach.map(|(low, high)| (1.0 / high, 1.0 / low)),
            },
        }
    }

    /// The ratio and its interval, if there is one.
    pub(super) fn bounds(&self) -> Option<Bounds> {
        self.figures.bounds
    }

    /// Whether the figures meet an expected ratio on this side of a factor.
    pub(super) fn standing(&self, sign: Sign, factor: f64) -> Standing {
        if self.figures.verdict == Verdict::Invalid {
            return Standing::Invalid(self.void_reason());
        }
        if self.figures.blocks < self.figures.fewest {
            return Standing::Unsettled(Doubt::FewBlocks(self.figures.fewest));
        }
        let (Some(bounds), Some((low, high))) = (self.figures.bounds, self.reach) else {
            return Standing::Unsettled(Doubt::NoInterval);
        };
        match side(sign, [low, high], factor) {
            IntervalSide::Right => Standing::Holds,
            IntervalSide::Wrong => Standing::Fails,
            IntervalSide::Both => match side(sign, [bounds.low, bounds.high], factor) {
                IntervalSide::Both => Standing::Unsettled(Doubt::Straddles),
                IntervalSide::Right | IntervalSide::Wrong => Standing::Unsettled(Doubt::Bound),
            },
        }
    }

    /// The number of additional blocks that would bring the interval to one side of a factor, by
    /// the ratio and the spread so far.
    pub(super) fn blocks_to(&self, factor: f64) -> Option<u32> {
        let Bounds { ratio, low, high } = self.figures.bounds?;
        let distance = (ratio / factor).ln().abs();
        let half_width = (high / low).ln() / 2.0;
        Some(blocks_to_narrow(self.figures.blocks, half_width, distance))
    }

    fn void_reason(&self) -> String {
        let void = self.figures.void;
        void.map_or_else(String::new, |finding| finding.message.clone())
    }
}

/// The position of an interval relative to a factor: on the expected side, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IntervalSide {
    Right,
    Wrong,
    Both,
}

fn side(sign: Sign, [low, high]: [f64; 2], factor: f64) -> IntervalSide {
    let (right, wrong) = match sign {
        Sign::AtLeast => (low >= factor, high < factor),
        Sign::AtMost => (high <= factor, low > factor),
        Sign::Above => (low > factor, high <= factor),
        Sign::Below => (high < factor, low >= factor),
    };
    match (right, wrong) {
        (true, _) => IntervalSide::Right,
        (_, true) => IntervalSide::Wrong,
        _ => IntervalSide::Both,
    }
}

/// The range of the true ratio. A bound has no far end; if its direction is open too, it has no
/// end at all.
fn reach(bounds: Bounds, at_least: bool) -> (f64, f64) {
    let Bounds { low, high, .. } = bounds;
    if !at_least {
        (low, high)
    } else if low > 1.0 {
        (low, f64::INFINITY)
    } else if high < 1.0 {
        (0.0, high)
    } else {
        (0.0, f64::INFINITY)
    }
}
