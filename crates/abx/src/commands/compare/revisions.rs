//! `--rev REV`: subjects that are revisions of a git repository, started by one command.

use std::path::Path;

use abx_lab::revisions::{
    BuildCache, Builder, Repository, Revision, distinct, server_command, subject_names,
};
use abx_lab::study_file::RevisionSpec;
use abx_lab::{Launch, Source, Subject};

use super::flags::Compare;
use crate::flags::build::{failure, step_printer};
use crate::ui::end::{Failure, notify};

/// The working tree with its changes.
const WORKING_TREE: &str = ".";

/// Builds the subjects that the flags describe. The first is the baseline.
pub fn subjects(compare: &Compare) -> Result<Vec<Subject>, Failure> {
    let launch = launch(&compare.words)?;
    let repository = compare.build.repository()?;
    let texts = with_working_tree(&compare.rev)?;
    if texts.len() > compare.rev.len() && !compare.output.quiet {
        notify(&format!(
            "comparing {} with the working tree, since you named one revision",
            texts[0]
        ));
    }
    let revisions = texts
        .iter()
        .map(|text| repository.resolve(text))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failure)?;
    distinct(&revisions).map_err(failure)?;
    let builder = compare.build.builder(&repository)?;
    let mut notify_step = step_printer(compare.output.quiet);
    revisions
        .iter()
        .zip(subject_names(&revisions))
        .map(|(revision, name)| {
            let subject = Subject::new(name, Source::Command(launch.clone()));
            started(subject, (&builder, revision), &mut notify_step)
        })
        .collect()
}

/// Builds a subject of a study file from the revision that the file names.
pub fn built(
    subject: Subject,
    source: &RevisionSpec,
    study: &Path,
    quiet: bool,
) -> Result<Subject, Failure> {
    let folder = study.join(&source.repository);
    let repository = Repository::open(&folder).map_err(failure)?;
    let revision = repository.resolve(&source.name).map_err(failure)?;
    let builder = Builder::new(&repository, &source.build, BuildCache::here()).map_err(failure)?;
    started(subject, (&builder, &revision), &mut step_printer(quiet))
}

/// A subject that starts the build of a revision. The build is kept until abx ends.
fn started(
    subject: Subject,
    (builder, revision): (&Builder, &Revision),
    notify_step: &mut dyn FnMut(&str),
) -> Result<Subject, Failure> {
    let Source::Command(launch) = subject.source else {
        unreachable!("a revision is started by a command");
    };
    let built = builder.build(revision, notify_step).map_err(failure)?;
    let launch = built.launch(launch).map_err(failure)?;
    let record = built.record();
    built.keep();
    Ok(Subject {
        source: Source::Command(launch),
        revision: Some(record),
        ..subject
    })
}

/// Refuses flags for revisions if no revision is named.
pub fn check_without(compare: &Compare) -> Result<(), Failure> {
    match compare.build.given() {
        None => Ok(()),
        Some(flag) => Err(Failure::usage(format!(
            "{flag} is for revisions of a repository, and none is named: add --rev main, or leave \
             {flag} out"
        ))),
    }
}

/// How the server of every revision is started.
fn launch(words: &[String]) -> Result<Launch, Failure> {
    match words {
        [command] => server_command(command).map_err(failure),
        [] => Err(Failure::usage(
            "--rev needs the command that starts the server: give it as in './server --port {port}'",
        )),
        words => Err(Failure::usage(format!(
            "--rev starts one command in every revision, and you gave {}: give one, in quotes",
            words.len()
        ))),
    }
}

/// The revisions to compare: a single one is compared with the working tree.
fn with_working_tree(named: &[String]) -> Result<Vec<String>, Failure> {
    match named {
        [only] if only == WORKING_TREE => Err(Failure::usage(
            "the working tree is the only revision: name another one to compare it with, as in \
             --rev main --rev .",
        )),
        [only] => Ok(vec![only.clone(), WORKING_TREE.to_owned()]),
        named => Ok(named.to_vec()),
    }
}
