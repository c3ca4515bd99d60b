//! `abx compare`: which server is faster, by how much, and is it real?

mod extent;
mod flags;
mod named_study;
mod plan;
mod resumed;
mod revisions;
mod skipped;
mod study;
mod trust;

use abx_engine::LoadGenerator;
use abx_evidence::Finding;
use abx_evidence::record::StudyEnd;
use abx_lab::{
    Abort, ServerProcessError, ServiceError, Source, Store, Study, StudyEnvironment, StudyError,
    StudyOutcome, Subject, run_study,
};
use abx_verdict::expectation::expectation_results;
use abx_verdict::{ExpectationResult, StudyRecord};
use serde::Serialize;

use crate::commands::history;
use crate::flags::expect;
use crate::flags::expect::ExpectFlags;
use crate::flags::output;
use crate::flags::output::{OutputFlags, Outputs};
use crate::flags::saved_file::SavedFile;
use crate::ui::end::{End, Failure, notify};
use crate::ui::invocation::own_program;
use crate::ui::signals::Interruption;
use crate::ui::watch::Watch;

pub use self::extent::{Absent, Extent, Loads};
pub use self::flags::{Compare, PilotName};
pub use self::named_study::is_path;
pub use self::resumed::Resumed;
pub use self::study::part_of;
pub use self::trust::{TrustFlag, confirm};

/// Runs the study that the flags describe, and prints its result.
pub fn compare(compare: &Compare) -> Result<End, Failure> {
    perform(&study::study(compare)?, compare)
}

/// Runs a study, or plans it if the flags request that, and prints the result.
pub fn perform(study: &Study, compare: &Compare) -> Result<End, Failure> {
    if compare.plan {
        return plan::plan(study, compare);
    }
    let flags = &compare.output;
    let outputs = Outputs::new(flags, &compare.formats, compare.study_formats.given())?;
    compare.study_formats.measured.refuse_unsampled(study.why)?;
    if compare.words.is_empty() && !flags.quiet {
        notify(&demonstration(study));
    }
    let resumed = Resumed::of(compare)?;
    let seeded = resumed
        .as_ref()
        .map(|resumed| resumed.seeded(study, compare));
    let interruption = Interruption::by_signals();
    let start = StudyStart {
        generator: compare.fleet.generator(flags.quiet, &interruption)?,
        resumed,
        interruption,
    };
    let (study, printing) = (seeded.as_ref().unwrap_or(study), (&outputs, flags));
    conduct(study, RESUMED_KIND, printing, &compare.expect, start)
}

/// The kind of records that can be continued.
const RESUMED_KIND: &str = "compare";

/// How a study begins.
pub struct StudyStart {
    /// The generator of the load; `None` for this process.
    pub generator: Option<Box<dyn LoadGenerator>>,
    /// The record that the study continues; `None` for a new study.
    pub resumed: Option<Resumed>,
    /// What stops it.
    pub interruption: Interruption,
}

/// Runs a study with a record of this kind, and prints its result to these outputs.
pub fn conduct(
    study: &Study,
    kind: &str,
    (outputs, flags): (&Outputs, &OutputFlags),
    expect: &ExpectFlags,
    start: StudyStart,
) -> Result<End, Failure> {
    let expectations = expect.read(&expect::known_of_study(study))?;
    if !flags.quiet {
        study
            .subjects
            .iter()
            .filter_map(choice)
            .chain(ExpectFlags::warning(&expectations, study.blocks))
            .for_each(|line| notify(&line));
    }
    let mut watch = Watch::new(flags.quiet, study.budget(), study.blocks, &expectations);
    let (mut store, resumed) = match start.resumed {
        None => (Store::for_new_record(kind, study.seed), None),
        Some(resumed) => {
            if !flags.quiet {
                resumed.notify();
            }
            (resumed.store, Some(resumed.measured))
        }
    };
    let outcome = run_study(
        study,
        StudyEnvironment {
            program: own_program()?,
            keeper_arguments: &["keeper"],
            store: &mut store,
            watch: &mut |progress| watch.see(&progress),
            on_stopper: &mut |stopper| start.interruption.stops(&stopper),
            version: env!("CARGO_PKG_VERSION"),
            limits: &expectations,
            until: None,
            generator: start.generator,
            resumed,
        },
    );
    watch.finish();
    let StudyOutcome { record, error } = outcome.map_err(|error| failure(study, error))?;
    if record.measured.blocks.is_empty()
        && let Some(error) = error
    {
        // Nothing was measured, so only the reason is reported.
        return Err(failure(study, error));
    }
    let results = expectation_results(&record, &expectations);
    let file = history::file_of(&store);
    let printed = print_report(&record, &results, Some(&file), (outputs, flags));
    history::note(&store);
    // The place of a record that had to move is always printed, so that it is not lost.
    if !flags.quiet || store.moved().is_some() {
        history::print_place(&store);
    }
    if !flags.quiet && kind == RESUMED_KIND {
        resumed::advice(&record, &store)
            .iter()
            .for_each(|line| notify(line));
    }
    match error {
        Some(StudyError::Abort(Abort::Interrupted)) => printed.map(|()| End::Interrupted),
        // The request itself was valid, because a block had begun.
        Some(error) => printed.and(Err(Failure::no_claim(error))),
        None => conclude(printed, ended(&record, &results, flags)),
    }
}

/// How a command ends with this record and these results. Even with `--quiet` it prints why there
/// is no claim.
fn ended(record: &StudyRecord, results: &[ExpectationResult], flags: &OutputFlags) -> End {
    let without_expectations = end(record);
    let end = expect::end(results, without_expectations);
    if end == End::NoClaim && flags.quiet {
        // Findings are the reason only if the command would end so without expectations too.
        let findings: &[Finding] = match without_expectations {
            End::NoClaim => &record.conclusions.validity.findings,
            _ => &[],
        };
        let why = abx_report::no_claim_line(findings, results);
        notify(&format!("abx: {why}"));
    }
    end
}

/// The announcement of the study that runs if the user names no servers.
fn demonstration(study: &Study) -> String {
    let names: Vec<&str> = study
        .subjects
        .iter()
        .map(|subject| subject.name.as_str())
        .collect();
    let how_long = match study.blocks {
        Some(blocks) => format!("for {}", abx_report::plural(blocks.into(), "block")),
        None => format!(
            "until the result is precise, for {} at most",
            humantime::format_duration(study.budget())
        ),
    };
    format!(
        "A demonstration, since no servers were named: two process models of the built-in \
         server, {}. It loads this machine {how_long}; Ctrl-C ends it and keeps what was \
         measured. To compare your own: abx compare 'old=COMMAND' 'new=COMMAND'",
        names.join(" and ")
    )
}

/// At which of its addresses a subject is measured, if it is not the first.
fn choice(subject: &Subject) -> Option<String> {
    match &subject.source {
        Source::Address(target) => Some(format!("{}: {}", subject.name, target.choice()?)),
        Source::Command(_) => None,
    }
}

/// Prints a judged study or run, saved in this file, with the results of its expectations, and
/// returns how the command ends.
pub fn print(
    record: &StudyRecord,
    results: &[ExpectationResult],
    file: Option<&SavedFile>,
    (outputs, flags): (&Outputs, &OutputFlags),
) -> Result<End, Failure> {
    let printed = print_report(record, results, file, (outputs, flags));
    conclude(printed, ended(record, results, flags))
}

fn print_report(
    record: &StudyRecord,
    results: &[ExpectationResult],
    file: Option<&SavedFile>,
    (outputs, flags): (&Outputs, &OutputFlags),
) -> Result<(), Failure> {
    let style = output::style(flags);
    let extent = outputs.extent();
    let mut report = abx_report::expectations_text(record, results, extent, &style);
    if !report.is_empty() {
        report.push('\n');
    }
    report.push_str(&abx_report::study_text(record, extent, &style));
    let printed = outputs.print(&report, (record, results), file);
    // Otherwise a job that passes would not show which expectations are unsettled.
    if record.run().is_none()
        && let Some(remark) = expect::remark(record, results)
    {
        notify(&remark);
    }
    printed
}

/// How a command ends: a failed expectation outweighs a file that could not be written.
fn conclude(printed: Result<(), Failure>, end: End) -> Result<End, Failure> {
    match printed {
        Err(failure) if end == End::Failed => Err(Failure { end, ..failure }),
        Err(failure) => Err(failure),
        Ok(()) => Ok(end),
    }
}

/// How a study's record ends the command: 3 when no claim is possible.
fn end(record: &StudyRecord) -> End {
    match record.measured.end {
        StudyEnd::Interrupted => End::Interrupted,
        _ if record.is_without_claim() => End::NoClaim,
        _ => End::Done,
    }
}

/// Saves a record, prints its report, and prints the file's name.
pub fn keep(
    mut store: Store,
    record: &impl Serialize,
    flags: &OutputFlags,
    print: impl FnOnce(Option<&SavedFile>) -> Result<End, Failure>,
) -> Result<End, Failure> {
    let saved = store.save_somewhere(record);
    let file = saved.is_ok().then(|| history::file_of(&store));
    let printed = print(file.as_ref());
    match saved {
        // The report shows the measurement in any case.
        Err(error) => notify(&format!("abx: {error}")),
        Ok(()) => {
            history::note(&store);
            if !flags.quiet || store.moved().is_some() {
                history::print_place(&store);
            }
        }
    }
    printed
}

fn failure(study: &Study, error: StudyError) -> Failure {
    let is_usage = match &error {
        StudyError::Prepare(_)
        | StudyError::Resume(_)
        | StudyError::Store(_)
        | StudyError::Abort(Abort::Responses(_)) => true,
        // The request is valid, but the machine has no process or thread left.
        StudyError::Abort(Abort::Subject { error, .. }) if error.is_without_keeper() => false,
        StudyError::Abort(Abort::Subject { error, .. }) => matches!(
            **error,
            ServerProcessError::Start { .. }
                | ServerProcessError::Response(_)
                | ServerProcessError::Session { .. }
                | ServerProcessError::Port { .. }
        ),
        StudyError::Abort(Abort::Service { error, .. }) => matches!(
            **error,
            ServiceError::Seed { .. }
                | ServiceError::Process(
                    ServerProcessError::Start { .. }
                        | ServerProcessError::Response(_)
                        | ServerProcessError::Port { .. }
                )
        ),
        StudyError::Abort(Abort::Engine(error)) => error.is_of_load(),
        StudyError::Abort(
            Abort::ServiceDied { .. }
            | Abort::Interrupted
            | Abort::Budget
            | Abort::LoadLost
            | Abort::NoRate { .. },
        ) => false,
    };
    let end = match &error {
        StudyError::Abort(Abort::Interrupted) => End::Interrupted,
        _ if is_usage => End::Usage,
        _ => End::NoClaim,
    };
    let message = match &error {
        StudyError::Abort(Abort::Subject { name, .. }) => {
            format!("{error}{}", alone_without(study, name))
        }
        _ => error.to_string(),
    };
    Failure { end, message }
}

/// How to load the only other subject if this one cannot be measured; empty if there are several
/// others, or if abx would have to start it.
fn alone_without(study: &Study, failed: &str) -> String {
    let others: Vec<&Subject> = study
        .subjects
        .iter()
        .filter(|subject| subject.name != failed)
        .collect();
    match &others[..] {
        [
            Subject {
                source: Source::Address(target),
                ..
            },
        ] => format!("\nTo load the other one alone: abx run {}", target.url),
        _ => String::new(),
    }
}
