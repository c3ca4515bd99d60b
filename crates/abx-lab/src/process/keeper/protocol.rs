//! The messages between abx, a guardian and a keeper: one JSON document on each line.
//!
//! Each writes one [`KeeperCommand`] to the next and later closes the pipe; the keeper responds to
//! abx with [`KeeperReport`]s.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use abx_sys::limits::DescriptorLimit;
use abx_sys::process::Exit;
use serde::{Deserialize, Serialize};

use super::container::KeptContainer;
use abx_study::launch::Stop;

/// The folder in a plan's scratch folder that is empty except for the plan's files.
pub const SCRATCH_EMPTY: &str = "dir";

/// The command that a keeper has to run, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeeperPlan {
    /// The program; searched in `PATH` if it contains no slash.
    pub program: String,
    pub arguments: Vec<String>,
    /// The directory that it starts in.
    pub directory: PathBuf,
    /// Added to the environment of abx itself.
    pub environment: BTreeMap<String, String>,
    /// The CPUs that it may use; `None` for those of abx.
    pub cpus: Option<Vec<usize>>,
    /// Its limit on open descriptors; `None` for that of abx.
    pub descriptors: Option<DescriptorLimit>,
    /// The file that its standard output and standard error are appended to.
    pub log: PathBuf,
    /// A folder of this start alone, with the folder [`SCRATCH_EMPTY`] in it. It is made before the
    /// start, and removed when everything has ended.
    pub scratch: Option<PathBuf>,
    /// Files that are made in [`SCRATCH_EMPTY`] before the start.
    #[serde(default)]
    pub files: Vec<ScratchFile>,
    pub stop: Stop,
    /// The container that an engine runs for it: stopped instead of the command, and removed.
    #[serde(default)]
    pub container: Option<KeptContainer>,
    /// Whether the processes that it has started may continue when the command itself has failed.
    #[serde(default)]
    pub outlives_main: bool,
}

/// A file in the folder of a start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScratchFile {
    /// Its path there: relative, and never above it.
    pub path: PathBuf,
    pub content: FileContent,
}

/// The content of a made file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileContent {
    Text(String),
    /// This many bytes, drawn from the seed: the same seed gives the same bytes.
    Random {
        seed: u64,
        bytes: u64,
    },
}

impl FileContent {
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            FileContent::Text(text) => text.len() as u64,
            FileContent::Random { bytes, .. } => *bytes,
        }
    }
}

/// The command to a process that was started for a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeeperCommand {
    pub role: KeeperRole,
    pub plan: KeeperPlan,
    /// The text that identifies this start in its folder; no other start has the same text.
    #[serde(default)]
    pub owner: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeeperRole {
    /// Starts a keeper, and cleans up if the keeper is killed.
    Guardian,
    Keeper,
}

impl KeeperCommand {
    /// Writes it as one line.
    ///
    /// # Errors
    /// The reader is gone, or the plan has a path that is not UTF-8.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        to.write_all(&line)
    }

    /// Reads one line; `None` if the writer has gone before it wrote one.
    ///
    /// # Errors
    /// The line is not a complete command.
    pub fn read(from: &mut impl BufRead) -> io::Result<Option<KeeperCommand>> {
        let mut line = String::new();
        from.read_line(&mut line)?;
        if line.is_empty() {
            Ok(None)
        } else {
            Ok(Some(serde_json::from_str(&line)?))
        }
    }
}

/// A report of a keeper, or of its guardian when the keeper cannot send one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeeperReport {
    /// This many bytes of the plan's files were made so far.
    Making { bytes: u64 },
    /// The command runs below the keeper with this process number, since this moment of the
    /// monotonic clock.
    Started { keeper: u32, since_ns: u64 },
    /// The command does not run; the keeper ends.
    Failed { why: StartFailure },
    /// The command has ended, at this moment of the monotonic clock.
    Exited { exit: Exit, at_ns: u64 },
    /// No process is left; this many had to be killed. The keeper ends.
    Finished { killed: usize },
    /// The keeper was killed, and its guardian has ended the remaining processes.
    Lost,
}

impl KeeperReport {
    /// Sends it to abx. If abx is gone, the write fails, and the closed pipe shows that.
    pub fn send(&self) {
        let mut line = serde_json::to_vec(self).expect("a report is made of numbers and text");
        line.push(b'\n');
        let mut stdout = io::stdout().lock();
        let _ = stdout.write_all(&line).and_then(|()| stdout.flush());
    }
}

/// Why a command does not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StartFailure {
    CommandNotFound,
    PermissionDenied,
    /// Why the guardian could not start a keeper.
    NoKeeper(String),
    Other(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_short_lines() {
        // Method: several kinds of report, written out, since people may read them in a trace.
        let text = |report: KeeperReport| serde_json::to_string(&report).unwrap();
        assert_eq!(
            text(KeeperReport::Started {
                keeper: 7,
                since_ns: 5
            }),
            r#"{"started":{"keeper":7,"since_ns":5}}"#
        );
        assert_eq!(
            text(KeeperReport::Failed {
                why: StartFailure::CommandNotFound
            }),
            r#"{"failed":{"why":"command_not_found"}}"#
        );
        assert_eq!(
            text(KeeperReport::Exited {
                exit: Exit::Signal(9),
                at_ns: 7
            }),
            r#"{"exited":{"exit":{"signal":9},"at_ns":7}}"#
        );
        assert_eq!(
            text(KeeperReport::Finished { killed: 0 }),
            r#"{"finished":{"killed":0}}"#
        );
        assert_eq!(text(KeeperReport::Lost), r#""lost""#);
    }
}
