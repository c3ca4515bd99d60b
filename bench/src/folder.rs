//! A temporary folder per program.

use std::io;
use std::path::{Path, PathBuf};

/// A folder that is removed with this value.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Creates `abx-NAME-PID` in the directory of temporary files.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn new(name: &str) -> io::Result<Folder> {
        let path = std::env::temp_dir().join(format!("abx-{name}-{}", std::process::id()));
        std::fs::create_dir(&path)?;
        Ok(Folder(path))
    }

    /// The path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A failure leaves records of a few hundred kilobytes behind.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
