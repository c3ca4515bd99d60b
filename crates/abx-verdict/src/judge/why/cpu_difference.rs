//! By which parts of their ledgers two subjects differ.

use std::collections::{BTreeMap, BTreeSet};

use abx_ledger::Line;
use abx_stats::student::Confidence;
use schemars::JsonSchema;
use serde::Serialize;

use super::confounder::{Confounder, confounders};
use super::purpose::Purpose;
use super::sampled_block::{SampledBlock, sampled};
use crate::judge::faults::MeanInterval;
use crate::view::{OfferView, StudyView};

/// By how much the CPU time per response of a subject differs from its baseline's, and why.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CpuDifference {
    pub load: String,
    pub subject: String,
    pub baseline: String,
    /// The blocks in which both were sampled.
    pub blocks: usize,
    /// CPU time per whole response of subject and baseline, in µs.
    pub us_per_response: [f64; 2],
    /// Subject less baseline, in µs.
    pub difference_us: MeanInterval,
    /// What the difference is made of by purpose, the greatest first; they add up to it.
    pub purposes: Vec<PurposeDifference>,
    /// The same by line.
    pub lines: Vec<LineDifference>,
    /// What the two send or do differently for a response, which costs CPU time by itself.
    pub confounders: Vec<Confounder>,
}

/// All lines of two ledgers that serve one purpose.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PurposeDifference {
    pub purpose: Purpose,
    /// The names of its lines, those that differ most first.
    pub lines: Vec<String>,
    #[serde(flatten)]
    pub cost: CostDifference,
}

/// A line of two ledgers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LineDifference {
    /// As in a ledger, except that a subject's own programs are `own code`.
    pub name: String,
    pub purpose: Purpose,
    #[serde(flatten)]
    pub cost: CostDifference,
}

/// What a part of two ledgers costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CostDifference {
    /// CPU time per whole response of subject and baseline, in µs.
    pub us_per_response: [f64; 2],
    /// Subject less baseline, in µs. The intervals of all parts of a pair hold together.
    pub difference_us: MeanInterval,
    /// Its part of the whole difference; `None` if there is none.
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

/// The name of a subject's own code in differences.
const OWN_CODE: &str = "own code";
/// Every pair that the study compares under a load, if both were sampled.
pub(crate) fn cpu_differences(study: &StudyView) -> Vec<CpuDifference> {
    let each = study.loads.iter().flat_map(|load| {
        let pairs = study.study.pairs_under(load.load);
        pairs
            .into_iter()
            .filter_map(|pair| between(load, pair))
            .collect::<Vec<_>>()
    });
    each.collect()
}

fn between(load: &OfferView, [subject, baseline]: [&str; 2]) -> Option<CpuDifference> {
    let views = [load.subject(subject)?, load.subject(baseline)?];
    let blocks = views[0].blocks.iter().zip(&views[1].blocks);
    let blocks: Vec<[SampledBlock; 2]> = blocks
        .filter_map(|(block, other)| Some([sampled(block)?, sampled(other)?]))
        .collect();
    if blocks.is_empty() {
        return None;
    }
    let totals = blocks
        .iter()
        .map(|pair| [0, 1].map(|side| pair[side].us_per_response));
    let (us_per_response, difference_us) =
        compared(&totals.collect::<Vec<_>>(), Confidence::COMPUTED)?;
    let lines = differences(&blocks, difference_us.mean, name_in_pairs)?;
    let by_purpose = differences(&blocks, difference_us.mean, Purpose::of)?;
    let purpose_of = purposes_by_name(&blocks);
    let lines: Vec<LineDifference> = lines
        .into_iter()
        .filter_map(|(name, cost)| {
            Some(LineDifference {
                purpose: *purpose_of.get(&name)?,
                name,
                cost,
            })
        })
        .collect();
    let names = |purpose| {
        let of_purpose = lines.iter().filter(move |line| line.purpose == purpose);
        of_purpose.map(|line| line.name.clone()).collect()
    };
    let purposes = by_purpose
        .into_iter()
        .map(|(purpose, cost)| PurposeDifference {
            purpose,
            lines: names(purpose),
            cost,
        });
    Some(CpuDifference {
        load: load.load.name.clone(),
        subject: subject.to_owned(),
        baseline: baseline.to_owned(),
        blocks: blocks.len(),
        us_per_response,
        difference_us,
        purposes: purposes.collect(),
        lines,
        confounders: confounders(views.map(|view| &view.sums)),
    })
}

/// What each part of the ledgers costs both sides, those that differ most first.
fn differences<K: Ord + Clone>(
    blocks: &[[SampledBlock; 2]],
    whole_us: f64,
    part: fn(&Line) -> K,
) -> Option<Vec<(K, CostDifference)>> {
    let costs: Vec<[BTreeMap<K, f64>; 2]> = blocks
        .iter()
        .map(|pair| [0, 1].map(|side| pair[side].costs(part)))
        .collect();
    let parts: BTreeSet<&K> = costs.iter().flatten().flat_map(BTreeMap::keys).collect();
    let confidence = together(parts.len());
    let mut differences = Vec::with_capacity(parts.len());
    for part in parts {
        let costs: Vec<[f64; 2]> = costs
            .iter()
            .map(|pair| [0, 1].map(|side| pair[side].get(part).copied().unwrap_or(0.0)))
            .collect();
        let (us_per_response, difference_us) = compared(&costs, confidence)?;
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

/// What each line of a pair is for.
fn purposes_by_name(blocks: &[[SampledBlock; 2]]) -> BTreeMap<String, Purpose> {
    let purposes = blocks.iter().flatten().flat_map(|block| {
        let costs = block.costs(|line| (name_in_pairs(line), Purpose::of(line)));
        costs.into_keys()
    });
    purposes.collect()
}

/// A subject's own program is compared with the other's, whatever their names are; everything
/// else is compared by name.
fn name_in_pairs(line: &Line) -> String {
    match Purpose::of(line) {
        Purpose::OwnCode => OWN_CODE.to_owned(),
        _ => line.to_string(),
    }
}

/// Both means over blocks, and the difference with its interval.
fn compared(blocks: &[[f64; 2]], confidence: Confidence) -> Option<([f64; 2], MeanInterval)> {
    let count = blocks.len() as f64;
    let mean = |side: usize| blocks.iter().map(|block| block[side]).sum::<f64>() / count;
    let differences: Vec<f64> = blocks.iter().map(|block| block[0] - block[1]).collect();
    let interval = MeanInterval::at(&differences, confidence)?;
    Some(([mean(0), mean(1)], interval))
}

/// The confidence of each of so many intervals that hold together.
fn together(lines: usize) -> Confidence {
    let miss = (1.0 - Confidence::COMPUTED.share()) / lines.max(1) as f64;
    Confidence::new(1.0 - miss).unwrap_or(Confidence::COMPUTED)
}
