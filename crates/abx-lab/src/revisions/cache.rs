//! The builds of revisions that are kept: one folder each, complete or worth nothing.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::build_stamp::BuildStamp;
use super::lease::{Hold, Lease};
use super::revision_error::RevisionError;
use crate::setup::provision::cache_folder;
use crate::setup::provision::recipe::folder::CacheFolder;

/// Where builds are kept.
#[derive(Debug, Clone)]
pub struct BuildCache {
    folder: PathBuf,
}

/// A build in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedBuild {
    /// The name of its folder.
    pub name: String,
    /// The description of its build; `None` for one that failed or is being made.
    pub stamp: Option<BuildStamp>,
    /// The room that it takes on disk.
    pub bytes: u64,
    /// When a run used it last.
    pub last_use: SystemTime,
}

/// The result of a cleaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RemovedBuilds {
    pub builds: usize,
    pub bytes: u64,
    /// How many builds stayed because a run uses them, or makes them.
    pub used: usize,
}

/// The end of the name of a build's lock, next to its folder.
const LOCK: &str = ".lock";
/// The end of the name of its log, as [`CacheFolder::log`] has it.
const LOG: &str = ".log";
/// Sources may be secret: only the user reads them.
const PRIVATE: u32 = 0o700;
/// How the system counts the room of files.
const BLOCK_BYTES: u64 = 512;

impl BuildCache {
    /// That of the user: `builds` in the folder of everything that abx caches.
    #[must_use]
    pub fn here() -> BuildCache {
        BuildCache::at(&cache_folder().join("builds"))
    }

    /// Another one, in this folder. It is made when it is needed.
    #[must_use]
    pub fn at(folder: &Path) -> BuildCache {
        // Builds run in other folders than abx does.
        let absolute = std::path::absolute(folder);
        BuildCache {
            folder: absolute.unwrap_or_else(|_| folder.to_owned()),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All builds, the last used ones first.
    ///
    /// # Errors
    /// [`RevisionError::Cache`] if the folder cannot be read.
    pub fn list(&self) -> Result<Vec<CachedBuild>, RevisionError> {
        let names = self
            .names()
            .map_err(RevisionError::in_cache(&self.folder))?;
        let mut builds: Vec<CachedBuild> =
            names.into_iter().map(|name| self.cached(name)).collect();
        builds.sort_by_key(|build| Reverse(build.last_use));
        Ok(builds)
    }

    /// Removes the builds that no run used for this long, and none that is used now.
    ///
    /// # Errors
    /// [`RevisionError::Cache`] for a file that cannot be read or removed.
    pub fn clean(&self, unused_for: Duration) -> Result<RemovedBuilds, RevisionError> {
        let now = SystemTime::now();
        let mut removed = RemovedBuilds::default();
        for build in self.list()? {
            // A time in the future is that of a clock which was set back.
            let age = now.duration_since(build.last_use).unwrap_or_default();
            if age < unused_for {
                continue;
            }
            match self.lease(&build.name, Hold::Alone)? {
                None => removed.used += 1,
                Some(lease) => {
                    let path = self.folder.join(&build.name);
                    self.remove(&build.name, lease)
                        .map_err(RevisionError::in_cache(&path))?;
                    removed.builds += 1;
                    removed.bytes += build.bytes;
                }
            }
        }
        Ok(removed)
    }

    /// The folder of a build, which may not be there yet.
    pub(super) fn build(&self, name: &str) -> CacheFolder {
        CacheFolder::new(&self.folder, name)
    }

    /// Takes the lock of a build; `None` if another holder does not allow it now.
    ///
    /// # Errors
    /// [`RevisionError::Cache`] if the folder cannot be written.
    pub(super) fn lease(&self, name: &str, hold: Hold) -> Result<Option<Lease>, RevisionError> {
        let path = self.lock(name);
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(PRIVATE).create(&self.folder);
        let lease = made.and_then(|()| Lease::take(&path, hold));
        lease.map_err(RevisionError::in_cache(&path))
    }

    fn lock(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{LOCK}"))
    }

    /// The names of all builds, each by any remaining part of it.
    fn names(&self) -> io::Result<BTreeSet<String>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
            entries => entries?,
        };
        let name = |entry: io::Result<fs::DirEntry>| {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let bare = name.strip_suffix(LOCK).or(name.strip_suffix(LOG));
            Ok(bare.unwrap_or(&name).to_owned())
        };
        entries.map(name).collect()
    }

    fn cached(&self, name: String) -> CachedBuild {
        let folder = self.build(&name);
        let content = folder.content();
        let stamp = content.and_then(|text| serde_json::from_str(&text).ok());
        let times = [self.lock(&name), folder.path().to_owned(), folder.log()];
        let mut times = times.iter().map(|path| fs::metadata(path)?.modified());
        CachedBuild {
            stamp,
            bytes: room(folder.path()) + room(&folder.log()),
            last_use: times.find_map(Result::ok).unwrap_or(SystemTime::UNIX_EPOCH),
            name,
        }
    }

    fn remove(&self, name: &str, lease: Lease) -> io::Result<()> {
        let folder = self.build(name);
        discard(&folder)?;
        match fs::remove_file(folder.log()) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => lease.remove(),
        }
    }
}

/// Removes a build; its log stays.
pub fn discard(folder: &CacheFolder) -> io::Result<()> {
    folder.empty()?;
    fs::remove_dir(folder.path())
}

/// The room that a file takes on disk, or a folder with everything below. A file that cannot be
/// read counts nothing.
fn room(path: &Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return 0;
    };
    let below = match fs::read_dir(path) {
        Ok(entries) if metadata.is_dir() => {
            let entries = entries.filter_map(Result::ok);
            entries.map(|entry| room(&entry.path())).sum()
        }
        _ => 0,
    };
    metadata.blocks() * BLOCK_BYTES + below
}
