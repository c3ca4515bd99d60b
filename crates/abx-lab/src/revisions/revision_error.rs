//! Why a revision is not found, not checked out, or not built.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process::log_tail::behind;
use crate::setup::provision::command::CommandError;

/// Why there is no build of a revision, with a remedy.
#[derive(Debug, thiserror::Error)]
pub enum RevisionError {
    #[error("the program `git` is not on PATH: install git, which finds and checks out revisions")]
    NoGit,
    #[error("git is older than 2.31, which revisions need: install a newer one")]
    OldGit,
    #[error("`{command}` failed in {}: {message}", folder.display())]
    Git {
        command: String,
        folder: PathBuf,
        message: String,
    },
    #[error(
        "{} is not in a git repository: run abx in one, or name one with --repo ({message})",
        folder.display()
    )]
    NotARepository { folder: PathBuf, message: String },
    #[error("the revision {name:?} {why}")]
    Name { name: String, why: &'static str },
    #[error(
        "{} has no revision `{name}`: give a branch, a tag or a hash that `git log` shows there{}",
        repository.display(), if *is_shallow { SHALLOW } else { "" }
    )]
    Unknown {
        name: String,
        repository: PathBuf,
        is_shallow: bool,
    },
    #[error("`{name}` is not a commit: give a branch, a tag of a commit, or the commit's hash")]
    NotACommit { name: String },
    #[error("{} is a bare repository without a working tree: give a commit instead of `.`",
        .0.display())]
    NoWorkingTree(PathBuf),
    #[error("{} has no commit yet: commit your files first", .0.display())]
    NoCommit(PathBuf),
    #[error("`{first}` and `{second}` have no common ancestor: name the commit that you mean")]
    NoMergeBase { first: String, second: String },
    #[error(
        "{good} is not an ancestor of {bad}: swap them if {good} is the later one, or start at \
         their merge base, `{}...{}`",
        good_name,
        bad_name
    )]
    NotAnAncestor {
        good: String,
        bad: String,
        good_name: String,
        bad_name: String,
    },
    #[error("the clone is shallow and lacks the parent of {0}: run `git fetch --unshallow` in it")]
    NoParent(String),
    #[error(
        "`{first}` and `{second}` are the same commit, {commit}, without changes: name two that \
         differ, or test the machine with --aa"
    )]
    Same {
        first: String,
        second: String,
        commit: String,
    },
    #[error(
        "the submodule {} of the working tree has changes, which abx does not copy: commit them \
         there, and commit the submodule's new state here", .0.display()
    )]
    ChangedSubmodule(PathBuf),
    #[error(
        "{revision} has submodules ({}), which a fresh clone lacks: fetch them in the first build \
         step, --build 'git submodule update --init --recursive'", path.display()
    )]
    Submodules { revision: String, path: PathBuf },
    #[error(
        "{revision} keeps files in Git LFS ({}), which a fresh clone lacks: fetch them in the \
         first build step, --build 'git lfs pull'", path.display()
    )]
    LargeFiles { revision: String, path: PathBuf },
    #[error(
        "{} in the working tree is a separate repository, which abx does not copy: add it to \
         .gitignore, or make it a submodule", .0.display()
    )]
    NestedRepository(PathBuf),
    #[error(
        "`git status` names no path in the working tree: {entry:?}. Commit your changes, or \
         remove the files that it lists there"
    )]
    ChangedPath { entry: String },
    #[error("the working tree changed while abx copied it: try again when nothing writes to it")]
    TreeChanged,
    #[error("the build command `{command}` {why}")]
    BuildCommand { command: String, why: String },
    #[error("the server command `{command}` {why}")]
    ServerCommand { command: String, why: String },
    #[error("{0}")]
    Build(Box<FailedBuild>),
    #[error(
        "{revision}: the build left no program `{program}` in {}: name the program that it makes, \
         add the missing step with --build, or remove a damaged build with `abx cache clean`",
        folder.display()
    )]
    NoProgram {
        revision: String,
        program: String,
        folder: PathBuf,
    },
    #[error("{revision} has no folder {}: start abx in a folder that every revision has, or name \
             one with --repo", folder.display())]
    NoFolder { revision: String, folder: PathBuf },
    #[error("{} cannot be read: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(
        "{}: {source}. Make room there, or set XDG_CACHE_HOME to another folder", path.display()
    )]
    Cache { path: PathBuf, source: io::Error },
    #[error("cannot watch for Ctrl-C: {0}")]
    Signals(io::Error),
    #[error("stopped; a half-finished build starts over next time")]
    Interrupted,
}

impl RevisionError {
    /// An error of the system for a path in the cache.
    pub(super) fn in_cache(path: &Path) -> impl Fn(io::Error) -> RevisionError {
        move |source| RevisionError::Cache {
            path: path.to_owned(),
            source,
        }
    }
}

/// A build whose command failed.
#[derive(Debug, thiserror::Error)]
#[error(
    "{revision}: the build command `{command}` failed ({source}{}){}\nAll of its output: {}",
    bound(source, *within), behind(output), log.display()
)]
pub struct FailedBuild {
    pub revision: String,
    pub command: String,
    pub source: CommandError,
    /// How long the build was allowed to take.
    pub within: Duration,
    /// The last lines of its output.
    pub output: String,
    pub log: PathBuf,
}

const SHALLOW: &str = ". The clone is shallow and may lack it: run `git fetch --unshallow`";

fn bound(source: &CommandError, within: Duration) -> String {
    match source {
        CommandError::TooLong => format!(
            ": more than {} s; give it more time with --build-within",
            within.as_secs()
        ),
        _ => String::new(),
    }
}
