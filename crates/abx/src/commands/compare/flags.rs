//! The flags of `abx compare`.

use std::path::PathBuf;
use std::time::Duration;

use abx_stats::Margin;
use clap::{Args, ValueEnum};

use crate::flags::expect::ExpectFlags;
use crate::flags::load::{GeneratorFlags, LoadFlags};
use crate::flags::output::{FormatFlags, OutputFlags, StudyFormatFlags};
use crate::flags::units;

/// Compare servers: which is faster, by how much, and is it real?
///
/// Without arguments it compares two process models of the built-in server.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    abx compare 'old=./server --port {port}' 'new=./server --port {port} --fast' --path /x\n  \
    abx compare http://127.0.0.1:8081/ http://127.0.0.1:8082/\n  \
    abx compare --aa 'nginx=nginx -c /etc/nginx-{port}.conf'\n  \
    abx compare nginx-vs-lighttpd\n  \
    abx compare http://127.0.0.1:8081/ new=http://127.0.0.1:8082/ --fail-if-slower 3%\n  \
    abx compare http://127.0.0.1:8081/ new=http://127.0.0.1:8082/ --plan\n  \
    abx compare --against 3fa9c1:old 'new=./server --port {port}' --path /x\n\n\
    Commands are split into words without a shell. {port} is a port that abx chooses, {dir} a \
    fresh directory. A study file says the same and more, in TOML. Flags about the study override \
    the file; the load is set in the file only.")]
pub struct Compare {
    /// A study (its file, its folder, or its name in `abx study list`), or subjects, each a URL,
    /// 'name=command with {port}' or, for a container, 'name=image:IMAGE words'. The first
    /// subject is the baseline.
    #[arg(value_name = "STUDY|SUBJECT")]
    pub words: Vec<String>,
    /// Compare one subject with itself, to see how small a difference this machine can detect.
    #[arg(long)]
    pub aa: bool,
    /// Also compare with a subject of an older record (a file, an id from `abx history`, or last).
    /// One subject on the command line is then enough.
    #[arg(long, value_name = "RECORD[:SUBJECT]", conflicts_with = "aa")]
    pub against: Option<String>,
    /// Print what the budget would let the study find, going by earlier studies on this machine,
    /// and measure nothing.
    #[arg(long, conflicts_with_all = ["against", "aa", "install"])]
    pub plan: bool,
    /// Install what the study's subjects need and is missing, or pull images that the command
    /// line names. No service is started.
    #[arg(long)]
    pub install: bool,
    /// Ask these subjects in HTTP/2 and the others in HTTP/1.1.
    #[arg(long, value_name = "SUBJECT,...", value_delimiter = ',')]
    #[arg(conflicts_with_all = ["http2", "http10", "aa"])]
    pub http2_for: Vec<String>,
    /// Differences up to this size do not matter [default: 3%].
    #[arg(long, value_parser = margin)]
    pub margin: Option<Margin>,
    /// How long the study may take, in wall time [default: 2m per comparison,
    /// five times as much with an objective].
    #[arg(long, value_parser = units::duration)]
    pub budget: Option<Duration>,
    /// Run exactly this many blocks, however precise the result is.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub blocks: Option<u32>,
    /// The length of a slice [default: set by the pilot, at least 100ms].
    #[arg(long, value_parser = units::duration, value_name = "TIME")]
    pub slice: Option<Duration>,
    /// Rounds per block; a round has one slice of each subject [default: as many as fit 2s of
    /// each subject, 2 to 20].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: Option<u32>,
    /// The shortest warm-up, in which cold-start throughput is compared [default: as long as
    /// warming up takes].
    #[arg(long, value_parser = units::duration, value_name = "TIME")]
    pub cold: Option<Duration>,
    /// How long the pilot, the discarded first block, measures each subject [default: usual].
    #[arg(long, value_enum)]
    pub pilot: Option<PilotName>,
    /// Do not measure the generator's ceiling, by loading a server that does nothing beside the
    /// subjects.
    #[arg(long)]
    pub no_ceiling: bool,
    /// How long a subject may take to start and respond correctly [default: 30s].
    #[arg(long, value_parser = units::duration)]
    pub ready_within: Option<Duration>,
    /// How long a subject may take to stop before it is killed [default: 5s].
    #[arg(long, value_parser = units::duration)]
    pub stop_within: Option<Duration>,
    /// How subjects take turns [default: slices].
    #[arg(long, value_enum)]
    pub interleave: Option<InterleaveName>,
    /// Which CPUs subjects and generator use [default: split].
    #[arg(long, value_enum)]
    pub pin: Option<PinName>,
    /// Have -c users make sessions of several requests in order, as this TOML file says
    /// (docs/guides/scenarios.md).
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
    #[command(flatten)]
    pub load: LoadFlags,
    #[command(flatten)]
    pub generator: GeneratorFlags,
    #[command(flatten)]
    pub expect: ExpectFlags,
    #[command(flatten)]
    pub output: OutputFlags,
    #[command(flatten)]
    pub formats: FormatFlags,
    #[command(flatten)]
    pub study_formats: StudyFormatFlags,
}

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
    /// Until it is known how long the subject takes to warm up: about 2s for each load.
    Usual,
    /// Under half a second, for smoke tests: warm-ups are as short as they can be.
    Brief,
}

/// Who uses which CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PinName {
    /// Separate CPUs.
    Split,
    /// All CPUs for both.
    Shared,
}

fn margin(text: &str) -> Result<Margin, String> {
    let share = units::percent(text)?;
    Margin::new(share).map_err(|error| error.to_string())
}
