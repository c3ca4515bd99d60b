//! The parts of their ledgers in which two subjects differ, or the starts of one subject.

use std::collections::BTreeMap;

use abx_ledger::Line;
use schemars::JsonSchema;
use serde::Serialize;

use super::confounder::{Confounder, confounders};
use super::counts::{CountDifference, differences, in_order};
use super::purpose::Purpose;
use super::sampled_block::{SampledBlock, sampled, sampled_services};
use super::sampled_sides::{CostDifference, SampledSides};
use crate::findings::bottleneck::Bottleneck;
use crate::findings::study::starts_differ::differing_starts;
use crate::judge::faults::MeanInterval;
use crate::view::{OfferView, StudyView, SubjectView};

/// The difference of a subject's CPU time per response from its baseline's, and its causes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CpuDifference {
    pub load: String,
    pub subject: String,
    pub baseline: String,
    /// The number of sampled starts in each group, if the starts of one subject fall into two. The
    /// first group, which the finding `starts_differ` names, takes the place of the subject, the
    /// other one that of the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts: Option<[usize; 2]>,
    /// The number of blocks in which both were sampled.
    pub blocks: usize,
    /// CPU time per complete response of subject and baseline, in µs.
    pub us_per_response: [f64; 2],
    /// Subject minus baseline, in µs.
    pub difference_us: MeanInterval,
    /// The parts of the difference by purpose, the greatest first. They add up to it.
    pub purposes: Vec<PurposeDifference>,
    /// The parts of the difference by line.
    pub lines: Vec<LineDifference>,
    /// Other counts per response of the two, and how many threads ran.
    pub work: Vec<CountDifference>,
    /// System calls per response by name, those that differ most first; empty if they were not
    /// counted.
    pub system_calls: Vec<CountDifference>,
    /// Waits of threads by system call, in µs per response, those that differ most first. Empty if
    /// a side had no CPU time to spare, or if waits were not measured.
    pub waits: Vec<CountDifference>,
    /// CPU time by the name of the thread, in µs per response, the names that differ most first.
    /// They add up to `us_per_response`. Empty if only user code was sampled, and for older records.
    pub threads: Vec<CountDifference>,
    /// Differences between the responses of the two, which cost CPU time by themselves or were paid
    /// for by services.
    pub confounders: Vec<Confounder>,
    /// What services spent for the responses of the two, in addition to `us_per_response`; absent
    /// unless services were sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<ServiceDifference>,
}

/// The CPU time of all services for the responses of two subjects.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ServiceDifference {
    /// CPU time of services per complete response of subject and baseline, in µs.
    pub us_per_response: [f64; 2],
    /// Subject minus baseline, in µs.
    pub difference_us: MeanInterval,
    /// The parts of the difference by line, the greatest first. They add up to it.
    pub lines: Vec<LineDifference>,
    /// CPU time by the name of the thread, as that of subjects.
    pub threads: Vec<CountDifference>,
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
    /// Its name as in a ledger, except that a subject's own programs are `own code`. Programs of
    /// services keep their names.
    pub name: String,
    pub purpose: Purpose,
    #[serde(flatten)]
    pub cost: CostDifference,
}

const OWN_CODE: &str = "own code";

/// The differences of every compared pair under each load, if both subjects were sampled.
pub(crate) fn cpu_differences(study: &StudyView) -> Vec<CpuDifference> {
    let mut differences = Vec::new();
    for load in &study.loads {
        let bottleneck = Bottleneck::of(load);
        for pair in study.study.pairs_under(load.load) {
            let Some(mut difference) = between(load, pair) else {
                continue;
            };
            if pair.iter().any(|side| bottleneck.is_subject_bound(side)) {
                difference.waits.clear();
            }
            differences.push(difference);
        }
    }
    differences
}

/// The differences between the starts of every subject whose starts fall into two groups, if both
/// groups were sampled.
pub(crate) fn start_differences(study: &StudyView) -> Vec<CpuDifference> {
    let mut differences = Vec::new();
    for load in &study.loads {
        let bottleneck = Bottleneck::of(load);
        for subject in &load.subjects {
            let Some(mut difference) = between_starts(load, subject) else {
                continue;
            };
            if bottleneck.is_subject_bound(subject.subject) {
                difference.waits.clear();
            }
            differences.push(difference);
        }
    }
    differences
}

fn between(load: &OfferView, [subject, baseline]: [&str; 2]) -> Option<CpuDifference> {
    let views = [load.subject(subject)?, load.subject(baseline)?];
    let sides = SampledSides::of_pair(views, sampled);
    let difference = difference(&sides, [subject, baseline], &load.load.name)?;
    let sums = views.map(|view| &view.sums);
    Some(CpuDifference {
        confounders: confounders(sums, difference.difference_us.mean),
        services: service_difference(&SampledSides::of_pair(views, sampled_services)),
        ..difference
    })
}

/// `None` if no block has samples of services on both sides.
fn service_difference(sides: &SampledSides) -> Option<ServiceDifference> {
    let (us_per_response, difference_us) = sides.whole()?;
    let lines = sides.parts(difference_us.mean, |line| {
        (line.to_string(), Purpose::of(line))
    })?;
    let lines = lines
        .into_iter()
        .map(|((name, purpose), cost)| LineDifference {
            name,
            purpose,
            cost,
        });
    Some(ServiceDifference {
        us_per_response,
        difference_us,
        lines: lines.collect(),
        threads: threads(sides),
    })
}

fn between_starts(load: &OfferView, subject: &SubjectView) -> Option<CpuDifference> {
    let groups = differing_starts(load, subject)?;
    let blocks = [&groups.few, &groups.others].map(|group| -> Vec<SampledBlock> {
        let blocks = group.iter().filter_map(|index| subject.blocks.get(*index));
        blocks.filter_map(sampled).collect()
    });
    let starts = [blocks[0].len(), blocks[1].len()];
    let sides = SampledSides {
        are_paired: false,
        blocks,
    };
    let difference = difference(&sides, [subject.subject; 2], &load.load.name)?;
    Some(CpuDifference {
        starts: Some(starts),
        blocks: starts.iter().sum(),
        ..difference
    })
}

/// The difference between two sides, without confounders.
fn difference(
    sides: &SampledSides,
    [subject, baseline]: [&str; 2],
    load: &str,
) -> Option<CpuDifference> {
    let (us_per_response, difference_us) = sides.whole()?;
    let lines = sides.parts(difference_us.mean, name_in_pairs)?;
    let by_purpose = sides.parts(difference_us.mean, Purpose::of)?;
    let purpose_of = purposes_by_name(sides);
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
        load: load.to_owned(),
        subject: subject.to_owned(),
        baseline: baseline.to_owned(),
        starts: None,
        blocks: sides.blocks[0].len(),
        us_per_response,
        difference_us,
        purposes: purposes.collect(),
        lines,
        work: in_order(
            differences(sides, |counts| Some(&counts.work), None),
            |count| &count.name,
        ),
        system_calls: differences(sides, |counts| counts.system_calls.as_ref(), Some(0.0)),
        waits: differences(sides, |counts| counts.waits.as_ref(), Some(0.0)),
        threads: threads(sides),
        confounders: Vec::new(),
        services: None,
    })
}

/// The CPU time of threads; empty unless it is known in all blocks, because it adds up to the whole.
fn threads(sides: &SampledSides) -> Vec<CountDifference> {
    let mut blocks = sides.blocks.iter().flatten();
    if blocks.any(|block| block.counts.threads.is_none()) {
        return Vec::new();
    }
    differences(sides, |counts| counts.threads.as_ref(), Some(0.0))
}

/// The purpose of each line of two sides.
fn purposes_by_name(sides: &SampledSides) -> BTreeMap<String, Purpose> {
    let blocks = sides.blocks.iter().flatten();
    let purposes = blocks.flat_map(|block| {
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
