//! A folder of the cache, which counts only if it is complete.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file that is written after everything else.
const STAMP: &str = ".abx-complete";

/// A folder whose name identifies its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheFolder(PathBuf);

impl CacheFolder {
    /// The folder of this name, which may not exist yet.
    pub fn new(cache: &Path, name: &str) -> CacheFolder {
        CacheFolder(cache.join(name))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Its log, which is next to the folder, so that it outlives the folder's content.
    pub fn log(&self) -> PathBuf {
        let mut name = self.0.as_os_str().to_owned();
        name.push(".log");
        PathBuf::from(name)
    }

    /// Whether it is complete, and belongs to the user or root.
    pub fn is_complete(&self) -> bool {
        let user = rustix::process::geteuid().as_raw();
        let is_trusted = |path: &Path| {
            fs::symlink_metadata(path)
                .is_ok_and(|metadata| [0, user].contains(&metadata.uid()) && !metadata.is_symlink())
        };
        is_trusted(&self.0) && is_trusted(&self.0.join(STAMP))
    }

    /// Creates it again, without content.
    ///
    /// # Errors
    /// The error of the system.
    pub fn empty(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::create_dir_all(&self.0),
        }
    }

    /// Marks it as complete by a stamp with this description of its content. The stamp appears
    /// atomically.
    ///
    /// # Errors
    /// The error of the system.
    pub fn complete(&self, content: &str) -> io::Result<()> {
        let part = self.0.join(format!("{STAMP}.part"));
        fs::write(&part, content)?;
        fs::rename(part, self.0.join(STAMP))
    }

    /// The description that it was completed with; `None` if it is not complete.
    pub fn content(&self) -> Option<String> {
        self.is_complete()
            .then(|| fs::read_to_string(self.0.join(STAMP)).ok())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_stamp_makes_it_complete() {
        // Method: a folder that is absent, empty, filled, stamped, and emptied again.
        let cache = tempfile::tempdir().unwrap();
        let folder = CacheFolder::new(cache.path(), "npm-1");
        assert!(!folder.is_complete());
        folder.empty().unwrap();
        fs::write(folder.path().join("half"), "").unwrap();
        assert!(!folder.is_complete());
        folder.complete("all").unwrap();
        assert!(folder.is_complete());
        assert_eq!(folder.content().as_deref(), Some("all"));
        folder.empty().unwrap();
        assert!(!folder.is_complete());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(folder.log(), cache.path().join("npm-1.log"));
    }

    #[test]
    fn a_link_in_its_place_is_not_trusted() {
        // Method: a complete folder, and a link to it under another name.
        let cache = tempfile::tempdir().unwrap();
        let folder = CacheFolder::new(cache.path(), "one");
        folder.empty().unwrap();
        folder.complete("").unwrap();
        std::os::unix::fs::symlink(folder.path(), cache.path().join("two")).unwrap();
        assert!(!CacheFolder::new(cache.path(), "two").is_complete());
    }
}
