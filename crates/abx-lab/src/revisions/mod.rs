//! Subjects that are revisions of a git repository: found, checked out, and built once each.
//!
//! [`Repository`] finds commits; a [`Builder`] makes a [`Built`] of each [`Revision`] in a
//! [`BuildCache`]. `git` runs git as a program without anything of the user's that could act: no
//! hooks, no filters, and no variables of a hook that runs abx. `checkout` makes a clone that
//! borrows the objects of the user's repository, which stays as it is. `changes` copies the changes
//! of the working tree over its commit, `tools` reads the versions of compilers, and `lease` keeps
//! two abx from building or removing the same folder.

mod build_command;
mod build_stamp;
mod builder;
mod cache;
mod changes;
mod checkout;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod git;
mod lease;
mod parents;
mod repository;
mod revision;
mod revision_error;
mod server_command;
mod tools;

pub use build_stamp::BuildStamp;
pub use builder::{BUILD_WITHIN, Builder, Built};
pub use cache::{BuildCache, CachedBuild, RemovedBuilds};
pub use repository::Repository;
pub use revision::{Revision, distinct, subject_names};
pub use revision_error::{FailedBuild, RevisionError};
pub use server_command::server_command;
