//! The counts of a run that an agent saves on its own disk, in case the controller is gone before
//! it has fetched them. The file contains no plan, because plans may contain keys and passwords.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use abx_engine::input_file::read_up_to;
use abx_evidence::{Measured, SliceTally};
use serde::{Deserialize, Serialize};

use crate::message::bytes;

/// The schema that this version writes and reads.
const SCHEMA: &str = "abx.final/2";
/// The ending of file names.
const SUFFIX: &str = ".final.json";
/// The number of files that are kept: the newest ones.
const KEPT: usize = 32;
/// The most bytes of a file: it has histograms of a few MiB.
const FINAL_BYTES_MAX: u64 = 256 << 20;
/// Nobody writes a draft for so long.
const DRAFT_AGE_MAX: Duration = Duration::from_secs(3_600);

/// The agent that made a part of a run, and which part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    pub run: String,
    /// Which part, from 0.
    pub slot: usize,
    /// How many parts there are.
    pub slots: usize,
    /// The agent's address on the bus.
    pub agent: String,
    pub name: String,
    /// The SHA-256 of its program.
    pub build: String,
}

/// The counts of one agent in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Final {
    schema: String,
    /// When it was written, in milliseconds since 1970-01-01 UTC.
    pub saved_unix_ms: u64,
    pub author: Author,
    pub counted: Counted,
}

/// The counts, and the plan and run that they belong to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// The SHA-256 of the plan of the whole load.
    pub plan_sha256: String,
    /// How long after its time the slice began, in ns.
    pub late_ns: u64,
    /// Whether it was ended before its end.
    pub is_cut: bool,
    /// The controller's record of the run before its load.
    pub record: Box<Measured>,
    /// The result of the agent's part of the load.
    pub tally: Box<SliceTally>,
}

/// Why a file cannot be read as saved counts of an agent.
#[derive(Debug, thiserror::Error)]
pub enum FinalError {
    #[error("cannot read {}: {source}", .file.display())]
    Unread { file: PathBuf, source: io::Error },
    #[error(
        "{} is not a file that `abx agent` saved ({why}): collect files whose names end in \
         {SUFFIX}, with an abx no older than the agent's", .file.display()
    )]
    NoFinal { file: PathBuf, why: String },
}

impl Final {
    /// The counts of a slice that has just ended.
    pub fn new(author: Author, counted: Counted) -> Final {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_ms = now.unwrap_or_default().as_millis();
        Final {
            schema: SCHEMA.to_owned(),
            saved_unix_ms: u64::try_from(now_ms).unwrap_or(u64::MAX),
            author,
            counted,
        }
    }

    /// Reads a file.
    pub fn read(file: &Path) -> Result<Final, FinalError> {
        let bytes = read_up_to(file, FINAL_BYTES_MAX).map_err(|source| FinalError::Unread {
            file: file.to_owned(),
            source,
        })?;
        let no_final = |why: String| FinalError::NoFinal {
            file: file.to_owned(),
            why,
        };
        let text = str::from_utf8(&bytes).map_err(|error| no_final(error.to_string()))?;
        let item: Final =
            serde_json::from_str(text).map_err(|error| no_final(error.to_string()))?;
        if item.schema == SCHEMA {
            Ok(item)
        } else {
            Err(no_final(format!("its schema is {}", item.schema)))
        }
    }

    fn file_name(&self) -> String {
        let Author { run, slot, .. } = &self.author;
        format!("{run}.{}{SUFFIX}", slot + 1)
    }
}

/// Saves counts atomically, and removes the oldest of too many files.
///
/// # Errors
/// The error of the system, mainly that the disk is full.
pub fn save(folder: &Path, item: &Final) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let path = folder.join(item.file_name());
    let being_written = folder.join(format!(".{}.{}", item.file_name(), std::process::id()));
    let written = write(&being_written, item).and_then(|()| fs::rename(&being_written, &path));
    if let Err(error) = written {
        // A partly written file is useless.
        let _ = fs::remove_file(&being_written);
        return Err(error);
    }
    // The new file is saved, even if old ones cannot be removed.
    let _ = prune(folder);
    Ok(path)
}

fn write(path: &Path, item: &Final) -> io::Result<()> {
    let mut text = bytes(item);
    text.push(b'\n');
    let mut file = File::create(path)?;
    file.write_all(&text)?;
    file.sync_all()
}

/// Removes all files except the newest ones, and the drafts of agents that were killed. Another
/// agent may remove the same ones meanwhile.
fn prune(folder: &Path) -> io::Result<()> {
    let now = SystemTime::now();
    let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        let Ok(modified) = entry.metadata().and_then(|metadata| metadata.modified()) else {
            continue;
        };
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_old = now
            .duration_since(modified)
            .is_ok_and(|age| age > DRAFT_AGE_MAX);
        if name.ends_with(SUFFIX) {
            files.push((modified, entry.path()));
        } else if is_old && name.starts_with('.') && name.contains(&format!("{SUFFIX}.")) {
            let _ = fs::remove_file(entry.path());
        }
    }
    files.sort();
    let surplus = files.len().saturating_sub(KEPT);
    for (_, path) in &files[..surplus] {
        let _ = fs::remove_file(path);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_oldest_of_too_many_files_are_removed() {
        // Method: three files too many, the oldest of them last by name, and a foreign file that is
        // even older. Drafts of a killed agent and of one that writes.
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, age: u64| {
            let file = File::create(folder.path().join(name)).unwrap();
            let then = SystemTime::now() - Duration::from_secs(age);
            file.set_modified(then).unwrap();
        };
        let names: Vec<String> = (0..KEPT + 3)
            .map(|number| format!("{number:03}{SUFFIX}"))
            .collect();
        for (age, name) in names.iter().enumerate() {
            put(name, 60 * age as u64);
        }
        put("notes.json", 1_000_000);
        let drafts = [".a.1.final.json.7", ".b.1.final.json.8"];
        put(drafts[0], 2 * DRAFT_AGE_MAX.as_secs());
        put(drafts[1], 0);
        prune(folder.path()).unwrap();
        let mut left: Vec<String> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        let mut expected = vec![drafts[1].to_owned()];
        expected.extend_from_slice(&names[..KEPT]);
        expected.push("notes.json".to_owned());
        assert_eq!(left, expected);
        // A second call removes nothing.
        prune(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), KEPT + 2);
    }
}
