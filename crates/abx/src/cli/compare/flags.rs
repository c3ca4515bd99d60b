//! The flags of `abx compare`.

use std::time::Duration;

use abx_evidence::stats::Margin;
use abx_lab::SliceLength;
use clap::{Args, ValueEnum};

use crate::cli::expect::ExpectFlags;
use crate::cli::load::{GeneratorFlags, LoadFlags};
use crate::cli::output::{FormatFlags, OutputFlags, StudyFormatFlags};
use crate::cli::units;

/// Compare servers: which is faster, by how much, and is it real?
///
/// Without a subject it compares two process models of the built-in server.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    abx compare 'old=./server --port {port}' 'new=./server --port {port} --fast' --path /x\n  \
    abx compare http://127.0.0.1:8081/ http://127.0.0.1:8082/\n  \
    abx compare --aa 'nginx=nginx -c /etc/nginx-{port}.conf'\n  \
    abx compare nginx-vs-lighttpd\n  \
    abx compare http://127.0.0.1:8081/ new=http://127.0.0.1:8082/ --fail-if-slower 3%\n  \
    abx compare --against 3fa9c1:old 'new=./server --port {port}' --path /x\n\n\
    A command is split into words without a shell. {port} is the port that abx chose, {dir} a \
    fresh folder. A study file says the same in TOML, and more; flags about the study win over \
    it, what is offered stands in the file alone.")]
pub struct Compare {
    /// A study: its file, its folder, or its name in `abx study list`; or subjects, each a URL
    /// or 'name=command with {port}', the first the baseline.
    #[arg(value_name = "STUDY|SUBJECT")]
    pub words: Vec<String>,
    /// Compare the one subject with itself: what can this machine tell apart?
    #[arg(long)]
    pub aa: bool,
    /// Compare also with a subject of an older record, a file or an id of `abx history`, that
    /// cannot be run any more; one subject alone is then enough.
    #[arg(long, value_name = "RECORD[:SUBJECT]", conflicts_with = "aa")]
    pub against: Option<String>,
    /// Install what the study's subjects need and is missing; no service is started.
    #[arg(long)]
    pub install: bool,
    /// Differences up to this do not matter [default: 3%].
    #[arg(long, value_parser = margin)]
    pub margin: Option<Margin>,
    /// The wall time that the study may take [default: 2m for each comparison].
    #[arg(long, value_parser = units::duration)]
    pub budget: Option<Duration>,
    /// Exactly this many blocks, however precise they are.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub blocks: Option<u32>,
    /// The length of a slice; `auto` is the one of which the pilot promises most precision for
    /// its time [default: from the pilot, at least 100ms].
    #[arg(long, value_parser = units::slice_length, value_name = "TIME|auto")]
    pub slice: Option<SliceLength>,
    /// Rounds of a block, one slice of each subject in each [default: those of 2s of each, 2 to 20].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: Option<u32>,
    /// For how long at least subjects that were just started are loaded before they count,
    /// to compare how fast they are when cold [default: what warming up takes].
    #[arg(long, value_parser = units::duration, value_name = "TIME")]
    pub cold: Option<Duration>,
    /// Do not load a server that does nothing beside the subjects, which shows what
    /// the generator could get at most.
    #[arg(long)]
    pub no_ceiling: bool,
    /// How long a subject may take from its start until it answers rightly [default: 30s].
    #[arg(long, value_parser = units::duration)]
    pub ready_within: Option<Duration>,
    /// How long a subject may take to end when told; then it is killed [default: 5s].
    #[arg(long, value_parser = units::duration)]
    pub stop_within: Option<Duration>,
    /// How subjects take turns [default: slices].
    #[arg(long, value_enum)]
    pub interleave: Option<InterleaveName>,
    /// Whether subjects and generator have processors of their own [default: split].
    #[arg(long, value_enum)]
    pub pin: Option<PinName>,
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
    /// Short slices of each in random order.
    Slices,
    /// One long stretch of each in random order.
    Trials,
}

/// Who uses which processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PinName {
    /// Processors of their own.
    Split,
    /// Both may use all.
    Shared,
}

fn margin(text: &str) -> Result<Margin, String> {
    let share = units::percent(text)?;
    Margin::new(share).map_err(|error| error.to_string())
}
