//! `abx compare`: which server is faster, by how much, and is it real?

use std::path::Path;
use std::time::Duration;

use abx_evidence::record::{Interleave, StudyEnd};
use abx_evidence::stats::Margin;
use abx_evidence::{StudyRecord, Verdict};
use abx_lab::{
    Conducted, Halt, LabError, Launch, Pin, PlaceError, Source, Store, Study, Subject,
    Surroundings, conduct,
};
use clap::{Args, ValueEnum};

use super::load::LoadFlags;
use super::watch::Watch;
use super::{End, Failure, output, signals, tell, units};

/// Compare servers: which is faster, by how much, and is it real?
///
/// Without a subject it compares two process models of the built-in server.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx compare 'old=./server --port {port}' 'new=./server --port {port} --fast' --path /x\n  \
    abx compare http://127.0.0.1:8081/ http://127.0.0.1:8082/\n  \
    abx compare --aa 'nginx=nginx -c /etc/nginx-{port}.conf'\n\n\
    A command is split into words without a shell. {port} is the port that abx chose, {dir} a \
    fresh folder.")]
pub struct Compare {
    /// A URL, or 'name=command with {port}'. The first is the baseline.
    #[arg(value_name = "SUBJECT")]
    subjects: Vec<String>,
    /// Compare the one subject with itself: what can this machine tell apart?
    #[arg(long)]
    aa: bool,
    /// Differences up to this do not matter.
    #[arg(long, default_value = "3%", value_parser = margin)]
    margin: Margin,
    /// The wall time that the study may take [default: 2m for each comparison].
    #[arg(long, value_parser = units::duration)]
    budget: Option<Duration>,
    /// Exactly this many blocks, however precise they are.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    blocks: Option<u32>,
    /// The length of a slice [default: from the pilot, at least 100ms].
    #[arg(long, value_parser = units::duration)]
    slice: Option<Duration>,
    /// How long a subject may take from its start until it answers rightly.
    #[arg(long, default_value = "30s", value_parser = units::duration)]
    ready_within: Duration,
    /// How long a subject may take to end after SIGTERM; then it is killed.
    #[arg(long, default_value = "5s", value_parser = units::duration)]
    stop_within: Duration,
    /// How subjects take turns.
    #[arg(long, value_enum, default_value_t = InterleaveName::Slices)]
    interleave: InterleaveName,
    /// Whether subjects and generator have processors of their own.
    #[arg(long, value_enum, default_value_t = PinName::Split)]
    pin: PinName,
    #[command(flatten)]
    load: LoadFlags,
}

/// How subjects take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InterleaveName {
    /// Short slices of each in random order.
    Slices,
    /// One long stretch of each in random order.
    Trials,
}

/// Who uses which processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PinName {
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
    let flags = &compare.load;
    let study = study(compare)?;
    let mut store = Store::in_state_folder(&record_name(study.seed));
    let mut watch = Watch::new(flags.quiet, study.budget(), study.blocks);
    let conducted = conduct(
        &study,
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
    output::print(&report, &record, flags.json.as_deref(), flags.quiet)?;
    // Where a record is that could not stay in its place must not be lost.
    if !flags.quiet || store.moved().is_some() {
        tell_where(&store);
    }
    match error {
        Some(LabError::Halt(Halt::Interrupted)) => Ok(End::Interrupted),
        // What was asked could be done: a block was begun.
        Some(error) => Err(Failure::no_claim(error)),
        None => Ok(end(&record)),
    }
}

/// How a study's record ends the command: 3 when there is no claim.
pub fn end(record: &StudyRecord) -> End {
    let is_invalid = record
        .comparisons
        .iter()
        .any(|one| one.verdict == Verdict::Invalid);
    match record.end {
        StudyEnd::Interrupted => End::Interrupted,
        _ if is_invalid => End::NoClaim,
        _ => End::Done,
    }
}

fn tell_where(store: &Store) {
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
        LabError::Stage(_) | LabError::Store(_) | LabError::Halt(Halt::Answers(_)) => true,
        LabError::Halt(Halt::Subject { error, .. }) => matches!(
            **error,
            PlaceError::Start { .. } | PlaceError::Answer(_) | PlaceError::Port { .. }
        ),
        LabError::Halt(Halt::Interrupted | Halt::Engine(_)) => false,
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

fn study(compare: &Compare) -> Result<Study, Failure> {
    let flags = &compare.load;
    Ok(Study {
        subjects: subjects(compare)?,
        loads: vec![flags.load()],
        aa: compare.aa,
        margin: compare.margin,
        budget: compare.budget,
        blocks: compare.blocks,
        slice: compare.slice,
        interleave: match compare.interleave {
            InterleaveName::Slices => Interleave::Slices,
            InterleaveName::Trials => Interleave::Trials,
        },
        expect_body: flags.expect_body.clone(),
        threads: flags.threads(),
        pin: match compare.pin {
            PinName::Split => Pin::Split,
            PinName::Shared => Pin::Shared,
        },
        seed: flags.seed(),
        command: std::env::args().collect(),
    })
}

fn subjects(compare: &Compare) -> Result<Vec<Subject>, Failure> {
    let mut subjects = compare
        .subjects
        .iter()
        .map(|text| Subject::parse(text))
        .collect::<Result<Vec<_>, _>>()
        .map_err(Failure::usage)?;
    match (compare.aa, subjects.len()) {
        (false, 0) => return built_in(),
        (true, 1) => {
            let again = Subject {
                name: format!("{}-again", subjects[0].name),
                ..subjects[0].clone()
            };
            subjects.push(again);
        }
        (true, count) => {
            return Err(Failure::usage(format!(
                "--aa compares one subject with itself, and {count} were given: name one"
            )));
        }
        (false, 1) => {
            return Err(Failure::usage(
                "one subject alone cannot be compared: name a second one, load it alone with \
                 `abx run`, or compare it with itself by --aa",
            ));
        }
        (false, _) => {}
    }
    for subject in &mut subjects {
        if let Source::Command(launch) = &mut subject.source {
            launch.ready_within = compare.ready_within;
            launch.stop_within = compare.stop_within;
        }
    }
    for (place, subject) in subjects.iter().enumerate() {
        if subjects[..place]
            .iter()
            .any(|other| other.name == subject.name)
        {
            return Err(Failure::usage(format!(
                "two subjects are named `{}`: give each a name of its own, as in `name=...`",
                subject.name
            )));
        }
    }
    Ok(subjects)
}

/// Two process models of the built-in server: no other software is needed.
fn built_in() -> Result<Vec<Subject>, Failure> {
    let program = own_program()?;
    let subject = |model: &str| Subject {
        name: model.to_owned(),
        source: Source::Command(Launch::new(
            [
                &program.to_string_lossy(),
                "serve",
                "--port",
                "{port}",
                "--model",
                model,
            ]
            .map(str::to_owned)
            .into(),
        )),
    };
    Ok(vec![subject("event"), subject("thread")])
}

fn own_program() -> Result<std::path::PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        Failure::usage(format!(
            "cannot find the program file of abx itself ({error}): is /proc mounted?"
        ))
    })
}

fn record_name(seed: u64) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seconds = now.unwrap_or_default().as_secs();
    Path::new(&format!("compare-{seconds}-{seed}.json"))
        .display()
        .to_string()
}
