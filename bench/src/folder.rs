//! A temporary folder per program.

use std::io;
use std::path::{Path, PathBuf};

/// A folder that is removed with this value.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes `abx-NAME-PID` among the temporary files.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn new(name: &str) -> io::Result<Folder> {
        let path = std::env::temp_dir().join(format!("abx-{name}-{}", std::process::id()));
        std::fs::create_dir(&path)?;
        Ok(Folder(path))
    }

    /// Where it is.
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
