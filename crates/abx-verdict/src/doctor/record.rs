//! The readings of a machine, the measurements on it, and the checks that follow.

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

/// The result of `abx doctor`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DoctorRecord {
    #[serde(flatten)]
    pub head: OutputHead,
    /// The version of abx that measured.
    pub abx_version: String,
    /// When it began, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// How long it took, in seconds.
    pub elapsed_s: f64,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// The machine's own readings.
    pub readings: Readings,
    /// The CPU time of everything else while noise and ceilings were measured.
    pub elsewhere: Option<ForeignCpu>,
    /// The programs that abx did not start and that used most CPU time meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_programs: Vec<OtherProgram>,
    /// The differences that it can show; `None` if not measured.
    pub noise: Option<Noise>,
    /// The throughput that one generator thread reaches; empty if not measured.
    pub ceilings: Vec<GeneratorCeiling>,
    /// Why the measurement of noise or ceilings was not completed.
    pub refusal: Option<String>,
    /// The conclusions, the most serious first; filled by [`examine`](super::examine()).
    pub checks: Vec<Check>,
}

/// A machine's own readings; `None` is "could not be read".
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Readings {
    pub cpu_model: Option<String>,
    pub kernel: Option<String>,
    pub cpus_online: Option<u32>,
    /// The CPUs that abx may use.
    pub cpus: Vec<usize>,
    /// These CPUs by core.
    pub cores: Vec<Vec<usize>>,
    /// The CPUs that subjects would get.
    pub subject_cpus: Vec<usize>,
    /// The CPUs that the generator would get.
    pub generator_cpus: Vec<usize>,
    /// The CPU time that the control group may use.
    pub quota: Option<Quota>,
    pub memory_bytes: Option<u64>,
    /// The memory that programs could still get.
    pub memory_available_bytes: Option<u64>,
    /// Whether it is a virtual machine.
    pub is_virtual: Option<bool>,
    /// The longest time for which an idle CPU polls before it returns to the host, in ns;
    /// `None` if unknown.
    pub halt_poll_ns: Option<u64>,
    /// The kernel's source of time.
    pub clocksource: Option<String>,
    /// The sources of time that the kernel would accept.
    pub clocksources: Option<Vec<String>>,
    /// The time of one reading of the clock, in ns.
    pub clock_reading_ns: f64,
    /// The frequency governors of the CPUs, each once.
    pub governors: Option<Vec<String>>,
    /// The limit of file descriptors that a process has by default; 2⁶⁴ − 1 is no limit.
    pub descriptors_soft: u64,
    /// The limit to which a process may raise it.
    pub descriptors_hard: u64,
    /// The first and last local port of connections.
    pub local_ports: Option<(u16, u16)>,
    /// Why there are no ports for subjects; `None` when there are.
    pub subject_ports_refused: Option<String>,
    /// The longest listen queue that the kernel allows.
    pub somaxconn: Option<u32>,
    /// The most half-open connections of a listener.
    pub tcp_max_syn_backlog: Option<u32>,
    /// The waits for each resource before anything was measured.
    pub pressure: Option<Pressure>,
    /// The samples that `--why` may take.
    #[serde(default)]
    pub sampling: Option<Sampling>,
}

/// The samples that `--why` may take here, and the settings that decide this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    pub reach: SamplingReach,
    /// The obstacle to more samples; `None` if everything is allowed.
    pub limit: Option<String>,
    /// The obstacle to counting system calls; `None` if there is none.
    #[serde(default)]
    pub calls_limit: Option<String>,
    /// Whether the kernel shows abx the names of its functions.
    pub has_kernel_names: bool,
    pub perf_event_paranoid: Option<i32>,
    pub kptr_restrict: Option<i32>,
}

/// The code of a server that can be sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SamplingReach {
    /// Its own code, and the kernel's work for it.
    All,
    /// Its own code.
    OwnCode,
    Nothing,
}

/// The CPU time that a control group may use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quota {
    /// All of it.
    Unlimited,
    Cpus(f64),
}

/// The shares of the last ten seconds for which some program waited.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    pub cpu: f64,
    pub memory: f64,
    pub io: f64,
}

/// The use of the CPUs that abx may use by everything else, as shares of their time. The
/// resolution is a clock tick (10 ms) of each CPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ForeignCpu {
    /// The observed time, in seconds.
    pub span_s: f64,
    /// The share that the hypervisor gave to other machines; `None` if not readable.
    pub steal: Option<f64>,
    /// The share of programs that abx did not start; `None` if not readable.
    pub foreign: Option<f64>,
}

/// The noise that a study of one server against itself shows on a machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Complete blocks.
    pub blocks: usize,
    /// Connections of the load, which were kept alive.
    pub connections: u32,
    /// The time for which a block loaded each of the two, in seconds.
    pub block_load_s: Option<f64>,
    /// The ratio of the two, whose true value is 1; `None` below 2 blocks.
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
    /// The number of blocks that show the usual margin in 4 of 5 studies; `None` if a
    /// thousand do not.
    pub blocks_for_margin: Option<usize>,
    /// The share of its time for which the generator was ready and did not run.
    pub generator_wait: Option<f64>,
}

/// The throughput that one generator thread reaches with a server that does next to nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GeneratorCeiling {
    /// Whether a connection served more than one request.
    pub keep_alive: bool,
    pub connections: u32,
    /// Verified responses per second; `None` if there was none.
    pub throughput_per_s: Option<f64>,
    /// The share of its CPU that the generator used.
    pub generator_busy: Option<f64>,
    /// The share of one CPU that the server used.
    pub server_busy: Option<f64>,
    pub ok: u64,
    pub failed: u64,
    /// The duration of the measurement, in seconds.
    pub measured_s: f64,
}

/// The effect of something on measurements, the most serious last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    Ok,
    /// It could not be read or measured.
    NotChecked,
    /// Comparisons take longer, or show only larger differences.
    Limits,
    /// Usual comparisons are impossible, or show nothing.
    Stops,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// A fixed name for scripts, in snake case.
    pub id: String,
    pub status: CheckStatus,
    /// The result, with figures.
    pub message: String,
    /// The remedy; `None` if none is needed.
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

    pub(super) fn remedy(mut self, remedy: impl Into<String>) -> Check {
        self.remedy = Some(remedy.into());
        self
    }

    pub(super) fn command(mut self, command: impl Into<String>) -> Check {
        self.command = Some(command.into());
        self
    }
}

impl Noise {
    /// The noise in a study of two identical subjects, whatever its verdict.
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
        let interval = interval.filter(|interval| interval.low > 0.0 && interval.high.is_finite());
        let pilot = load.pilot.as_ref();
        let sums = view.sums();
        let threads = record.settings.threads.max(1) as u64;
        Noise {
            blocks: ratios.len(),
            connections: load.settings.connections,
            block_load_s: pilot.map(|pilot| pilot.slice_ns as f64 * f64::from(pilot.rounds) / 1e9),
            ratio: interval.map(|interval| interval.ratio),
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
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
    /// The ceiling by one slice under this load.
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
