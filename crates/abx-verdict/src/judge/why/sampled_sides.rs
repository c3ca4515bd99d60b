//! Sampled blocks of two sides, and the cost of each part on both.

use std::collections::{BTreeMap, BTreeSet};

use abx_ledger::Line;
use abx_stats::student::Confidence;
use abx_stats::welch::Welch;
use schemars::JsonSchema;
use serde::Serialize;

use super::sampled_block::SampledBlock;
use crate::judge::faults::MeanInterval;
use crate::view::{BlockView, SubjectView};

/// What a part of two ledgers costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CostDifference {
    /// CPU time per complete response of subject and baseline, in µs.
    pub us_per_response: [f64; 2],
    /// Subject minus baseline, in µs. The intervals of one list hold together.
    pub difference_us: MeanInterval,
    /// Its share of the whole difference; `None` if there is no difference.
    pub share: Option<f64>,
}

impl CostDifference {
    /// Whether its interval excludes zero.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        let MeanInterval { low, high, .. } = self.difference_us;
        low.is_some_and(|low| low > 0.0) || high.is_some_and(|high| high < 0.0)
    }
}

/// The blocks of the subject and of the baseline, or of two groups of starts.
pub(super) struct SampledSides<'a> {
    pub(super) blocks: [Vec<SampledBlock<'a>>; 2],
    /// Whether blocks at the same index were measured side by side.
    pub(super) are_paired: bool,
}

impl<'a> SampledSides<'a> {
    /// The blocks in which subject and baseline both have samples of this kind.
    pub(super) fn of_pair(
        [subject, baseline]: [&SubjectView<'a>; 2],
        samples: fn(&BlockView<'a>) -> Option<SampledBlock<'a>>,
    ) -> SampledSides<'a> {
        let blocks = subject.blocks.iter().zip(&baseline.blocks);
        let both = blocks.filter_map(|(block, other)| samples(block).zip(samples(other)));
        let (subject, baseline) = both.unzip();
        SampledSides {
            blocks: [subject, baseline],
            are_paired: true,
        }
    }

    /// The whole CPU time per response of both sides, in µs, and the difference; `None` if a
    /// side has no block.
    pub(super) fn whole(&self) -> Option<([f64; 2], MeanInterval)> {
        let us = |block: &SampledBlock| block.us_per_response;
        let values = [0, 1].map(|side| self.blocks[side].iter().map(us).collect());
        self.compared(&values, Confidence::COMPUTED)
    }

    /// The cost of each part of the ledgers on both sides, in descending order of the difference.
    pub(super) fn parts<K: Ord + Clone>(
        &self,
        whole_us: f64,
        part: fn(&Line) -> K,
    ) -> Option<Vec<(K, CostDifference)>> {
        let costs: [Vec<BTreeMap<K, f64>>; 2] = [0, 1].map(|side| {
            let blocks = self.blocks[side].iter();
            blocks.map(|block| block.costs(part)).collect()
        });
        let parts: BTreeSet<&K> = costs.iter().flatten().flat_map(BTreeMap::keys).collect();
        let confidence = together(parts.len());
        let mut differences = Vec::with_capacity(parts.len());
        for part in parts {
            let of_block = |costs: &BTreeMap<K, f64>| costs.get(part).copied().unwrap_or(0.0);
            let values = [0, 1].map(|side| costs[side].iter().map(of_block).collect());
            let (us_per_response, difference_us) = self.compared(&values, confidence)?;
            let cost = CostDifference {
                us_per_response,
                difference_us,
                share: (whole_us != 0.0).then(|| difference_us.mean / whole_us),
            };
            differences.push((part.clone(), cost));
        }
        let size = |cost: &CostDifference| cost.difference_us.mean.abs();
        differences.sort_by(|(_, cost), (_, other)| size(other).total_cmp(&size(cost)));
        Some(differences)
    }

    /// As `compared`, with the blocks whose value is known. Paired blocks need it on both sides.
    pub(super) fn compared_known(
        &self,
        values: [Vec<Option<f64>>; 2],
        confidence: Confidence,
    ) -> Option<([f64; 2], MeanInterval)> {
        let known = if self.are_paired {
            let [subject, baseline] = values;
            let pairs = subject.into_iter().zip(baseline);
            let known = pairs.filter_map(|(subject, baseline)| subject.zip(baseline));
            let (subject, baseline) = known.unzip();
            [subject, baseline]
        } else {
            values.map(|side| side.into_iter().flatten().collect())
        };
        self.compared(&known, confidence)
    }

    /// Both means over blocks, and the difference with its interval.
    fn compared(
        &self,
        values: &[Vec<f64>; 2],
        confidence: Confidence,
    ) -> Option<([f64; 2], MeanInterval)> {
        let [subject, baseline] = values;
        if subject.is_empty() || baseline.is_empty() {
            return None;
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let means = [mean(subject), mean(baseline)];
        let interval = if self.are_paired {
            let pairs = subject.iter().zip(baseline);
            let differences: Vec<f64> = pairs.map(|(value, other)| value - other).collect();
            MeanInterval::at(&differences, confidence)?
        } else {
            // A side of one block has no spread.
            let interval = Welch::of([subject, baseline])
                .ok()
                .map(|welch| welch.interval(confidence));
            MeanInterval {
                mean: means[0] - means[1],
                low: interval.map(|interval| interval.low),
                high: interval.map(|interval| interval.high),
            }
        };
        Some((means, interval))
    }
}

/// The confidence of each of `intervals` intervals that hold together.
pub(super) fn together(intervals: usize) -> Confidence {
    let error = (1.0 - Confidence::COMPUTED.share()) / intervals.max(1) as f64;
    Confidence::new(1.0 - error).unwrap_or(Confidence::COMPUTED)
}
