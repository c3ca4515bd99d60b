//! Flags of commands that build revisions of a git repository.

use std::path::{Path, PathBuf};
use std::time::Duration;

use abx_lab::revisions::{BUILD_WITHIN, BuildCache, Builder, Repository, RevisionError};
use clap::Args;

use crate::flags::units;
use crate::ui::end::{Failure, notify};

/// How revisions are found and built.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Revisions")]
pub struct BuildFlags {
    /// A command that builds a revision; one --build per step.
    ///
    /// Commands are split into words without a shell. They run in the folder of the checkout that
    /// --repo names in the repository. Each revision is built once and kept (see `abx cache`).
    #[arg(long, value_name = "COMMAND")]
    pub build: Vec<String>,
    /// The repository, or a folder in it [default: this folder].
    ///
    /// Build and server start in that folder of the checkout.
    #[arg(long, value_name = "DIR")]
    pub repo: Option<PathBuf>,
    /// How long the build of one revision may take [default: 30m].
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    pub build_within: Option<Duration>,
}

impl BuildFlags {
    /// The repository that contains the revisions.
    pub fn repository(&self) -> Result<Repository, Failure> {
        let folder = self.repo.as_deref().unwrap_or(Path::new("."));
        Repository::open(folder).map_err(failure)
    }

    /// The builder with these flags.
    pub fn builder<'a>(&self, repository: &'a Repository) -> Result<Builder<'a>, Failure> {
        let builder = Builder::new(repository, &self.build, BuildCache::here());
        let within = self.build_within.unwrap_or(BUILD_WITHIN);
        Ok(builder.map_err(failure)?.within(within))
    }

    /// The first of these flags that was given.
    pub fn given(&self) -> Option<&'static str> {
        let flags = [
            ("--build", !self.build.is_empty()),
            ("--repo", self.repo.is_some()),
            ("--build-within", self.build_within.is_some()),
        ];
        flags
            .into_iter()
            .find_map(|(name, is_given)| is_given.then_some(name))
    }
}

/// Prints the steps of a build, unless the command is quiet.
pub fn step_printer(quiet: bool) -> impl FnMut(&str) {
    move |line| {
        if !quiet {
            notify(line);
        }
    }
}

/// How a command ends if a revision cannot be built.
pub fn failure(error: RevisionError) -> Failure {
    match error {
        RevisionError::Interrupted => Failure::interrupted(),
        error => Failure::usage(error),
    }
}
