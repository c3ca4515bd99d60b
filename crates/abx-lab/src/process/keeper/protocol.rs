//! What abx and a keeper say to each other: one JSON document on each line.
//!
//! abx writes one [`KeeperPlan`] and later closes the pipe; the keeper answers
//! with [`KeeperReport`]s.

use std::collections::BTreeMap;
use std::path::PathBuf;

use abx_sys::limits::DescriptorLimit;
use abx_sys::process::Exit;
use serde::{Deserialize, Serialize};

use crate::study::launch::Stop;

/// The folder in a plan's scratch folder that is empty but for the plan's files.
pub const SCRATCH_EMPTY: &str = "dir";

/// What a keeper is to run, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeeperPlan {
    /// The program; looked for in `PATH` when it holds no slash.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The directory that it starts in.
    pub directory: PathBuf,
    /// Added to what abx itself was given.
    pub environment: BTreeMap<String, String>,
    /// The CPUs that it may use; `None` leaves them as they are.
    pub cpus: Option<Vec<usize>>,
    /// Its limit on open descriptors; `None` leaves it as it is.
    pub descriptors: Option<DescriptorLimit>,
    /// The file that its standard output and standard error are appended to.
    pub log: PathBuf,
    /// A folder of this start alone, with the folder [`SCRATCH_EMPTY`] in
    /// it: made before the start, removed when everything has ended.
    pub scratch: Option<PathBuf>,
    /// Files that are made in [`SCRATCH_EMPTY`] before the start.
    #[serde(default)]
    pub files: Vec<ScratchFile>,
    /// How it is stopped.
    pub stop: Stop,
}

/// A file in the folder of a start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScratchFile {
    /// Its path there: relative, and never above it.
    pub path: PathBuf,
    /// What it holds.
    pub content: FileContent,
}

/// What a made file holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileContent {
    /// This text.
    Text(String),
    /// So many bytes drawn from the seed: the same seed gives the same bytes.
    Random {
        /// The seed.
        seed: u64,
        /// How many bytes.
        bytes: u64,
    },
}

/// What a keeper tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeeperReport {
    /// The command runs under this process number.
    Started { pid: u32 },
    /// The command does not run; the keeper ends.
    Failed { why: StartFailure },
    /// The command has ended.
    Exited(Exit),
    /// Nothing is left; so many processes had to be killed. The keeper ends.
    Finished { killed: usize },
}

/// Why a command does not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StartFailure {
    /// There is no such program.
    CommandNotFound,
    /// It may not be executed.
    PermissionDenied,
    /// Anything else, in words.
    Other(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_short_lines() {
        // Method: every kind of report, written out; the other side may be read by a person.
        let text = |report: KeeperReport| serde_json::to_string(&report).unwrap();
        assert_eq!(
            text(KeeperReport::Started { pid: 7 }),
            r#"{"started":{"pid":7}}"#
        );
        assert_eq!(
            text(KeeperReport::Failed {
                why: StartFailure::CommandNotFound
            }),
            r#"{"failed":{"why":"command_not_found"}}"#
        );
        assert_eq!(
            text(KeeperReport::Exited(Exit::Signal(9))),
            r#"{"exited":{"signal":9}}"#
        );
        assert_eq!(
            text(KeeperReport::Finished { killed: 0 }),
            r#"{"finished":{"killed":0}}"#
        );
    }
}
