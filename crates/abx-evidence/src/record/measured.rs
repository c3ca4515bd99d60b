//! The measurements of a study: of which subjects, how and where.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounded;
use crate::record::{
    BlockLoad, BlockRecord, Continuation, Contrast, FailedStart, FaultRecord, FleetRecord,
    LoadRecord, ServiceRecord, StudyIdentity, Waiting,
};

/// The schema that this version writes.
pub const STUDY_SCHEMA: &str = "abx.study/1";

/// The name for the slices of a server that does nothing, which are in one of several rounds. It
/// is not a subject.
pub const CEILING: &str = "(ceiling)";

/// The measurements of a study: of which subjects, how and where. All conclusions follow
/// from it. A file has both, see `abx_verdict::StudyRecord`.
/// A run is a study of one subject in one block, see `abx_verdict::RunView`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// The version of abx that measured.
    pub abx_version: String,
    /// The command line that started the study.
    pub command: Vec<String>,
    /// The name of the study file; `None` for a study that has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<String>,
    /// The text that a person gave the record (`--label`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// When it started, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// How long it took, in seconds, without the pauses before it was continued.
    pub elapsed_s: f64,
    /// The seed of all randomness of the study.
    pub seed: u64,
    /// How the study was conducted.
    pub settings: Settings,
    /// The machine of the study.
    pub machine: Machine,
    /// The servers under test, in the order in which they were named.
    #[serde(deserialize_with = "bounded::subjects")]
    pub subjects: Vec<SubjectRecord>,
    /// The servers that they need, in the order in which they were started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceRecord>,
    /// Subjects of the study that were not measured, because they lack something that they need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedSubject>,
    /// The loads, in the order in which they were named.
    #[serde(deserialize_with = "bounded::loads")]
    pub loads: Vec<LoadRecord>,
    /// The faults that subjects get on purpose, in the order in which they were named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultRecord>,
    /// The machines that made the load; `None` if abx's own process made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetRecord>,
    /// What must be unchanged to continue the study; `None` for a run, and for records that are
    /// not separate studies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<StudyIdentity>,
    /// The points at which it had ended early and was continued (`--resume`), in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub continuations: Vec<Continuation>,
    /// The reason for the end of the study.
    pub end: StudyEnd,
    /// The blocks, with all measurements.
    #[serde(deserialize_with = "bounded::blocks")]
    pub blocks: Vec<BlockRecord>,
}

impl Measured {
    /// The subject of this name.
    #[must_use]
    pub fn subject(&self, name: &str) -> Option<&SubjectRecord> {
        self.subjects.iter().find(|subject| subject.name == name)
    }

    /// The load of this name.
    #[must_use]
    pub fn load(&self, name: &str) -> Option<&LoadRecord> {
        self.loads.iter().find(|load| load.name == name)
    }

    /// Whether the number of blocks was set, so that no measurement ends the study.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        self.settings.blocks.is_some()
    }

    /// The measurements from their JSON.
    ///
    /// The code that reads and writes JSON is large. At the optimisation levels 0 and 1, other
    /// crates use the copy that this function and [`Measured::to_json`] make, instead of one each.
    ///
    /// # Errors
    /// The text is not JSON, or not of this form.
    pub fn from_json(text: &str) -> Result<Measured, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The measurements as JSON on one line.
    ///
    /// # Panics
    /// Never: every key is a string.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("every key is a string")
    }

    /// Whether subjects are compared with each other.
    #[must_use]
    pub fn is_comparison(&self) -> bool {
        self.subjects.len() > 1
    }

    /// The blocks that are judged: the complete ones, all with the same load. If agents were lost
    /// and the others continued, the blocks before and after that differ: then the larger group of
    /// blocks is judged, and of equal groups the one with the larger load.
    pub fn complete_blocks(&self) -> impl Iterator<Item = &BlockRecord> {
        let missing = self.judged_without();
        let is_judged =
            move |block: &&BlockRecord| block.complete && block.missing_agents == missing;
        self.blocks.iter().filter(is_judged)
    }

    /// The agents that are missing in the blocks that are judged, by slot.
    #[must_use]
    pub fn judged_without(&self) -> &[u32] {
        if self
            .blocks
            .iter()
            .all(|block| block.missing_agents.is_empty())
        {
            return &[];
        }
        let complete = || self.blocks.iter().filter(|block| block.complete);
        let weight = |missing: &[u32]| {
            let group = complete().filter(|block| block.missing_agents == missing);
            (group.count(), Reverse(missing.len()))
        };
        complete()
            .map(|block| &block.missing_agents[..])
            .max_by_key(|missing| weight(missing))
            .unwrap_or_default()
    }

    /// Complete blocks that are not judged, because they had another load.
    #[must_use]
    pub fn blocks_of_another_load(&self) -> usize {
        let missing = self.judged_without();
        let others = |block: &&BlockRecord| block.complete && block.missing_agents != missing;
        self.blocks.iter().filter(others).count()
    }

    /// How long a block takes, in seconds: the study's time over all blocks, complete or not.
    #[must_use]
    pub fn seconds_per_block(&self) -> Option<f64> {
        let blocks = self.blocks.len();
        (blocks > 0).then(|| self.elapsed_s / blocks as f64)
    }

    /// Subjects that failed at the start of a block, complete or not.
    pub fn failed_starts(&self) -> impl Iterator<Item = FailedStart<'_>> {
        self.blocks.iter().flat_map(|block| {
            block.subjects.iter().filter_map(|(subject, life)| {
                Some(FailedStart {
                    subject,
                    block: block.index,
                    why: life.failed_start.as_deref()?,
                })
            })
        })
    }

    /// The results of one load in each judged block, in order.
    pub fn block_loads<'a>(&'a self, load: &'a str) -> impl Iterator<Item = &'a BlockLoad> {
        self.complete_blocks()
            .flat_map(|block| &block.loads)
            .filter(move |part| part.load == load)
    }
}

/// How the study was conducted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// The subject that the others are compared with, unless contrasts say otherwise.
    pub baseline: String,
    /// The pairs that the study declared; empty if every subject is compared with
    /// the baseline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contrasts: Vec<Contrast>,
    /// Whether both subjects are the same on purpose.
    pub aa: bool,
    /// Differences up to this share do not matter: 0.03 is 3 %.
    pub margin: f64,
    /// The wall-clock time that the study was allowed to take, in seconds.
    pub budget_s: f64,
    /// The requested number of blocks, which replaces the stop by precision.
    pub blocks: Option<u32>,
    /// Worker threads of the generator.
    pub threads: usize,
    /// CPUs of the subjects.
    pub subject_cpus: Vec<usize>,
    /// CPUs of the generator.
    pub generator_cpus: Vec<usize>,
    /// How the generator waited for responses.
    #[serde(flatten)]
    pub waiting: Waiting,
}

impl Settings {
    /// Whether subjects and generator have a CPU in common.
    #[must_use]
    pub fn shares_cpus(&self) -> bool {
        let mut cpus = self.subject_cpus.iter();
        cpus.any(|cpu| self.generator_cpus.contains(cpu))
    }
}

/// A machine of a study. Facts that could not be read are absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// The CPU's name.
    pub cpu_model: Option<String>,
    /// CPUs that abx was allowed to use.
    pub cpus: usize,
    /// These CPUs by core: SMT siblings are in one list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<Vec<Vec<usize>>>,
    /// Main memory.
    pub memory_bytes: Option<u64>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// Whether it is a virtual machine.
    pub is_virtual: Option<bool>,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
    /// The longest listen queue that the kernel allows.
    pub somaxconn: Option<u32>,
    /// The local ports that connections get.
    pub local_ports: Option<(u16, u16)>,
    /// The governor of the CPU's frequency.
    pub governor: Option<String>,
    /// The most file descriptors that a process may have.
    pub descriptors_max: Option<u64>,
    /// The parts of the study that were on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<MachineRole>,
}

/// A part of a study that runs on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MachineRole {
    /// Servers under test.
    Subjects,
    /// The load generator.
    Generator,
}

/// A server under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubjectRecord {
    /// Its name in this study.
    pub name: String,
    /// The argument list that started it, with its placeholders; empty for a
    /// server that was already running. The first word of a container's list is `image:` with
    /// the name of its image.
    pub command: Vec<String>,
    /// Its address, for a server that was already running.
    pub address: Option<String>,
    /// The IP address and port at which it was loaded, since a host name may have
    /// several; `None` for a server that abx started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connected_to: Option<String>,
    /// The version that it reports, or the digest of its image; `None` if that is not known.
    pub version: Option<String>,
    /// The intended server, if this one stands in for it.
    pub stand_in_for: Option<String>,
    /// Whether it got HTTP/2 requests under loads of HTTP/1.1.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub http2: bool,
    /// The revision of a git repository that it was built from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<RevisionRecord>,
}

/// The revision that a subject was built from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevisionRecord {
    /// The hash of its commit.
    pub commit: String,
    /// The requested revision: a branch, a tag, a hash, or `working tree`.
    pub name: String,
    /// The subject line of the commit message.
    pub title: String,
    /// The commit's author date, by RFC 3339.
    pub author_date: String,
    /// A hash of the working tree's changes since the commit; `None` for the commit itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<String>,
    /// The commands that built it, in order; empty if the checkout is the build.
    pub build: Vec<String>,
}

impl SubjectRecord {
    /// Whether abx started and stopped it.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.address.is_none()
    }
}

/// A subject of the study that was not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedSubject {
    /// Its name in this study.
    pub name: String,
    /// What it needs that was missing.
    pub needs: String,
    /// How to get it.
    pub how: String,
}

/// The reason for the end of a study.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum StudyEnd {
    /// It has not ended: the record was saved while it ran.
    Running,
    /// The interval is as narrow as the margin requires.
    Precision,
    /// The interval at 99.9 % excludes 1.
    Certain,
    /// Each interval at 99.9 % lies on one side of its limit (`--expect`, `--fail-if-slower`).
    Settled,
    /// The study is a step of a search (`abx bisect`), and this step has been decided.
    Decided,
    /// The requested number of blocks is reached.
    Blocks,
    /// The budget is used up.
    Budget,
    /// Subjects failed so that no comparison could become valid.
    Invalid,
    /// You interrupted it.
    Interrupted,
    /// abx itself could not continue.
    Failed {
        /// The reason.
        why: String,
    },
    /// A subject could not continue.
    SubjectFailed {
        /// Its name.
        subject: String,
        /// How it failed.
        how: String,
    },
    /// A service could not continue.
    ServiceFailed {
        /// Its name.
        service: String,
        /// How it failed.
        how: String,
    },
}
