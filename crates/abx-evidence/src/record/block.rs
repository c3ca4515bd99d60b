//! The results of a block: per subject, and per load in rounds of slices.

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

/// One block: every subject started, loaded and stopped.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "columns::blocks::BlockForm")]
#[schemars(!try_from)]
pub struct BlockRecord {
    /// Its number from zero.
    pub index: u32,
    /// The seed of its randomness.
    pub seed: u64,
    /// Whether it reached its end. A block that did not is kept and not judged. The block of a
    /// run counts even if it was stopped.
    pub complete: bool,
    /// The order in which the subjects were started.
    pub order: Vec<String>,
    /// The life of each subject in this block.
    pub subjects: BTreeMap<String, BlockSubject>,
    /// The life of each service in this block.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub services: BTreeMap<String, BlockService>,
    /// The results of each load.
    pub loads: Vec<BlockLoad>,
    /// The faults that each subject had on purpose, and their effects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultSlice>,
    /// The agents that were lost before it, by slot, so that it had less than the whole load. If
    /// one was lost during the block, the block is not complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_agents: Vec<u32>,
    /// The speed of the CPUs before and after; empty if it was not measured.
    pub canaries: Vec<Calibration>,
    /// The programs of the machine that used most CPU time during the block, except abx,
    /// subjects and services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_programs: Vec<OtherProgram>,
}

/// CPU time of all processes of one name that have no part in the measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherProgram {
    /// The name in the kernel, cut to 15 bytes, without control characters.
    pub name: String,
    /// Their CPU time in seconds, in clock ticks of 10 ms.
    pub cpu_s: f64,
}

/// One subject's life in one block.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockSubject {
    /// The port that it got.
    pub port: u16,
    /// The time from its start to the first correct response, in seconds; `None` if it was
    /// already running.
    pub ready_s: Option<f64>,
    /// CPU time of its processes from start to end; `None` if not readable.
    pub cpu_s: Option<f64>,
    /// The most memory of all its processes that was seen. Shared pages
    /// count for each process. `None` if not readable.
    pub rss_bytes_max: Option<u64>,
    /// How it ended.
    pub end: String,
    /// Whether it ended by itself.
    pub died: bool,
    /// The reason why it failed before any load. It was then measured neither in this block nor
    /// in a later one. Absent if it did not fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_start: Option<String>,
    /// The listening process of a subject that abx did not start; `None` if it
    /// is not visible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listener: Option<ListenerRecord>,
}

/// A subject that failed at the start of a block and is not measured any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedStart<'a> {
    pub subject: &'a str,
    /// The block's number from zero.
    pub block: u32,
    pub why: &'a str,
}

/// A listening process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListenerRecord {
    /// Its id.
    pub process_id: u32,
    /// Its name.
    pub name: String,
}

impl BlockLoad {
    /// Whether it loaded this subject: in a slice, or with idle connections, which have no slices.
    #[must_use]
    pub fn has_loaded(&self, subject: &str) -> bool {
        let mut slices = self.rounds.iter().flat_map(|round| &round.slices);
        let held = || self.sides.get(subject)?.held.as_ref();
        slices.any(|slice| slice.subject == subject) || held().is_some()
    }
}

/// The results of one load in one block.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockLoad {
    pub load: String,
    /// The rounds in order.
    pub rounds: Vec<Round>,
    /// The times of each subject's counted requests.
    pub histograms: BTreeMap<String, Histograms>,
    /// The load over time, by subject; only a run has it.
    pub courses: BTreeMap<String, Course>,
    /// Where each subject's CPU time went, if that was sampled.
    pub ledgers: BTreeMap<String, LedgerRecord>,
    /// The other readings of each subject.
    pub sides: BTreeMap<String, SubjectReadings>,
}

/// One slice for every subject.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// Its disturbances from outside; empty if there were none.
    pub disturbed: Vec<Disturbance>,
    /// The slices in order.
    pub slices: Vec<SliceRecord>,
}

impl Round {
    /// Whether a slice of it is disturbed. If some slices show the round's disturbances, only
    /// those are disturbed; otherwise all are. `threads` are the generator's.
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

/// A round or a slice is disturbed if the generator waited for a CPU for this share of it.
pub const WAIT_SHARE_MIN: f64 = 0.05;

/// A disturbance of a round from outside of abx and its subjects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Disturbance {
    /// The hypervisor gave the CPUs to other machines.
    Steal,
    /// Other programs used the generator's CPU.
    Wait,
    /// abx itself, or its machine, was paused.
    Paused,
}

impl Disturbance {
    /// Every kind.
    pub const ALL: [Disturbance; 3] = [Disturbance::Steal, Disturbance::Wait, Disturbance::Paused];
}
