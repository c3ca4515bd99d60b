//! What was read of a machine and measured on it, and the checks that follow.

use serde::{Deserialize, Serialize};

use crate::judge::metric::Metric;
use crate::judge::values::{Rounds, Values};
use crate::view::OfferView;
use crate::view::sums::Sums;
use abx_evidence::record::{LoadSettings, Measured, OtherProgram, SliceRecord};
use abx_evidence::{OutputHead, share};
use abx_stats::Margin;
use abx_stats::paired::PairedMean;
use abx_stats::student::Confidence;

/// The blocks of a usual study, for which [`Noise::detectable`] is stated.
pub const BLOCKS_USUAL: usize = 10;
/// No study is advised to have more blocks than this.
const BLOCKS_MOST: usize = 1_000;

/// What one machine can measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DoctorRecord {
    #[serde(flatten)]
    pub head: OutputHead,
    /// The version of abx that looked.
    pub abx_version: String,
    /// When it began, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// How long it took, in seconds.
    pub elapsed_s: f64,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// The machine's own readings.
    pub readings: Readings,
    /// What else had the processors while noise and ceilings were measured.
    pub elsewhere: Option<ForeignCpu>,
    /// The programs that abx did not start and that used most processor time meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_programs: Vec<OtherProgram>,
    /// The differences that it can show; `None` if that was not measured.
    pub noise: Option<Noise>,
    /// What one generator thread reaches; empty when that was not measured.
    pub ceilings: Vec<GeneratorCeiling>,
    /// Why noise or ceilings were not measured to their end.
    pub refusal: Option<String>,
    /// What all of it means, the weightiest first; filled by [`examine`](super::examine()).
    pub checks: Vec<Check>,
}

/// A machine's own readings; `None` is "could not be read".
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Readings {
    pub cpu_model: Option<String>,
    pub kernel: Option<String>,
    pub cpus_online: Option<u32>,
    /// Processors that abx may use.
    pub cpus: Vec<usize>,
    /// The same, those that share a core together.
    pub cores: Vec<Vec<usize>>,
    /// Those that subjects would get.
    pub subject_cpus: Vec<usize>,
    /// Those that the generator would get.
    pub generator_cpus: Vec<usize>,
    /// How many processors' time the control group may use.
    pub quota: Option<Quota>,
    pub memory_bytes: Option<u64>,
    /// What programs could still get of it.
    pub memory_available_bytes: Option<u64>,
    /// Whether it is a virtual machine.
    pub is_virtual: Option<bool>,
    /// For how long an idle processor waits awake before the host gets it, in ns at
    /// most; `None` if that is unknown.
    pub halt_poll_ns: Option<u64>,
    /// The kernel's source of time.
    pub clocksource: Option<String>,
    /// The sources that it would accept.
    pub clocksources: Option<Vec<String>>,
    /// What one reading of the clock costs, in ns.
    pub clock_reading_ns: f64,
    /// How the frequencies of the processors are chosen, each way once.
    pub governors: Option<Vec<String>>,
    /// File descriptors that a process has by default; 2⁶⁴ − 1 is no limit.
    pub descriptors_soft: u64,
    /// File descriptors that it may raise this to.
    pub descriptors_hard: u64,
    /// The ports that connections get on this side, both ends included.
    pub local_ports: Option<(u16, u16)>,
    /// Why there are no ports for subjects; `None` when there are.
    pub subject_ports_refused: Option<String>,
    /// The longest listen queue that the kernel allows.
    pub somaxconn: Option<u32>,
    /// How many connections of a listener may be half open.
    pub tcp_max_syn_backlog: Option<u32>,
    /// The waits for each resource before anything was measured.
    pub pressure: Option<Pressure>,
    /// What `--why` may sample.
    #[serde(default)]
    pub sampling: Option<Sampling>,
}

/// What `--why` may sample here, and the settings that decide it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    pub reach: SamplingReach,
    /// What forbids more; `None` if everything is allowed.
    pub limit: Option<String>,
    /// What keeps system calls from being counted; `None` if nothing does.
    #[serde(default)]
    pub calls_limit: Option<String>,
    /// Whether the kernel shows abx the names of its functions.
    pub has_kernel_names: bool,
    pub perf_event_paranoid: Option<i32>,
    pub kptr_restrict: Option<i32>,
}

/// How much of what a server runs can be sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SamplingReach {
    /// Its own code, and the kernel's work for it.
    All,
    /// Its own code.
    OwnCode,
    Nothing,
}

/// How many processors' time a control group may use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quota {
    /// As much as there is.
    Unlimited,
    Cpus(f64),
}

/// For which share of the last ten seconds some program waited.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    pub cpu: f64,
    pub memory: f64,
    pub io: f64,
}

/// What else had the processors that abx may use, as shares of their time; to a
/// clock tick (10 ms) of each processor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ForeignCpu {
    /// For how long that was looked at, in seconds.
    pub span_s: f64,
    /// What the hypervisor gave to other machines; `None` when not readable.
    pub steal: Option<f64>,
    /// What programs used that abx did not start; `None` when not readable.
    pub foreign: Option<f64>,
}

/// The noise that a study of one server against itself shows on a machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Blocks that came to their end.
    pub blocks: usize,
    /// Connections of the load, which were kept alive.
    pub connections: u32,
    /// For how long a block loaded each of the two, in seconds.
    pub block_load_s: Option<f64>,
    /// One over the other, which is 1 in truth; `None` below 2 blocks.
    pub ratio: Option<f64>,
    /// The interval's lower end.
    pub low: Option<f64>,
    /// The interval's upper end.
    pub high: Option<f64>,
    /// The standard deviation of the blocks' log ratios: 0.02 is about 2 %.
    pub spread: Option<f64>,
    /// The smallest difference, as a share, that [`BLOCKS_USUAL`] blocks of this
    /// spread show in 4 of 5 studies.
    pub detectable: Option<f64>,
    /// How many blocks show the usual margin in 4 of 5 studies; `None` when a
    /// thousand do not.
    pub blocks_for_margin: Option<usize>,
    /// The share of its time for which the generator was ready and did not run.
    pub generator_wait: Option<f64>,
}

/// What one generator thread reaches against a server that does next to nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GeneratorCeiling {
    /// Whether a connection served more than one request.
    pub keep_alive: bool,
    pub connections: u32,
    /// Verified responses per second; `None` when there was none.
    pub throughput_per_s: Option<f64>,
    /// The share of its processor that the generator used.
    pub generator_busy: Option<f64>,
    /// The share of one processor that the server used.
    pub server_busy: Option<f64>,
    pub ok: u64,
    pub failed: u64,
    /// How long it was measured for, in seconds.
    pub measured_s: f64,
}

/// How far something limits what can be measured, the weightiest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    Ok,
    /// It could not be read or measured.
    NotChecked,
    /// Comparisons take longer, or show less.
    Limits,
    /// Usual comparisons cannot be made, or show nothing.
    Stops,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// A fixed name that scripts can look for, in snake case.
    pub id: String,
    pub status: CheckStatus,
    /// What was seen, with figures.
    pub message: String,
    /// What the reader can do; `None` when nothing is to be done.
    pub remedy: Option<String>,
    pub command: Option<String>,
}

impl Check {
    pub(super) fn new(id: &str, status: CheckStatus, message: impl Into<String>) -> Check {
        Check {
            id: id.to_owned(),
            status,
            message: message.into(),
            remedy: None,
            command: None,
        }
    }

    /// The same with what to do.
    pub(super) fn remedy(mut self, remedy: impl Into<String>) -> Check {
        self.remedy = Some(remedy.into());
        self
    }

    /// The same with the command that does it.
    pub(super) fn command(mut self, command: impl Into<String>) -> Check {
        self.command = Some(command.into());
        self
    }
}

impl Noise {
    /// The noise in a study of two subjects that are the same, whatever its verdict.
    #[must_use]
    pub fn of(record: &Measured) -> Noise {
        let (Some(load), Some(again)) = (record.loads.first(), record.subjects.last()) else {
            return Noise::default();
        };
        let view = OfferView::of(record, load);
        let values = Values::under(&view, Metric::Throughput, Rounds::All);
        let ratios = values.log_ratios([&again.name, &record.settings.baseline]);
        let paired = PairedMean::of(&ratios).ok();
        let interval = paired.map(|paired| {
            let interval = paired.interval(Confidence::COMPUTED);
            interval.ratios(Confidence::PRINTED.share())
        });
        let interval = interval
            .filter(|ratio_interval| ratio_interval.low > 0.0 && ratio_interval.high.is_finite());
        let pilot = load.pilot.as_ref();
        let sums = view.sums();
        let threads = record.settings.threads.max(1) as u64;
        Noise {
            blocks: ratios.len(),
            connections: load.settings.connections,
            block_load_s: pilot.map(|pilot| pilot.slice_ns as f64 * f64::from(pilot.rounds) / 1e9),
            ratio: interval.map(|ratio_interval| ratio_interval.ratio),
            low: interval.map(|ratio_interval| ratio_interval.low),
            high: interval.map(|ratio_interval| ratio_interval.high),
            spread: paired.map(|paired| paired.spread()),
            detectable: paired.and_then(|paired| paired.detectable(BLOCKS_USUAL)),
            blocks_for_margin: paired
                .and_then(|paired| paired.blocks_to_detect(Margin::DEFAULT.share(), BLOCKS_MOST)),
            generator_wait: sums
                .generator_wait_ns
                .and_then(|wait| share(wait, sums.wall_ns * threads)),
        }
    }
}

impl GeneratorCeiling {
    /// What one slice under this load gave.
    #[must_use]
    pub fn of(settings: &LoadSettings, slice: &SliceRecord) -> GeneratorCeiling {
        let sums = Sums::from(slice);
        GeneratorCeiling {
            keep_alive: settings.keep_alive,
            connections: settings.connections,
            throughput_per_s: sums.throughput(settings).filter(|rate| *rate > 0.0),
            generator_busy: share(slice.busiest_worker_ns, slice.wall_ns),
            server_busy: slice
                .server_cpu_ns
                .and_then(|cpu| share(cpu, slice.window_ns)),
            ok: slice.ok,
            failed: sums.outcomes.failed() + sums.discarded.failed(),
            measured_s: slice.measured_ns as f64 / 1e9,
        }
    }
}
