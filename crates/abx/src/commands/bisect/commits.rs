//! The commits from GOOD to BAD, and the server of each.

use abx_lab::revisions::{Builder, Built, Repository, Revision, RevisionError};
use abx_lab::{Launch, Source, Subject};
use abx_verdict::bisect::{BUILDS, CommitRecord};

use super::flags::Bisect;
use crate::flags::build::{failure, step_printer};
use crate::ui::end::{Failure, notify};

/// The commits of a search, each after its parents.
pub struct Commits<'a> {
    repository: &'a Repository,
    builder: Builder<'a>,
    revisions: Vec<Revision>,
    parents: Vec<Vec<usize>>,
    is_quiet: bool,
}

/// The built server of a commit. The build is kept as long as this value exists.
pub struct CommitServer {
    pub subject: Subject,
    _built: Built,
}

impl<'a> Commits<'a> {
    /// The commits that the flags name.
    pub fn of(flags: &Bisect, repository: &'a Repository) -> Result<Commits<'a>, Failure> {
        let good = repository.resolve(&flags.good).map_err(failure)?;
        let bad = repository.resolve(&flags.bad).map_err(failure)?;
        let between = repository.between(&good, &bad, flags.first_parent);
        let mut revisions = between.map_err(failure)?;
        if revisions.is_empty() {
            return Err(Failure::usage(format!(
                "{good} and {bad} are the same commit: name two different ones"
            )));
        }
        revisions.insert(0, good);
        let parents = repository.parents(&revisions, flags.first_parent);
        Ok(Commits {
            repository,
            builder: flags.build.builder(repository)?,
            parents: parents.map_err(failure)?,
            revisions,
            is_quiet: flags.output.quiet,
        })
    }

    /// The index of BAD.
    pub fn last(&self) -> usize {
        self.revisions.len() - 1
    }

    /// A text that distinguishes searches among different commits.
    pub fn described(&self) -> String {
        let revisions = self.revisions.iter();
        let keys = revisions.map(|revision| (&revision.commit, &revision.changes));
        format!("{:?}", keys.collect::<Vec<_>>())
    }

    /// The commits as records contain them.
    pub fn records(&self) -> Vec<CommitRecord> {
        self.revisions
            .iter()
            .zip(&self.parents)
            .map(|(revision, parents)| CommitRecord {
                commit: revision.commit.clone(),
                author_date: revision.author_date.clone(),
                subject_line: if revision.is_dirty() {
                    "the changes of the working tree".to_owned()
                } else {
                    revision.title.clone()
                },
                parents: parents.clone(),
            })
            .collect()
    }

    /// The indices of the commits that these revisions name; the ends are refused.
    pub fn places(&self, revisions: &[String]) -> Result<Vec<usize>, Failure> {
        let mut places = Vec::new();
        for text in revisions {
            let revision = self.repository.resolve(text).map_err(failure)?;
            let mut others = self.revisions.iter();
            match others.position(|other| other.is_same(&revision)) {
                Some(place) if place == 0 || place == self.last() => {
                    return Err(Failure::usage(format!(
                        "--skip {text} is GOOD or BAD itself: name another GOOD or BAD instead"
                    )));
                }
                Some(place) => places.push(place),
                None if !self.is_quiet => {
                    notify(&format!("--skip {text}: it is not between GOOD and BAD"));
                }
                None => {}
            }
        }
        Ok(places)
    }

    /// Builds the server of a commit.
    pub fn server(&self, place: usize, launch: Launch) -> Result<CommitServer, RevisionError> {
        let revision = &self.revisions[place];
        let built = self
            .builder
            .build(revision, &mut step_printer(self.is_quiet))?;
        server(revision.short().to_owned(), built, launch)
    }

    /// Builds the servers of a commit and of its first parent several times. Returns the hash of
    /// the parent, and a pair per build, in which the parent's server comes first.
    pub fn twice(
        &self,
        place: usize,
        launch: &Launch,
    ) -> Result<(String, Vec<[CommitServer; 2]>), RevisionError> {
        let revision = &self.revisions[place];
        let parent = self.repository.parent(revision)?;
        // Only a commit without ancestors has no parent, and GOOD is an ancestor of all commits.
        let parent = parent.unwrap_or_else(|| self.revisions[0].clone());
        let mut pairs = Vec::new();
        for copy in 0..BUILDS {
            let build = |revision: &Revision| {
                let number = u32::try_from(copy).unwrap_or(u32::MAX);
                let mut notify_step = step_printer(self.is_quiet);
                let built = self
                    .builder
                    .build_copy(revision, number, &mut notify_step)?;
                let name = format!("{}-{}", revision.short(), copy + 1);
                let mut launch = launch.clone();
                launch.environment.push(moved_stack(copy));
                server(name, built, launch)
            };
            pairs.push([build(&parent)?, build(revision)?]);
        }
        Ok((parent.commit.clone(), pairs))
    }
}

/// An environment variable that moves the stack of a server, by another distance for each build,
/// because two builds by the same compiler may be identical byte for byte.
/// Source: Mytkowicz and others, ASPLOS (2009).
fn moved_stack(copy: usize) -> (String, String) {
    ("ABX_BUILD".to_owned(), "x".repeat(1 + STACK_BYTES * copy))
}

/// Neither a multiple of a page nor of a cache line.
const STACK_BYTES: usize = 1_040;

fn server(name: String, built: Built, launch: Launch) -> Result<CommitServer, RevisionError> {
    let source = Source::Command(built.launch(launch)?);
    let subject = Subject {
        revision: Some(built.record()),
        ..Subject::new(name, source)
    };
    Ok(CommitServer {
        subject,
        _built: built,
    })
}
