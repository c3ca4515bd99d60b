//! Counts per response of a subject, over blocks, and their differences between two sides.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::block_counts::{PickCounts, WORK};
use super::sampled_block::SampledBlock;
use super::sampled_sides::{SampledSides, together};
use crate::judge::faults::MeanInterval;

/// A count of one subject: the mean over blocks.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Count {
    pub name: String,
    pub value: f64,
}

/// A count of two sides.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CountDifference {
    pub name: String,
    /// The values of subject and baseline: the means over blocks.
    pub values: [f64; 2],
    /// Subject minus baseline. The intervals of one list hold together.
    pub difference: MeanInterval,
}

/// The means over blocks. A block without a name counts as `absent` under it.
pub(super) fn means(blocks: &[SampledBlock], pick: PickCounts, absent: Option<f64>) -> Vec<Count> {
    let counts = blocks.iter().filter_map(|block| pick(&block.counts));
    let names: BTreeSet<&String> = counts.clone().flat_map(BTreeMap::keys).collect();
    let mean = |name: &String| {
        let counts = counts.clone();
        let values: Vec<f64> = counts
            .filter_map(|counts| counts.get(name).copied().or(absent))
            .collect();
        Count {
            name: name.clone(),
            value: values.iter().sum::<f64>() / values.len() as f64,
        }
    };
    let mut means: Vec<Count> = names.into_iter().map(mean).collect();
    means.sort_by(|count, other| other.value.total_cmp(&count.value));
    means
}

/// The differences between two sides, the greatest first.
pub(super) fn differences(
    sides: &SampledSides,
    pick: PickCounts,
    absent: Option<f64>,
) -> Vec<CountDifference> {
    let counts = |side: usize| sides.blocks[side].iter().map(|block| pick(&block.counts));
    let names: BTreeSet<&String> = [0, 1]
        .into_iter()
        .flat_map(counts)
        .flatten()
        .flat_map(BTreeMap::keys)
        .collect();
    let confidence = together(names.len());
    let differences = names.iter().filter_map(|name| {
        let values = |side| -> Vec<Option<f64>> {
            let value = |counts: Option<&BTreeMap<String, f64>>| {
                counts.and_then(|counts| counts.get(*name).copied().or(absent))
            };
            counts(side).map(value).collect()
        };
        let (values, difference) = sides.compared_known([values(0), values(1)], confidence)?;
        Some(CountDifference {
            name: (*name).clone(),
            values,
            difference,
        })
    });
    let mut differences: Vec<CountDifference> = differences.collect();
    let size = |count: &CountDifference| count.difference.mean.abs();
    differences.sort_by(|count, other| size(other).total_cmp(&size(count)));
    differences
}

/// Puts work into the order of reports.
pub(super) fn in_order<T>(mut counts: Vec<T>, name: fn(&T) -> &str) -> Vec<T> {
    counts.sort_by_key(|count| WORK.iter().position(|work| *work == name(count)));
    counts
}
