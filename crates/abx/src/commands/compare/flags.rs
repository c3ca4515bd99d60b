//! The flags of `abx compare`.

use std::path::PathBuf;
use std::time::Duration;

use abx_lab::PilotEffort;
use abx_stats::Margin;
use clap::{Args, ValueEnum};

use super::trust::TrustFlag;
use crate::flags::build::BuildFlags;
use crate::flags::expect::ExpectFlags;
use crate::flags::fleet::FleetFlags;
use crate::flags::help;
use crate::flags::load::{GeneratorFlags, LoadFlags};
use crate::flags::output::{FormatFlags, LabelFlag, OutputFlags, StudyFormatFlags};
use crate::flags::saved_file::ResumeFlag;
use crate::flags::units;

/// Compare servers: which is faster, by how much, and is it real?
///
/// Without arguments it compares two process models of the built-in server.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = "Examples:\n  \
    abx compare 'old=./server --port {port}' 'new=./server --port {port} --fast' --path /x\n  \
    abx compare http://127.0.0.1:8081/ http://127.0.0.1:8082/\n  \
    abx compare --aa 'nginx=nginx -c /etc/nginx-{port}.conf'\n  \
    abx compare nginx-vs-lighttpd\n  \
    abx compare http://127.0.0.1:8081/ new=http://127.0.0.1:8082/ --fail-if-slower 3%\n  \
    abx compare http://127.0.0.1:8081/ new=http://127.0.0.1:8082/ --plan\n  \
    abx compare --rev main --rev . --build 'make server' './server --port {port}'\n  \
    abx compare --resume 3fa9c1 --budget 10m\n\n\
    Commands are split into words without a shell. {port} is a port that abx chooses, {dir} a \
    fresh folder. With a study file, flags such as --budget and --margin override it; load flags \
    (-c, --path, …) are rejected.",
    after_help = "Examples:\n  abx compare 'old=./old --port {port}' 'new=./new --port {port}'\n\n\
        `abx compare --help` has all flags and more examples.",
    mut_args(|argument| help::brief(argument, BRIEF))
)]
pub struct Compare {
    /// A study, or subjects; the first is the baseline.
    ///
    /// A study is a file, a folder, or a name from `abx study list`. A subject is a URL,
    /// 'name=command with {port}' or, for a container, 'name=image:IMAGE words'.
    #[arg(value_name = "STUDY|SUBJECT")]
    pub words: Vec<String>,
    #[command(flatten)]
    pub load: LoadFlags,
    /// Let -c users make sessions of several requests in order, from this TOML file.
    #[arg(long, help_heading = "Load", value_name = "FILE")]
    pub scenario: Option<PathBuf>,
    /// Time limit of the study [default: 2m per comparison].
    ///
    /// With an objective, the default is five times as long.
    #[arg(long, help_heading = "Study", value_name = "TIME", value_parser = units::duration)]
    pub budget: Option<Duration>,
    /// Run exactly this many blocks (restarts).
    ///
    /// abx then neither stops earlier nor measures more, however precise the result is.
    #[arg(long, help_heading = "Study", value_name = "N", value_parser = units::whole_number::<u32>(1.., 10))]
    pub blocks: Option<u32>,
    /// Differences up to this size do not matter [default: 3%].
    #[arg(long, help_heading = "Study", value_parser = units::margin)]
    pub margin: Option<Margin>,
    /// Compare one subject with itself to test the machine.
    #[arg(long, help_heading = "Study")]
    pub aa: bool,
    /// Compare this git revision; the first is the baseline.
    ///
    /// A revision is a branch, a tag, a hash, A...B for a merge base, or . for the working tree.
    /// Give --rev per revision. One command starts the server of every revision, in the folder where it was built. A
    /// single revision is compared with the working tree.
    #[arg(
        long,
        help_heading = "Revisions",
        value_name = "REV",
        conflicts_with = "aa"
    )]
    pub rev: Vec<String>,
    #[command(flatten)]
    pub build: BuildFlags,
    /// Print which differences the budget can show, judging by earlier studies on this machine, and
    /// measure nothing.
    #[arg(
        long, help_heading = "Study",
        conflicts_with_all = [
            "aa", "install", "label", "json", "html", "embed_record", "markdown", "prometheus",
            "otlp", "full", "explain_terms", "svg", "csv_comparisons", "csv", "hgrm", "folded",
            "junit"
        ]
    )]
    pub plan: bool,
    /// Install missing programs that the study's subjects need, or pull images that the command
    /// line names. No service is started.
    #[arg(long, help_heading = "Study")]
    pub install: bool,
    #[command(flatten)]
    pub trust: TrustFlag,
    /// Use HTTP/2 for these subjects and HTTP/1.1 for the others.
    #[arg(
        long,
        help_heading = "Study",
        value_name = "SUBJECT,...",
        value_delimiter = ','
    )]
    #[arg(conflicts_with_all = ["http2", "http10", "aa"])]
    pub http2_for: Vec<String>,
    /// Sample each server after the counted slices of every block, and report which system calls
    /// and programs make one need more CPU than another.
    #[arg(long, help_heading = "Study")]
    pub why: bool,
    /// The length of a slice [default: set by the pilot, at least 100ms].
    #[arg(long, help_heading = "Measurement", value_parser = units::duration, value_name = "TIME")]
    pub slice: Option<Duration>,
    /// Rounds per block; a round has one slice of each subject [default: as many as fit 1.5s of
    /// each subject, 2 to 20].
    #[arg(long, help_heading = "Measurement", value_parser = units::whole_number::<u32>(1..=10_000, 10))]
    pub rounds: Option<u32>,
    /// The shortest warm-up, in which cold-start throughput is compared [default: as long as
    /// warming up takes].
    #[arg(long, help_heading = "Measurement", value_parser = units::duration, value_name = "TIME")]
    pub cold: Option<Duration>,
    /// How long the pilot, the discarded first block, measures each subject [default: usual].
    #[arg(long, help_heading = "Measurement", value_enum)]
    pub pilot: Option<PilotName>,
    /// Do not measure the generator's ceiling, for which abx also loads a server that does nothing.
    #[arg(long, help_heading = "Measurement")]
    pub no_ceiling: bool,
    /// How long a subject may take to start and respond correctly [default: 30s].
    #[arg(long, help_heading = "Measurement", value_parser = units::duration)]
    pub ready_within: Option<Duration>,
    /// How long a subject may take to stop before it is killed [default: 5s].
    #[arg(long, help_heading = "Measurement", value_parser = units::duration)]
    pub stop_within: Option<Duration>,
    /// How subjects take turns [default: slices].
    #[arg(long, help_heading = "Measurement", value_enum)]
    pub interleave: Option<InterleaveName>,
    /// Which CPUs subjects and generator use [default: split].
    #[arg(long, help_heading = "Measurement", value_enum)]
    pub pin: Option<PinName>,
    #[command(flatten)]
    pub generator: GeneratorFlags,
    #[command(flatten, next_help_heading = "Several machines")]
    pub fleet: FleetFlags,
    #[command(flatten)]
    pub expect: ExpectFlags,
    #[command(flatten)]
    pub resume: ResumeFlag,
    #[command(flatten)]
    pub label: LabelFlag,
    #[command(flatten)]
    pub output: OutputFlags,
    #[command(flatten)]
    pub formats: FormatFlags,
    #[command(flatten)]
    pub study_formats: StudyFormatFlags,
}

/// The flags of `abx compare -h`.
const BRIEF: &[&str] = &[
    "connections",
    "paths",
    "rate",
    "slo",
    "budget",
    "blocks",
    "margin",
    "rev",
    "build",
    "expect",
    "fail_if_slower",
    "json",
    "html",
    "full",
    "help",
    "subjects",
    "loads",
    "quick",
];

/// How subjects take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InterleaveName {
    /// Short slices, in random order within each round.
    Slices,
    /// One long period per subject, in random order.
    Trials,
}

/// How long the pilot measures each subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PilotName {
    /// Until abx knows how long the subject takes to warm up: about 2s per load.
    Usual,
    /// Under half a second, for smoke tests: warm-ups are as short as they can be.
    Brief,
}

impl PilotName {
    /// The effort of this name.
    pub fn effort(self) -> PilotEffort {
        match self {
            PilotName::Usual => PilotEffort::Usual,
            PilotName::Brief => PilotEffort::Brief,
        }
    }
}

/// Which CPUs subjects and generator use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PinName {
    /// Separate CPUs.
    Split,
    /// All CPUs for both.
    Shared,
}
