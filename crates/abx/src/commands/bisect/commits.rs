//! The commits from GOOD to BAD, and a server of each.

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

/// A server of a commit that is built. Its build stays as long as this value exists.
pub struct CommitServer {
    pub subject: Subject,
    _built: Built,
}

impl<'a> Commits<'a> {
    /// Those that the flags name.
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

    /// The place of BAD.
    pub fn last(&self) -> usize {
        self.revisions.len() - 1
    }

    /// The part of the commits that distinguishes two searches.
    pub fn described(&self) -> String {
        let each = self.revisions.iter();
        let each = each.map(|revision| (&revision.commit, &revision.changes));
        format!("{:?}", each.collect::<Vec<_>>())
    }

    /// As records keep them.
    pub fn records(&self) -> Vec<CommitRecord> {
        let each = self.revisions.iter().zip(&self.parents);
        each.map(|(revision, parents)| CommitRecord {
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

    /// The places of the commits that these revisions name, except for the two ends.
    pub fn places(&self, revisions: &[String]) -> Result<Vec<usize>, Failure> {
        let mut places = Vec::new();
        for text in revisions {
            let revision = self.repository.resolve(text).map_err(failure)?;
            let place = { self.revisions.iter() }.position(|other| other.is_same(&revision));
            match place {
                Some(place) if place == 0 || place == self.last() => {
                    return Err(Failure::usage(format!(
                        "--skip {text} is an end of the search: name another GOOD or BAD instead"
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

    /// The server of a commit, built.
    pub fn server(&self, place: usize, launch: Launch) -> Result<CommitServer, RevisionError> {
        let revision = &self.revisions[place];
        let built = self
            .builder
            .build(revision, &mut step_printer(self.is_quiet))?;
        server(revision.short().to_owned(), built, launch)
    }

    /// Each build of a commit, and each build of its first parent, whose hash comes first.
    pub fn twice(
        &self,
        place: usize,
        launch: &Launch,
    ) -> Result<(String, Vec<[CommitServer; 2]>), RevisionError> {
        let revision = &self.revisions[place];
        let parent = self.repository.parent(revision)?;
        // Only a commit without ancestors has none, and GOOD is an ancestor of all.
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

/// A variable that moves the stack of a server, by another distance for each of its builds: two
/// builds of one compiler may be the same to the byte.
/// Source: Mytkowicz and others, ASPLOS (2009).
fn moved_stack(copy: usize) -> (String, String) {
    ("ABX_BUILD".to_owned(), "x".repeat(1 + STACK_BYTES * copy))
}

/// Not a multiple of a page, nor of a line of the cache.
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
