//! What a subject does for a response besides spending CPU time: system calls, segments,
//! switches, faults and waits.

use std::collections::{BTreeMap, BTreeSet};

use abx_evidence::record::{CallRecord, LedgerRecord};
use abx_evidence::share;
use schemars::JsonSchema;
use serde::Serialize;

use super::sampled_block::SampledBlock;
use super::sampled_sides::{SampledSides, together};
use crate::judge::faults::MeanInterval;
use crate::view::BlockView;

/// Something that was counted of one subject: the mean over blocks.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Count {
    pub name: String,
    pub value: f64,
}

/// The same of two sides.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CountDifference {
    pub name: String,
    /// Of subject and baseline: the means over blocks.
    pub values: [f64; 2],
    /// Subject less baseline. The intervals of one list hold together.
    pub difference: MeanInterval,
}

/// Everything that was counted in a block, by name.
#[derive(Debug, Default)]
pub(super) struct BlockCounts {
    pub(super) work: BTreeMap<String, f64>,
    /// `None` if calls were not counted.
    pub(super) system_calls: Option<BTreeMap<String, f64>>,
    /// In µs; `None` if changes of threads were not looked at.
    pub(super) waits: Option<BTreeMap<String, f64>>,
}

/// Which of them.
pub(super) type PickCounts = fn(&BlockCounts) -> Option<&BTreeMap<String, f64>>;

/// Per whole response, except the number of threads, in the order of reports.
pub(super) const WORK: [&str; 6] = [
    "system calls",
    "context switches",
    "page faults",
    "segments received",
    "bytes received",
    "threads that ran",
];

impl BlockCounts {
    pub(super) fn of(block: &BlockView, record: &LedgerRecord) -> BlockCounts {
        let sums = &block.sums;
        let per_response = |count: Option<u64>| share(count?, sums.all_completed());
        let calls = record.calls.as_ref().filter(|calls| calls.completed > 0);
        let system_calls = calls.and_then(system_calls);
        let bytes = share(sums.bytes, sums.outcomes.completed());
        let values = [
            system_calls.as_ref().map(|calls| calls.values().sum()),
            per_response(sums.server_switches),
            per_response(sums.server_page_faults),
            bytes.and_then(|bytes| segments(record, bytes)),
            bytes,
            record.threads.map(|threads| threads as f64),
        ];
        let known = WORK.into_iter().zip(values);
        BlockCounts {
            work: known
                .filter_map(|(name, value)| Some((name.to_owned(), value?)))
                .collect(),
            system_calls,
            waits: calls.and_then(waits),
        }
    }
}

fn system_calls(calls: &CallRecord) -> Option<BTreeMap<String, f64>> {
    let is_complete = calls.failure.is_none() && calls.missed == 0;
    let each = calls.by_name.iter();
    let each = each.map(|(name, count)| Some((name.clone(), share(*count, calls.completed)?)));
    is_complete.then(|| each.collect()).flatten()
}

/// In µs per response.
fn waits(calls: &CallRecord) -> Option<BTreeMap<String, f64>> {
    let waits = calls.waits.as_ref().filter(|waits| waits.lost == 0)?;
    let each = waits.lines.iter();
    each.map(|(line, wait)| Some((line.to_string(), share(wait.ns, calls.completed)? / 1e3)))
        .collect()
}

/// Segments per response. If connections were opened meanwhile, of which the segments are not
/// known, those of the others are in proportion to their bytes.
fn segments(record: &LedgerRecord, bytes_per_response: f64) -> Option<f64> {
    let segments = record.segments?;
    if segments.opened == 0 {
        return share(segments.received, record.completed);
    }
    Some(share(segments.received, segments.bytes)? * bytes_per_response)
}

/// The means over blocks; a name that a block does not have counts as `absent` there.
pub(super) fn means(blocks: &[SampledBlock], pick: PickCounts, absent: Option<f64>) -> Vec<Count> {
    let counts = blocks.iter().filter_map(|block| pick(&block.counts));
    let names: BTreeSet<&String> = counts.clone().flat_map(BTreeMap::keys).collect();
    let mean = |name: &String| {
        let values = counts.clone();
        let values = values.filter_map(|counts| counts.get(name).copied().or(absent));
        let values: Vec<f64> = values.collect();
        Count {
            name: name.clone(),
            value: values.iter().sum::<f64>() / values.len() as f64,
        }
    };
    let mut means: Vec<Count> = names.into_iter().map(mean).collect();
    means.sort_by(|count, other| other.value.total_cmp(&count.value));
    means
}

/// What two sides differ by, those that differ most first.
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
