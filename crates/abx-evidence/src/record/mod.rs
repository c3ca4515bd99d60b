//! What is kept of a study: everything that was measured, in the order in which
//! it was measured. Nothing here is concluded; see [`judge`](crate::judge()).
//! `docs/record-format.md` explains each key.

mod columns;
mod contrast;
pub(crate) mod finding;
pub(crate) mod finding_id;
pub(crate) mod level;
pub(crate) mod objective;
mod past_baseline;
mod readings;
mod waiting;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::arrivals::ArrivalSettings;
use crate::measure::exchange::Exchange;
use crate::measure::histogram::Histogram;
use crate::measure::outcome::Outcomes;
use crate::measure::phases::{PhaseSums, Phases};
use crate::measure::tally::{SliceTally, Tally};
use crate::record::objective::Objective;

pub use contrast::Contrast;
pub use past_baseline::{PastBaseline, PastLoad, PastReference};
pub use readings::{Canary, HostCounters, InUse, SubjectReadings};
pub use waiting::{Wait, Waiting};

/// The schema that this version writes.
pub const STUDY_SCHEMA: &str = "abx.study/1";

/// The name under which the slices of a server that does nothing are kept, in
/// one round of several. It is no subject.
pub const CEILING: &str = "(ceiling)";

/// What a study measured, of whom, how and where. All that is concluded follows
/// from it; in a file it stands with its conclusions, see [`StudyRecord`](crate::StudyRecord).
/// A run is a study of one subject in one block, see [`RunRecord`](crate::RunRecord).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// The version of abx that measured.
    pub abx_version: String,
    /// The command line that started the study.
    pub command: Vec<String>,
    /// When it started, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// How long it took, in seconds.
    pub elapsed_s: f64,
    /// What all randomness of the study was drawn from.
    pub seed: u64,
    /// How the study was conducted.
    pub settings: Settings,
    /// Where it was conducted.
    pub machine: Machine,
    /// The servers under test, in the order in which they were named.
    pub subjects: Vec<SubjectRecord>,
    /// Subjects of the study that were not measured, for want of what they need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedSubject>,
    /// The loads, in the order in which they were named.
    pub loads: Vec<LoadRecord>,
    /// Why the study ended.
    pub end: StudyEnd,
    /// The subject of an older record that it is compared with, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past_baseline: Option<PastBaseline>,
    /// Everything that was measured.
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

    /// Whether the number of blocks was ordered, so that nothing that was measured ends it.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        self.settings.blocks.is_some()
    }

    /// Whether subjects are compared, with each other or with that of an older record.
    #[must_use]
    pub fn is_comparison(&self) -> bool {
        self.subjects.len() > 1 || self.past_baseline.is_some()
    }

    /// The blocks that came to their end: only these are judged.
    pub fn complete_blocks(&self) -> impl Iterator<Item = &BlockRecord> {
        self.blocks.iter().filter(|block| block.complete)
    }

    /// What one load gave in each block, in the order of the blocks.
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
    /// The pairs that the study declared; empty where every subject is compared with
    /// the baseline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contrasts: Vec<Contrast>,
    /// Whether the two subjects are one and the same on purpose.
    pub aa: bool,
    /// Differences up to this share do not matter: 0.03 is 3 %.
    pub margin: f64,
    /// The wall time that the study might take, in seconds.
    pub budget_s: f64,
    /// The number of blocks that was ordered instead of a stop by precision.
    pub blocks: Option<u32>,
    /// Worker threads of the generator.
    pub threads: usize,
    /// Processors of the subjects.
    pub subject_cpus: Vec<usize>,
    /// Processors of the generator.
    pub generator_cpus: Vec<usize>,
    /// How the generator waited for answers.
    #[serde(flatten)]
    pub waiting: Waiting,
}

/// Where the study was conducted; what could not be read is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// The processor's name.
    pub cpu_model: Option<String>,
    /// Processors that abx was allowed to use.
    pub cpus: usize,
    /// These processors by core: SMT siblings stand together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<Vec<Vec<usize>>>,
    /// Main memory.
    pub memory_bytes: Option<u64>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// Whether it is a virtual machine.
    pub is_virtual: Option<bool>,
    /// The kernel's source of time.
    pub clocksource: Option<String>,
    /// The longest listen queue that the kernel allows.
    pub somaxconn: Option<u32>,
    /// The ports that connections get on this side.
    pub local_ports: Option<(u16, u16)>,
    /// How the processor's frequency is governed.
    pub governor: Option<String>,
    /// File descriptors that a process may have.
    pub descriptors_max: Option<u64>,
    /// Which parts of the study were on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<MachineRole>,
}

/// A part of a study that is on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MachineRole {
    /// Servers under test.
    Subjects,
    /// What loads them.
    Generator,
}

/// A server under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubjectRecord {
    /// Its name in this study.
    pub name: String,
    /// The argument list that started it, with its placeholders; empty for a
    /// server that was already running.
    pub command: Vec<String>,
    /// Where it was found, for a server that was already running.
    pub address: Option<String>,
    /// The IP address and port there that it was loaded at, since a host's name may stand
    /// for several; `None` for one that abx started, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connected_to: Option<String>,
    /// What it says of its version; `None` when that is not known.
    pub version: Option<String>,
    /// The server that was meant, when this one stands in for it.
    pub stand_in_for: Option<String>,
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
    /// What it needs and what was not there.
    pub needs: String,
    /// How a person gets that.
    pub how: String,
}

/// An answer that was read to its end before the load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerRecord {
    /// The status.
    pub status: u16,
    /// The body's length.
    pub body_bytes: u64,
    /// The body's SHA-256 in hexadecimal; `None` when bodies vary by themselves.
    pub sha256: Option<String>,
}

/// What was offered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadRecord {
    /// Its name in this study.
    pub name: String,
    /// What was asked for.
    pub settings: LoadSettings,
    /// What each subject answered before the load, in the order of the requests.
    pub answers: BTreeMap<String, Vec<AnswerRecord>>,
    /// What the pilot found and set; `None` before the pilot has ended.
    pub pilot: Option<PilotRecord>,
}

impl LoadRecord {
    /// What it has in common with the names of the other rates that one objective is
    /// looked for at; its own name without an objective.
    #[must_use]
    pub fn name_of_grid(&self) -> &str {
        let stem = self.name.rsplit_once("-r").map(|(stem, _)| stem);
        let stem = stem.filter(|_| self.settings.objective.is_some());
        stem.unwrap_or(&self.name)
    }

    /// How a subject failed in this load's pilot, in words that follow its name.
    #[must_use]
    pub fn failure_in_pilot(&self, subject: &str) -> Option<&str> {
        let found = self.pilot.as_ref()?.subjects.get(subject)?;
        found.failed.as_deref()
    }
}

/// What was asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadSettings {
    /// Connections.
    pub connections: u32,
    /// What they speak, and how many requests each has in flight.
    #[serde(flatten)]
    pub exchange: Exchange,
    /// When requests were due.
    pub arrivals: ArrivalSettings,
    /// The rate as a share of what the slowest subject answered in a closed
    /// loop, where it was set so.
    pub share_of_slowest: Option<f64>,
    /// What subjects are asked to keep to, where the load is one of several
    /// rates that find out up to which they do.
    pub objective: Option<Objective>,
    /// What was asked, by weight.
    pub requests: Vec<RequestSettings>,
    /// Whether a connection serves more than one request.
    pub keep_alive: bool,
    /// Whether the files that abx made for a subject were dropped from memory
    /// before each of its slices.
    pub cold_cache: bool,
    /// How long a request may take, in seconds.
    pub timeout_s: f64,
    /// Connections opened per second before the load; `None` for as fast as the subject
    /// takes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_rate: Option<u32>,
    /// Of how many answers one had its body hashed.
    pub verify_every: u32,
    /// The status that counts as right.
    pub status: u16,
    /// Whether bodies were compared within and between subjects.
    pub bodies_compared: bool,
}

/// One request of a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestSettings {
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// How often it is asked, beside the weights of the others.
    pub weight: u32,
}

/// How subjects take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interleave {
    /// Short slices of each in random order.
    Slices,
    /// One long stretch of each in random order.
    Trials,
}

/// What the discarded first block found and set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PilotRecord {
    /// How subjects take turns.
    pub interleave: Interleave,
    /// Why they do not take turns as was asked; `None` when they do.
    pub interleave_reason: Option<String>,
    /// The length of a slice or trial.
    pub slice_ns: u64,
    /// The number of requests that ends a run instead of a length, which is 0 then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice_requests: Option<u64>,
    /// The first part of each slice, which is not counted.
    pub discard_ns: u64,
    /// Why slices are not as long as was asked, or how their length was chosen;
    /// `None` when they are as usual or as asked.
    pub slice_reason: Option<String>,
    /// What their length was chosen from, where that was asked for and could be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice_choice: Option<SliceChoiceRecord>,
    /// Rounds of a block for this load.
    pub rounds: u32,
    /// Whether a block has less of this load than usual, so that the study fits into
    /// the time that was given for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shortened: bool,
    /// The warm-up of each subject in each block.
    pub warm_up_ns: u64,
    /// What each subject gave.
    pub subjects: BTreeMap<String, PilotSubject>,
}

/// What the length of slices was chosen from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SliceChoiceRecord {
    /// The length without a choice.
    pub usual_ns: u64,
    /// What a slice of any length took beyond its length.
    pub switch_ns: u64,
    /// Each length, shortest first.
    pub lengths: Vec<SliceLengthRecord>,
}

/// What slices of one length promise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SliceLengthRecord {
    /// The length.
    pub slice_ns: u64,
    /// The spread of a block's log ratio that comes from within the block.
    pub spread: f64,
    /// The share of the usual length's time that the same precision takes.
    pub time_share: f64,
}

/// What one subject gave in the pilot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PilotSubject {
    /// Its throughput in requests per second.
    pub throughput_per_s: f64,
    /// Its warm-up as found.
    pub warm_up_ns: u64,
    /// Whether it had settled within the pilot.
    pub settled: bool,
    /// The share of one processor that it used in the slice after its own, the
    /// first tenth left out; `None` when that cannot be read.
    pub lingering: Option<f64>,
    /// How it failed under this load, under which it was then not measured; absent when
    /// it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// One block: every subject started afresh, loaded, stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// What each load gave.
    pub loads: Vec<BlockLoad>,
    /// How fast the processors were before and after; empty when that was not looked at.
    pub canaries: Vec<Canary>,
}

/// One subject's life in one block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockSubject {
    /// The port that it was given.
    pub port: u16,
    /// From its start to the first right answer, in seconds; `None` when it was running already.
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
    /// The process that listens, of a subject that abx did not start; `None` when it
    /// cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listener: Option<ListenerRecord>,
}

/// A process that listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListenerRecord {
    /// Its id.
    pub process_id: u32,
    /// Its name.
    pub name: String,
}

/// What one load gave in one block.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockLoad {
    /// The load's name.
    pub load: String,
    /// The rounds in order.
    pub rounds: Vec<Round>,
    /// The times of each subject's counted requests.
    pub histograms: BTreeMap<String, Histograms>,
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
}

/// One slice.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceRecord {
    /// Who was loaded.
    pub subject: String,
    /// The counted part: from the end of the discarded part to the slice's end.
    pub measured_ns: u64,
    /// From the first send to the last outcome.
    pub wall_ns: u64,
    /// The connections' time: from the first completion after the discarded part to the
    /// first one after the slice's end of each, summed.
    pub connection_ns: u64,
    /// The connections that have a part in it, where these may not be all that send: in a
    /// slice that ends by a number of requests.
    pub clocks: Option<u64>,
    /// Verified answers within the connections' time: what throughput counts; `None` in
    /// older records, in which they are all that are `ok`.
    pub clocked: Option<u64>,
    /// Attempts; the sum of the outcomes.
    pub sent: u64,
    /// Whole answers.
    pub completed: u64,
    /// Verified answers.
    pub ok: u64,
    /// All outcomes.
    pub outcomes: Outcomes,
    /// Outcomes of attempts that began before the counted part or behind it.
    pub discarded: Outcomes,
    /// Requests of an open loop that were due and never sent.
    pub unsent: u64,
    /// Requests of an open loop that were due when every connection was in use.
    pub queued: u64,
    /// Listeners that never got a broadcast, summed over broadcasts.
    pub lost: u64,
    /// Broadcasts that listeners got out of order or twice.
    pub out_of_order: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Bytes received in bodies.
    pub body_bytes: u64,
    /// Connections opened within the slice.
    pub connects: u64,
    /// Whole answers that ended a connection which was to be kept, wherever in the slice.
    pub closing: u64,
    /// Connections that had died since the last slice and were opened again before this one.
    pub reopened: u64,
    /// Bodies hashed.
    pub hashed: u64,
    /// Connections on which no request ended in the counted part.
    pub silent: u64,
    /// The sum of response times.
    pub response_ns_sum: u64,
    /// Where the time of a random sample of the whole answers went.
    pub phases: PhaseSums,
    /// Processor time of the subject; `None` when not readable.
    pub server_cpu_ns: Option<u64>,
    /// Context switches of the subject's threads, those that came and went
    /// meanwhile left out; `None` when not readable, when a thread ended, and
    /// when there are too many to look at.
    pub server_switches: Option<u64>,
    /// Processor time of the other subjects together, which should idle: for each of them
    /// the window's part, by time, of all that it used while it was left alone under this
    /// load. They are not read at each slice, since there may be thousands of processes.
    pub others_cpu_ns: Option<u64>,
    /// Processor time of the generator's threads, without what they waited awake.
    pub generator_cpu_ns: u64,
    /// Processor time in which they waited awake for answers.
    pub waiting_awake_ns: u64,
    /// Processor time of the busiest of them, without what it waited awake.
    pub busiest_worker_ns: u64,
    /// Time for which they were ready to run and did not.
    pub generator_wait_ns: Option<u64>,
    /// Time that the hypervisor took from our processors.
    pub steal_ns: Option<u64>,
    /// What of it was taken from the generator's.
    pub generator_steal_ns: Option<u64>,
    /// Time for which our processors were busy, whoever used them.
    pub busy_ns: Option<u64>,
    /// Wall time over which the four readings above were taken.
    pub window_ns: u64,
    /// Whether it ended early because no connection got an answer any more.
    pub stopped_answering: bool,
}

impl SliceRecord {
    /// The engine's part of a slice's record; what the lab reads is still absent.
    #[must_use]
    pub fn of(subject: &str, slice: &SliceTally) -> SliceRecord {
        let tally = &slice.tally;
        SliceRecord {
            subject: subject.to_owned(),
            measured_ns: slice.measured_ns,
            wall_ns: slice.wall_ns,
            connection_ns: tally.connection_ns,
            clocks: None,
            clocked: Some(tally.clocked),
            sent: tally.outcomes.sent(),
            completed: tally.outcomes.completed(),
            ok: tally.outcomes.ok(),
            outcomes: tally.outcomes.clone(),
            discarded: tally.discarded.clone(),
            unsent: tally.unsent,
            queued: tally.queued,
            lost: tally.lost,
            out_of_order: tally.out_of_order,
            bytes: tally.bytes,
            body_bytes: tally.body_bytes,
            connects: tally.connects,
            closing: tally.closing,
            reopened: 0,
            hashed: tally.hashed,
            silent: tally.silent,
            response_ns_sum: tally.response_ns_sum,
            phases: tally.phases.sums(),
            server_cpu_ns: None,
            server_switches: None,
            others_cpu_ns: None,
            generator_cpu_ns: slice.generator_cpu_ns,
            waiting_awake_ns: slice.waiting_awake_ns,
            busiest_worker_ns: slice.busiest_worker_ns,
            generator_wait_ns: slice.generator_wait_ns,
            steal_ns: None,
            generator_steal_ns: None,
            busy_ns: None,
            window_ns: slice.wall_ns,
            stopped_answering: slice.stopped_answering,
        }
    }
}

impl SliceRecord {
    /// Verified answers that throughput counts.
    #[must_use]
    pub fn timed_ok(&self) -> u64 {
        self.clocked.unwrap_or(self.ok)
    }
}

/// Times of counted requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Histograms {
    /// From the intended send to the last byte. Requests without an answer
    /// count with the time for which they had waited.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub response: Histogram,
    /// From the actual send to the last byte.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub service: Histogram,
    /// Those of `response` of which only this is known: it took at least so long.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub response_at_least: Histogram,
    /// The same of `service`.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub service_at_least: Histogram,
    /// How late sends were.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub lateness: Histogram,
    /// For how long the generator did not look at its clock while it had work.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub loop_lag: Histogram,
    /// Of broadcasts: from the intended send to when the first listener had it.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub first_listener: Histogram,
    /// The same of the median listener.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub median_listener: Histogram,
    /// Where the time of a random sample of the whole answers went.
    #[serde(default, skip_serializing_if = "Phases::is_empty")]
    pub phases: Phases,
}

impl Histograms {
    /// Those of a tally.
    #[must_use]
    pub fn of(tally: Tally) -> Histograms {
        Histograms {
            response: tally.response,
            service: tally.service,
            response_at_least: tally.response_at_least,
            service_at_least: tally.service_at_least,
            lateness: tally.lateness,
            loop_lag: tally.loop_lag,
            first_listener: tally.first_listener,
            median_listener: tally.median_listener,
            phases: tally.phases,
        }
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Histograms) {
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.response_at_least.merge(&other.response_at_least);
        self.service_at_least.merge(&other.service_at_least);
        self.lateness.merge(&other.lateness);
        self.loop_lag.merge(&other.loop_lag);
        self.first_listener.merge(&other.first_listener);
        self.median_listener.merge(&other.median_listener);
        self.phases.merge(&other.phases);
    }
}

/// Why a study ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum StudyEnd {
    /// It has not: the record was saved under way.
    Running,
    /// The interval is as narrow as the margin asks for.
    Precision,
    /// The interval at 99.9 % excludes 1.
    Certain,
    /// The number of blocks that was ordered is reached.
    Blocks,
    /// The budget is used up.
    Budget,
    /// Subjects failed so that no comparison could become valid.
    Invalid,
    /// The person stopped it.
    Interrupted,
    /// abx itself could not go on.
    Failed {
        /// Why not.
        why: String,
    },
    /// A subject could not go on.
    SubjectFailed {
        /// Which one.
        subject: String,
        /// How.
        how: String,
    },
}
