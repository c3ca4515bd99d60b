//! The flags of `abx bisect`.

use std::time::Duration;

use abx_stats::Margin;
use clap::{Arg, Args};

use crate::commands::compare::PilotName;
use crate::flags::build::BuildFlags;
use crate::flags::help;
use crate::flags::load::{GeneratorFlags, LoadFlags};
use crate::flags::metric::MetricName;
use crate::flags::output::{LabelFlag, OutputFlags};
use crate::flags::units;

/// Find the commit that made a server slower, or faster.
///
/// GOOD and BAD are compared first. Then commits between them run against GOOD, in the same
/// blocks, until a test shows whether each is like GOOD or like BAD. The commit that is left is
/// confirmed against its parent, with two builds of each. To continue an interrupted search, run
/// the same command again.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = "Examples:\n  \
    abx bisect v1.4 main --build 'make server' './server --port {port}'\n  \
    abx bisect v1.4 . --build 'cargo build --release' 'target/release/server {port}' -c 10\n  \
    abx bisect HEAD~40 HEAD --build make './server {port}' --metric p99 -r 2000 --by 10%\n\n\
    Commands are split into words without a shell. The server starts in the folder in which it was \
    built.\n\n\
    Exit codes: 0 the commit was found and confirmed; 2 invalid arguments, or GOOD or BAD does \
    not build or start; 3 no commit was found: GOOD and BAD do not differ, or the search ended \
    undecided; 130 interrupted.",
    after_help = "Examples:\n  abx bisect v1.4 main --build 'make server' './server --port {port}'\n\n\
        `abx bisect --help` has all flags and more examples.",
    mut_args(|argument| help::brief(argument, BRIEF)),
    mut_args(|argument| help::without(argument, is_refused)),
    mut_arg("json", |json| crate::flags::output::saves(json, "the search"))
)]
pub struct Bisect {
    /// The older end: a branch, a tag or a hash without the change.
    #[arg(value_name = "GOOD")]
    pub good: String,
    /// The newer end, with the change; `.` is the working tree.
    #[arg(value_name = "BAD")]
    pub bad: String,
    /// The command that starts a commit's server, with {port}.
    #[arg(value_name = "COMMAND")]
    pub server: String,
    #[command(flatten)]
    pub build: BuildFlags,
    /// Follow only the first parent of each merge, and find the merge.
    #[arg(long, help_heading = "Revisions")]
    pub first_parent: bool,
    /// Do not try this revision; may be given several times.
    #[arg(long, help_heading = "Revisions", value_name = "REV")]
    pub skip: Vec<String>,
    /// Start over, even if the same search was interrupted.
    #[arg(long, help_heading = "Search")]
    pub restart: bool,
    /// Metric to compare [default: throughput; with --rate: p99].
    #[arg(long, help_heading = "Search", value_enum)]
    pub metric: Option<MetricName>,
    /// The smallest change that matters [default: 3%].
    #[arg(long, help_heading = "Search", value_parser = units::margin, value_name = "PERCENT")]
    pub by: Option<Margin>,
    /// Show why the commit that is found is slower than its parent.
    ///
    /// Samples the servers of both, and reports which system calls and programs make one need more
    /// CPU than the other.
    #[arg(long, help_heading = "Search")]
    pub why: bool,
    /// Time per comparison [default: 2m, to confirm 6m].
    #[arg(long, help_heading = "Search", value_name = "TIME", value_parser = units::duration)]
    pub budget: Option<Duration>,
    #[command(flatten)]
    pub load: LoadFlags,
    /// The length of a slice [default: set by the pilot, at least 100ms].
    #[arg(long, help_heading = "Measurement", value_parser = units::duration, value_name = "TIME")]
    pub slice: Option<Duration>,
    /// Rounds per block; a round has one slice of each commit [default: as many as fit 1.5s of
    /// each commit, 2 to 20].
    #[arg(long, help_heading = "Measurement", value_parser = units::whole_number::<u32>(1..=10_000, 10))]
    pub rounds: Option<u32>,
    /// How long each pilot, the discarded first block, measures each commit [default: usual].
    #[arg(long, help_heading = "Measurement", value_enum)]
    pub pilot: Option<PilotName>,
    /// Do not measure the generator's ceiling when GOOD and BAD are compared.
    #[arg(long, help_heading = "Measurement")]
    pub no_ceiling: bool,
    /// How long a commit's server may take to start and respond correctly [default: 30s].
    #[arg(long, help_heading = "Measurement", value_parser = units::duration)]
    pub ready_within: Option<Duration>,
    /// How long a commit's server may take to stop before it is killed [default: 5s].
    #[arg(long, help_heading = "Measurement", value_parser = units::duration)]
    pub stop_within: Option<Duration>,
    #[command(flatten)]
    pub generator: GeneratorFlags,
    #[command(flatten)]
    pub label: LabelFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// The flags of `abx bisect -h`.
const BRIEF: &[&str] = &[
    "build",
    "repo",
    "skip",
    "metric",
    "by",
    "budget",
    "connections",
    "paths",
    "rate",
    "json",
    "help",
];

/// Whether a flag does not apply to a search: loads that differ from commit to commit or last
/// longer than a slice, and TLS, which no server that abx starts uses.
fn is_refused(argument: &Arg) -> bool {
    let is_of_tls = argument.get_help_heading() == Some("TLS");
    is_of_tls || ["slo", "stages", "connection_stages"].contains(&argument.get_id().as_str())
}
