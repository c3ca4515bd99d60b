//! The files that abx made for one start of a subject, which can be dropped from memory.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use abx_evidence::record::InUse;
use abx_sys::page_cache::{Pages, drop_pages, pages};

use abx_study::GeneratedFile;

/// Files in the folder of one start.
#[derive(Debug, Default)]
pub struct GeneratedFiles {
    paths: Vec<PathBuf>,
    /// Whether they were synced to the disk: only such pages can be dropped.
    are_on_disk: bool,
}

impl GeneratedFiles {
    /// The files that a study has made in this folder.
    #[must_use]
    pub fn within(folder: &Path, files: &[GeneratedFile]) -> GeneratedFiles {
        GeneratedFiles {
            paths: files.iter().map(|file| folder.join(&file.path)).collect(),
            are_on_disk: false,
        }
    }

    /// Drops the files from memory, and counts the pages that stayed there; the limit is all pages.
    /// `None` without files.
    ///
    /// # Errors
    /// The error of the kernel for the first file that cannot be opened, written to the disk, or
    /// counted.
    pub fn drop_from_memory(&mut self) -> io::Result<Option<InUse>> {
        let mut sum = Pages::default();
        for path in &self.paths {
            let file = File::open(path)?;
            if !self.are_on_disk {
                file.sync_data()?;
            }
            drop_pages(&file)?;
            sum = sum.plus(pages(&file)?);
        }
        self.are_on_disk = true;
        Ok((!self.paths.is_empty()).then_some(InUse {
            count: sum.resident,
            limit: Some(sum.all),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(folder: &Path, names: &[&str]) -> GeneratedFiles {
        let files = names.iter().map(|name| GeneratedFile {
            path: name.into(),
            bytes: 10_000,
        });
        GeneratedFiles::within(folder, &files.collect::<Vec<_>>())
    }

    #[test]
    fn pages_of_all_files_are_counted_against_their_sum() {
        // Method: one file; two of the same length, twice; no file; and one that does not exist.
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            std::fs::write(folder.path().join(name), vec![1; 10_000]).unwrap();
        }
        let in_use = made(folder.path(), &["a"]).drop_from_memory();
        let pages = in_use.unwrap().unwrap().limit.unwrap();
        assert!(pages > 0);
        let mut both = made(folder.path(), &["a", "b"]);
        for _ in 0..2 {
            let in_use = both.drop_from_memory().unwrap().unwrap();
            assert_eq!(in_use.limit, Some(2 * pages));
            assert!(in_use.count <= 2 * pages);
        }
        assert_eq!(made(folder.path(), &[]).drop_from_memory().unwrap(), None);
        assert!(made(folder.path(), &["a", "c"]).drop_from_memory().is_err());
    }
}
