//! The cache of builds: one folder per build of a revision, complete or worthless.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::build_stamp::BuildStamp;
use super::lease::Lease;
use super::revision_error::RevisionError;
use crate::locked_file::Hold;
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
    /// Its description; `None` for a build that failed or is being made.
    pub stamp: Option<BuildStamp>,
    /// The space that it takes on disk.
    pub bytes: u64,
    /// When a run used it last.
    pub last_use: SystemTime,
}

/// The result of a cleaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RemovedBuilds {
    pub builds: usize,
    pub bytes: u64,
    /// How many builds stayed because a run uses or makes them.
    pub used: usize,
}

/// The suffix of a build's lock, which is next to its folder.
const LOCK: &str = ".lock";
/// The suffix of a build's log, as in [`CacheFolder::log`].
const LOG: &str = ".log";
/// Sources may be secret: only the user reads them.
const PRIVATE: u32 = 0o700;
/// The unit in which the system counts the disk space of files.
const BLOCK_BYTES: u64 = 512;

impl BuildCache {
    /// The user's cache: `builds` in the folder of everything that abx caches.
    #[must_use]
    pub fn here() -> BuildCache {
        BuildCache::at(&cache_folder().join("builds"))
    }

    /// A cache in this folder, which is created when it is needed.
    #[must_use]
    pub fn at(folder: &Path) -> BuildCache {
        // Builds do not run in the folder in which abx runs.
        let absolute = std::path::absolute(folder);
        BuildCache {
            folder: absolute.unwrap_or_else(|_| folder.to_owned()),
        }
    }

    /// The folder of the cache.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All builds, the last used first.
    ///
    /// # Errors
    /// [`RevisionError::Cache`] if the folder cannot be read.
    pub fn list(&self) -> Result<Vec<CachedBuild>, RevisionError> {
        let names = self.names()?;
        let mut builds: Vec<CachedBuild> =
            names.into_iter().map(|name| self.cached(name)).collect();
        builds.sort_by_key(|build| Reverse(build.last_use));
        Ok(builds)
    }

    /// Removes the builds that no run has used for this long, except those that are used now.
    ///
    /// # Errors
    /// [`RevisionError::Cache`] for a file that cannot be read or removed.
    pub fn clean(&self, unused_for: Duration) -> Result<RemovedBuilds, RevisionError> {
        let now = SystemTime::now();
        let mut removed = RemovedBuilds::default();
        for name in self.names()? {
            // A time in the future means that the clock was set back.
            let age = now.duration_since(self.last_use(&name)).unwrap_or_default();
            if age < unused_for {
                continue;
            }
            match self.lease(&name, Hold::Alone)? {
                None => removed.used += 1,
                Some(lease) => {
                    let path = self.folder.join(&name);
                    let bytes = self.bytes(&name);
                    self.remove(&name, lease)
                        .map_err(RevisionError::in_cache(&path))?;
                    removed.builds += 1;
                    removed.bytes += bytes;
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
        let created = builder.recursive(true).mode(PRIVATE).create(&self.folder);
        let lease = created.and_then(|()| Lease::take(&path, hold));
        lease.map_err(RevisionError::in_cache(&path))
    }

    fn lock(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{LOCK}"))
    }

    /// The names of all builds of which a folder, a lock or a log remains.
    fn names(&self) -> Result<BTreeSet<String>, RevisionError> {
        let failed = RevisionError::in_cache(&self.folder);
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
            Err(error) => return Err(failed(error)),
            Ok(entries) => entries,
        };
        let name = |entry: io::Result<fs::DirEntry>| {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let bare = name.strip_suffix(LOCK).or(name.strip_suffix(LOG));
            Ok(bare.unwrap_or(&name).to_owned())
        };
        entries.map(name).collect::<io::Result<_>>().map_err(failed)
    }

    fn cached(&self, name: String) -> CachedBuild {
        let folder = self.build(&name);
        let content = folder.content();
        let stamp = content.and_then(|text| serde_json::from_str(&text).ok());
        CachedBuild {
            stamp,
            bytes: self.bytes(&name),
            last_use: self.last_use(&name),
            name,
        }
    }

    /// The room that a build takes, for which each of its files is looked at.
    fn bytes(&self, name: &str) -> u64 {
        let folder = self.build(name);
        disk_bytes(folder.path()) + disk_bytes(&folder.log())
    }

    fn last_use(&self, name: &str) -> SystemTime {
        let folder = self.build(name);
        let times = [self.lock(name), folder.path().to_owned(), folder.log()];
        let mut times = times.iter().map(|path| fs::metadata(path)?.modified());
        times.find_map(Result::ok).unwrap_or(SystemTime::UNIX_EPOCH)
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

/// The space that a file takes on disk, or a folder with everything below it. A file that cannot be
/// read counts nothing.
fn disk_bytes(path: &Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return 0;
    };
    let below = match fs::read_dir(path) {
        Ok(entries) if metadata.is_dir() => {
            let entries = entries.filter_map(Result::ok);
            entries.map(|entry| disk_bytes(&entry.path())).sum()
        }
        _ => 0,
    };
    metadata.blocks() * BLOCK_BYTES + below
}
