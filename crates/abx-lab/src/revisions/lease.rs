//! A lock on one build of the cache: one abx makes the build, any number use it, and none removes
//! it meanwhile.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::locked_file::{Hold, LockedFile};

/// A lock that is held: shared by those who use the build, or alone to make or remove it.
#[derive(Debug)]
pub struct Lease {
    file: LockedFile,
    path: PathBuf,
}

impl Lease {
    /// Takes the lock of this file; `None` if another holder does not allow it now.
    ///
    /// # Errors
    /// The error of the system.
    pub fn take(path: &Path, hold: Hold) -> io::Result<Option<Lease>> {
        loop {
            let file = File::options().create(true).append(true).open(path)?;
            let Some(file) = LockedFile::take(file, hold)? else {
                return Ok(None);
            };
            // Another abx may have removed the file since it was opened.
            let is_same = fs::metadata(path)
                .and_then(|metadata| Ok(metadata.ino() == file.metadata()?.ino()))
                .unwrap_or(false);
            if is_same {
                let path = path.to_owned();
                return Ok(Some(Lease { file, path }));
            }
        }
    }

    /// Notes that the build is used now, by the modification time of the lock's file.
    ///
    /// # Errors
    /// The error of the system.
    pub fn note_use(&self) -> io::Result<()> {
        self.file.set_modified(SystemTime::now())
    }

    /// Removes the lock's file, after the folder that it protects.
    ///
    /// # Errors
    /// The error of the system.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_that_is_used_is_neither_made_nor_removed() {
        // Method: every pair of holds; then the first is dropped.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let take = |hold| Lease::take(&path, hold).unwrap();
        let first = take(Hold::Shared).unwrap();
        assert!(take(Hold::Shared).is_some());
        assert!(take(Hold::Alone).is_none());
        drop(first);
        let alone = take(Hold::Alone).unwrap();
        assert!(take(Hold::Shared).is_none() && take(Hold::Alone).is_none());
        alone.remove().unwrap();
        assert!(!path.exists());
        assert!(take(Hold::Shared).is_some());
    }
}
