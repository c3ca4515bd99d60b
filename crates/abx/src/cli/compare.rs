//! `abx compare`: which server is faster, by how much, and is it real?

use std::time::Duration;

use abx_evidence::record::StudyEnd;
use abx_evidence::stats::Margin;
use abx_evidence::{StudyRecord, Verdict};
use abx_lab::{Conducted, Halt, LabError, PlaceError, Store, Study, Surroundings, conduct};
use clap::{Args, ValueEnum};

use super::load::{GeneratorFlags, LoadFlags};
use super::output::{OutputFlags, PageFlags};
use super::watch::Watch;
use super::{End, Failure, history, output, signals, study, tell, units};

/// Compare servers: which is faster, by how much, and is it real?
///
/// Without a subject it compares two process models of the built-in server.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    abx compare 'old=./server --port {port}' 'new=./server --port {port} --fast' --path /x\n  \
    abx compare http://127.0.0.1:8081/ http://127.0.0.1:8082/\n  \
    abx compare --aa 'nginx=nginx -c /etc/nginx-{port}.conf'\n  \
    abx compare studies/nginx-vs-lighttpd\n  \
    abx compare --against 3fa9c1:old 'new=./server --port {port}' --path /x\n\n\
    A command is split into words without a shell. {port} is the port that abx chose, {dir} a \
    fresh folder. A study file says the same in TOML, and more; flags about the study win over \
    it, what is offered stands in the file alone.")]
pub struct Compare {
    /// A study file or its folder; or a URL, or 'name=command with {port}'. The
    /// first is the baseline.
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
    /// The length of a slice [default: from the pilot, at least 100ms].
    #[arg(long, value_parser = units::duration)]
    pub slice: Option<Duration>,
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
    pub output: OutputFlags,
    #[command(flatten)]
    pub page: PageFlags,
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

/// Conducts the study that the flags describe, and prints what came of it.
pub fn compare(compare: &Compare) -> Result<End, Failure> {
    perform(&study::study(compare)?, compare)
}

/// Conducts a study, and prints what came of it.
pub fn perform(study: &Study, compare: &Compare) -> Result<End, Failure> {
    let flags = &compare.output;
    let mut store = Store::for_new_record("compare", study.seed);
    let mut watch = Watch::new(flags.quiet, study.budget(), study.blocks);
    let conducted = conduct(
        study,
        Surroundings {
            program: own_program()?,
            keeper_arguments: &["keeper"],
            store: &mut store,
            watch: &mut |progress| watch.see(&progress),
            on_stopper: &mut |stopper| signals::stop_on_signals(&stopper),
            version: env!("CARGO_PKG_VERSION"),
        },
    );
    watch.finish();
    let Conducted { record, error } = conducted.map_err(failure)?;
    if record.blocks.is_empty()
        && let Some(error) = error
    {
        // Nothing was measured, so there is nothing to report but why not.
        return Err(failure(error));
    }
    let report = abx_report::study_text(&record, &output::style(flags));
    let printed = output::print(&report, &record, flags)
        .and_then(|()| output::write_html(|| abx_report::study_html(&record), &compare.page));
    history::note(&store);
    // Where a record is that could not stay in its place must not be lost.
    if !flags.quiet || store.moved().is_some() {
        tell_where(&store);
    }
    printed?;
    match error {
        Some(LabError::Halt(Halt::Interrupted)) => Ok(End::Interrupted),
        // What was asked could be done: a block was begun.
        Some(error) => Err(Failure::no_claim(error)),
        None => Ok(end(&record)),
    }
}

/// How a study's record ends the command: 3 when there is no claim.
pub fn end(record: &StudyRecord) -> End {
    let beside = record.against.iter().flat_map(|one| &one.comparisons);
    let is_invalid = { record.primary() }
        .map(|one| one.verdict)
        .chain(beside.map(|one| one.verdict))
        .any(|verdict| verdict == Verdict::Invalid);
    match record.end {
        StudyEnd::Interrupted => End::Interrupted,
        _ if is_invalid => End::NoClaim,
        _ => End::Done,
    }
}

/// Tells where a record is, and why it is not where it usually would be.
pub fn tell_where(store: &Store) {
    if let Some(why) = store.moved() {
        tell(&format!("abx: {why}"));
    }
    let path = store.path().display();
    tell(&format!(
        "The record is in {path}\nRead it again with: abx report {path}"
    ));
}

fn failure(error: LabError) -> Failure {
    let is_usage = match &error {
        LabError::Stage(_)
        | LabError::Store(_)
        | LabError::Against(_)
        | LabError::Halt(Halt::Answers(_)) => true,
        LabError::Halt(Halt::Subject { error, .. }) => matches!(
            **error,
            PlaceError::Start { .. } | PlaceError::Answer(_) | PlaceError::Port { .. }
        ),
        LabError::Halt(Halt::Interrupted | Halt::NoRate { .. } | Halt::Engine(_)) => false,
    };
    let end = match &error {
        LabError::Halt(Halt::Interrupted) => End::Interrupted,
        _ if is_usage => End::Usage,
        _ => End::NoClaim,
    };
    Failure {
        end,
        message: error.to_string(),
    }
}

pub fn own_program() -> Result<std::path::PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        Failure::usage(format!(
            "cannot find the program file of abx itself ({error}): is /proc mounted?"
        ))
    })
}
