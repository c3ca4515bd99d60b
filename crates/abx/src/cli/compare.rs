//! `abx compare`: which server is faster, by how much, and is it real?

use std::time::Duration;

use abx_evidence::record::StudyEnd;
use abx_evidence::stats::Margin;
use abx_evidence::{Answer, StudyRecord, Verdict};
use abx_lab::{
    Conducted, Halt, LabError, PlaceError, SliceLength, Store, Study, Surroundings, conduct,
};
use clap::{Args, ValueEnum};

use super::expect::ExpectFlags;
use super::load::{GeneratorFlags, LoadFlags};
use super::output::{FormatFlags, OutputFlags, Outputs, StudyFormatFlags};
use super::watch::Watch;
use super::{End, Failure, expect, history, output, signals, study, tell, units};

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

/// Conducts the study that the flags describe, and prints what came of it.
pub fn compare(compare: &Compare) -> Result<End, Failure> {
    perform(&study::study(compare)?, compare)
}

/// Conducts a study, and prints what came of it.
pub fn perform(study: &Study, compare: &Compare) -> Result<End, Failure> {
    let flags = &compare.output;
    let outputs = Outputs::of_study(flags, &compare.formats, &compare.study_formats)?;
    let expectations = compare.expect.read(&expect::known_of_study(study))?;
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
    let answers = expect::ask(&record, &expectations);
    let printed = print(&record, &answers, &outputs, flags);
    history::note(&store);
    // Where a record is that could not stay in its place must not be lost.
    if !flags.quiet || store.moved().is_some() {
        tell_where(&store);
    }
    match error {
        Some(LabError::Halt(Halt::Interrupted)) => printed.map(|()| End::Interrupted),
        // What was asked could be done: a block was begun.
        Some(error) => printed.and(Err(Failure::no_claim(error))),
        None => conclude(printed, expect::end(&answers, end(&record))),
    }
}

/// Prints a judged study with what it says to what was expected of it.
pub fn print(
    record: &StudyRecord,
    answers: &[Answer],
    outputs: &Outputs,
    flags: &OutputFlags,
) -> Result<(), Failure> {
    let style = output::style(flags);
    let mut report = abx_report::study_text(record, &style);
    if !answers.is_empty() {
        report.push('\n');
        report.push_str(&abx_report::expectations_text(record, answers, &style));
    }
    let printed = outputs.print_study(&report, record, answers);
    if let Some(remark) = expect::remark(answers).filter(|_| !flags.quiet) {
        tell(&remark);
    }
    printed
}

/// How a command ends: a failure that was found weighs more than a file that
/// could not be written.
pub fn conclude(printed: Result<(), Failure>, end: End) -> Result<End, Failure> {
    match printed {
        Err(failure) if end == End::Failed => Err(Failure { end, ..failure }),
        Err(failure) => Err(failure),
        Ok(()) => Ok(end),
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
        | LabError::PastBaseline(_)
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
