//! What a block gave: of each subject, and of each load in rounds of slices.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::course::Course;
use crate::measure::distribution::histograms::Histograms;
use crate::record::columns;
use crate::record::columns::readings::{Calibration, SubjectReadings};
use crate::record::columns::slice::SliceRecord;
use crate::record::fault::FaultSlice;
use crate::record::ledger::LedgerRecord;
use crate::record::service::BlockService;

/// One block: every subject started afresh, loaded, stopped.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "columns::blocks::BlockForm")]
#[schemars(!try_from)]
pub struct BlockRecord {
    /// Its number from zero.
    pub index: u32,
    /// What its randomness was drawn from.
    pub seed: u64,
    /// Whether it came to its end. A block that did not is kept and not judged; that of a
    /// run counts also when it was stopped.
    pub complete: bool,
    /// The order in which the subjects were started.
    pub order: Vec<String>,
    /// What became of each subject.
    pub subjects: BTreeMap<String, BlockSubject>,
    /// What became of each service.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub services: BTreeMap<String, BlockService>,
    /// What each load gave.
    pub loads: Vec<BlockLoad>,
    /// What was done to each subject on purpose, and what came of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultSlice>,
    /// The agents that were lost before it, by slot, so that it had less than the whole load;
    /// one that was lost meanwhile is the reason why it is not complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_agents: Vec<u32>,
    /// How fast the processors were before and after; empty when that was not looked at.
    pub canaries: Vec<Calibration>,
    /// The programs of the machine that used most CPU time during the block, other than abx,
    /// subjects and services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_programs: Vec<OtherProgram>,
}

/// What all processes of one name used that belong to no part of a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherProgram {
    /// The name that the kernel shows, cut to 15 bytes, without control characters.
    pub name: String,
    /// Their processor time, in seconds, to a clock tick (10 ms) of each.
    pub cpu_s: f64,
}

/// One subject's life in one block.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockSubject {
    /// The port that it was given.
    pub port: u16,
    /// From its start to the first correct response, in seconds; `None` when it was running already.
    pub ready_s: Option<f64>,
    /// Processor time of its processes from start to end; `None` when not readable.
    pub cpu_s: Option<f64>,
    /// The most memory of its processes together that was seen, pages that they
    /// share counted for each; `None` when not readable.
    pub rss_bytes_max: Option<u64>,
    /// How it ended.
    pub end: String,
    /// Whether it ended by itself.
    pub died: bool,
    /// Why it failed before any load, and was measured neither in this block nor in a later
    /// one; absent when it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_start: Option<String>,
    /// The process that listens, of a subject that abx did not start; `None` when it
    /// cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listener: Option<ListenerRecord>,
}

/// A subject that failed at the start of a block, and is not measured any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedStart<'a> {
    pub subject: &'a str,
    /// The block's number from zero.
    pub block: u32,
    pub why: &'a str,
}

/// A process that listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListenerRecord {
    /// Its id.
    pub process_id: u32,
    /// Its name.
    pub name: String,
}

impl BlockLoad {
    /// Whether any of its slices loaded this subject.
    #[must_use]
    pub fn has_loaded(&self, subject: &str) -> bool {
        let mut slices = self.rounds.iter().flat_map(|round| &round.slices);
        slices.any(|slice| slice.subject == subject)
    }
}

/// What one load gave in one block.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockLoad {
    pub load: String,
    /// The rounds in order.
    pub rounds: Vec<Round>,
    /// The times of each subject's counted requests.
    pub histograms: BTreeMap<String, Histograms>,
    /// How the load went over time, by subject: of runs.
    pub courses: BTreeMap<String, Course>,
    /// Where each subject's CPU time went, where that was sampled.
    pub ledgers: BTreeMap<String, LedgerRecord>,
    /// What else was read for each subject.
    pub sides: BTreeMap<String, SubjectReadings>,
}

/// One slice for every subject.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// What disturbed it from outside; empty when nothing did.
    pub disturbed: Vec<Disturbance>,
    /// The slices in order.
    pub slices: Vec<SliceRecord>,
}

impl Round {
    /// Whether a slice of it is disturbed: where what disturbed the round is seen in some
    /// of its slices, those are. The generator has so many threads.
    #[must_use]
    pub fn is_disturbed_in(&self, slice: &SliceRecord, threads: usize) -> bool {
        let is_seen = |slice: &SliceRecord| {
            self.disturbed.iter().any(|disturbance| match disturbance {
                Disturbance::Paused => slice.paused_ns > 0,
                Disturbance::Steal => slice.steal_ns > Some(0),
                Disturbance::Wait => slice.generator_wait_ns.is_some_and(|wait_ns| {
                    let all_ns = slice.window_ns as f64 * threads as f64;
                    wait_ns as f64 >= WAIT_SHARE_MIN * all_ns
                }),
            })
        };
        let is_marked = !self.disturbed.is_empty();
        is_marked && (is_seen(slice) || !self.slices.iter().any(is_seen))
    }
}

/// A round or a slice is disturbed when the generator waited for a processor for this
/// share of it.
pub const WAIT_SHARE_MIN: f64 = 0.05;

/// What disturbs a round from outside of abx and its subjects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Disturbance {
    /// The hypervisor gave the processors to others.
    Steal,
    /// Other programs had the generator's processor.
    Wait,
    /// abx itself, or its machine, was paused.
    Paused,
}

impl Disturbance {
    /// Every kind.
    pub const ALL: [Disturbance; 3] = [Disturbance::Steal, Disturbance::Wait, Disturbance::Paused];
}
