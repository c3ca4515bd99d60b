//! A study: its subjects, their load, and how they are compared.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use abx_evidence::record::{Contrast, Interleave, SkippedSubject};
use abx_stats::Margin;

use crate::loads::load::Load;
use crate::loads::rates::RateSpec;
use crate::servers::fault::Fault;
use crate::servers::service::StudyService;
use crate::servers::subject::Subject;

/// A search for rates and the grid around its result take as long as this many loads.
const GRID_IN_LOADS: usize = 5;

/// A study.
#[derive(Debug, Clone)]
pub struct Study {
    /// The servers under test; the first is the baseline.
    pub subjects: Vec<Subject>,
    /// The services of the subjects, in the order in which they are started.
    pub services: Vec<StudyService>,
    /// The pairs that are compared; empty to compare each subject with the baseline.
    pub contrasts: Vec<Contrast>,
    pub loads: Vec<Load>,
    /// The faults of the subjects, under some of the loads.
    pub faults: Vec<Fault>,
    /// Whether both subjects are the same server on purpose.
    pub aa: bool,
    /// The smallest difference that matters.
    pub margin: Margin,
    /// The wall time that the study may take; `None` for the usual one.
    pub budget: Option<Duration>,
    /// A fixed number of blocks instead of a stop by precision.
    pub blocks: Option<u32>,
    /// The time that requested blocks have; `None` if they may take any time.
    pub ordered_time: Option<OrderedTime>,
    /// The length of a slice; `None` for the pilot's, which is longer for slow subjects.
    pub slice: Option<Duration>,
    /// A fixed number of rounds in a block instead of one from the slices' length.
    pub rounds: Option<u32>,
    /// The shortest warm-up of a block's first load, so that the throughput of a fresh start can be
    /// compared.
    pub cold: Option<Duration>,
    /// How to start a server that does nothing, which shows the generator's highest throughput;
    /// `None` to skip that.
    pub ceiling: Option<CeilingServer>,
    pub interleave: Interleave,
    /// Files that are made in the folder of each subject that abx starts.
    pub files: Vec<GeneratedFile>,
    /// Local addresses that connections come from; empty for the usual ones.
    pub local_addresses: Vec<IpAddr>,
    /// Worker threads; `None` for one per CPU of the generator.
    pub threads: Option<usize>,
    pub pin: Pin,
    /// How the generator waits for responses.
    pub wait: WaitChoice,
    /// The seed of all randomness.
    pub seed: u64,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// The name of its file; `None` for a study without one.
    pub name: Option<String>,
    /// The user's label for the record.
    pub label: Option<String>,
    /// Subjects of the study that are not measured, because something that they need is missing.
    pub skipped: Vec<SkippedSubject>,
    /// How long the pilot measures each subject.
    pub pilot: PilotEffort,
    /// Whether subjects are sampled after their slices, to learn where their CPU time goes.
    pub why: bool,
}

impl Study {
    /// A study of one subject that is compared with nothing, with default settings otherwise.
    #[must_use]
    pub fn of_one(subject: Subject, loads: Vec<Load>, seed: u64, command: Vec<String>) -> Study {
        Study {
            subjects: vec![subject],
            services: Vec::new(),
            contrasts: Vec::new(),
            loads,
            faults: Vec::new(),
            aa: false,
            margin: Margin::DEFAULT,
            budget: None,
            blocks: None,
            ordered_time: None,
            slice: None,
            rounds: None,
            cold: None,
            ceiling: None,
            interleave: Interleave::Slices,
            files: Vec::new(),
            local_addresses: Vec::new(),
            threads: None,
            pin: Pin::Split,
            wait: WaitChoice::Auto,
            seed,
            command,
            name: None,
            label: None,
            skipped: Vec::new(),
            pilot: PilotEffort::Usual,
            why: false,
        }
    }

    /// The baseline's name.
    #[must_use]
    pub fn baseline(&self) -> &str {
        self.subjects.first().map_or("", |subject| &subject.name)
    }

    /// The wall time that the study may take. The default is two minutes per load or fault, times
    /// the number of subjects other than the baseline (at least one). A search for rates and the
    /// grid around its result have as long as five loads.
    #[must_use]
    pub fn budget(&self) -> Duration {
        let others = self.subjects.len().saturating_sub(1).max(1);
        let weight = |load: &Load| match load.rate {
            RateSpec::Objective { .. } => GRID_IN_LOADS,
            RateSpec::AsPaced | RateSpec::Share { .. } | RateSpec::Found { .. } => 1,
        };
        let loads: usize = self.loads.iter().map(weight).sum();
        let comparisons = (loads + self.faults.len()) * others;
        let usual = Duration::from_secs(120) * u32::try_from(comparisons).unwrap_or(u32::MAX);
        self.budget.unwrap_or(usual)
    }
}

/// The time of blocks whose number is fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderedTime {
    /// The wall time of the whole study: blocks that do not fit have less load.
    Whole(Duration),
    /// For how long all blocks together measure each subject under each load.
    EachLoad(Duration),
}

/// How the server that does nothing is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CeilingServer {
    /// Its argument list, with `{port}`, and `{bytes}` for the length of its page.
    pub command: Vec<String>,
    /// Added to that if connections are encrypted.
    pub encrypted: Vec<String>,
}

/// A file made from the seed, the same bytes for all subjects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedFile {
    /// Its path in the subject's folder: relative, and never above it.
    pub path: PathBuf,
    pub bytes: u64,
}

/// How the generator waits for responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitChoice {
    /// Awake if the generator has CPUs that no other program needs, otherwise asleep.
    Auto,
    /// Awake. abx refuses to measure if that is not possible.
    Awake,
    /// Asleep in the kernel.
    Asleep,
}

/// The CPUs of subjects and generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pin {
    /// Subjects and generator have their own CPUs.
    Split,
    /// Both may use all CPUs.
    Shared,
}

/// How long the pilot measures each subject.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PilotEffort {
    /// Until the length of its warm-up is known.
    #[default]
    Usual,
    /// Like `Usual` under the first load, when the subject has just started; shorter under others.
    Quick,
    /// As briefly as possible: only whether the subject works matters, not its speed.
    Brief,
}

impl PilotEffort {
    /// The effort under a load, which is the first of its block or a later one.
    #[must_use]
    pub fn under(self, is_first: bool) -> PilotEffort {
        match (self, is_first) {
            (PilotEffort::Quick, true) => PilotEffort::Usual,
            (effort, _) => effort,
        }
    }
}
