//! The catalog: the studies of this repository, carried in the program.
//!
//! A [`CatalogEntry`] is read from the program, and written to a folder of the cache to be run: its
//! servers need files, and its builds a folder. [`check()`] checks which of its subjects start here
//! and respond correctly.

mod check;

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

pub use check::{CheckEnvironment, CheckError, CheckedStudy, check};

use abx_model::hex;
use abx_study::study_file::{self, StudyFile, StudyFileError, nearest};

/// A study of the catalog.
#[derive(Debug)]
pub struct CatalogEntry {
    /// The name of the study and of its folder.
    pub name: &'static str,
    files: &'static [File],
}

#[derive(Debug)]
struct File {
    /// Relative to the study's folder.
    path: &'static str,
    bytes: &'static [u8],
    is_program: bool,
}

/// Why a study of the catalog could not be written to files.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}: {source}. Make room there, or set XDG_CACHE_HOME to another folder", path.display()
)]
pub struct UnpackError {
    path: PathBuf,
    source: io::Error,
}

/// The studies, in the order of their names.
static ENTRIES: &[CatalogEntry] = include!(concat!(env!("OUT_DIR"), "/catalog.rs"));

/// Bytes of the hash in a folder's name: enough that no two contents collide.
const NAME_BYTES: usize = 8;

/// All studies of the catalog, in the order of their names.
#[must_use]
pub fn entries() -> &'static [CatalogEntry] {
    ENTRIES
}

/// The study of this name.
#[must_use]
pub fn entry(name: &str) -> Option<&'static CatalogEntry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

/// The suggestion instead of a name that no study has, for a message.
#[must_use]
pub fn meant(name: &str) -> String {
    let known: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
    nearest::meant(name, &known)
}

impl CatalogEntry {
    /// Its description, in Markdown; empty if it has none.
    #[must_use]
    pub fn readme(&self) -> String {
        self.text("README.md").unwrap_or_default()
    }

    /// The first heading of its README, or else its name.
    #[must_use]
    pub fn title(&self) -> String {
        let readme = self.readme();
        let heading = readme.lines().find_map(|line| line.strip_prefix("# "));
        heading.unwrap_or(self.name).to_owned()
    }

    /// The content of its study file.
    ///
    /// # Errors
    /// As [`study_file::parse`].
    pub fn study(&self) -> Result<StudyFile, StudyFileError> {
        let file = Path::new(self.name).join("study.toml");
        let template = |path: &Path| {
            let text = self.text(&path.to_string_lossy());
            text.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
        };
        let text = self.text("study.toml").unwrap_or_default();
        study_file::parse(&text, &file, &template)
    }

    /// Writes its files into a folder of the cache that is named for their content, if they are not
    /// there already, and returns that folder.
    ///
    /// # Errors
    /// [`UnpackError`] when the cache cannot be written.
    pub fn unpack(&self, cache: &Path) -> Result<PathBuf, UnpackError> {
        let outer = cache.join(format!("study-{}", self.fingerprint()));
        let folder = outer.join(self.name);
        if self.is_at(&folder) {
            return Ok(folder);
        }
        let failed = |source| UnpackError {
            path: outer.clone(),
            source,
        };
        // Other processes see the complete folder or none.
        let draft = outer.with_extension(format!("{}.part", std::process::id()));
        self.write(&draft.join(self.name)).map_err(failed)?;
        if fs::rename(&draft, &outer).is_err() {
            if self.is_at(&folder) {
                // Another abx was faster, so the draft is of no use.
                let _ = fs::remove_dir_all(&draft);
                return Ok(folder);
            }
            // The folder was changed, and its name no longer matches its content.
            fs::remove_dir_all(&outer).map_err(failed)?;
            fs::rename(&draft, &outer).map_err(failed)?;
        }
        Ok(folder)
    }

    fn text(&self, path: &str) -> Option<String> {
        let file = self.files.iter().find(|file| file.path == path)?;
        String::from_utf8(file.bytes.to_vec()).ok()
    }

    fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.name);
        for file in self.files {
            for number in [file.path.len(), file.bytes.len(), file.is_program.into()] {
                hash.update((number as u64).to_le_bytes());
            }
            hash.update(file.path);
            hash.update(file.bytes);
        }
        hex(&hash.finalize()[..NAME_BYTES])
    }

    /// Whether a folder has these files, unchanged.
    fn is_at(&self, folder: &Path) -> bool {
        self.files.iter().all(|file| {
            let path = folder.join(file.path);
            fs::read(&path).is_ok_and(|bytes| bytes == file.bytes)
                && fs::metadata(&path).is_ok_and(|metadata| {
                    (metadata.permissions().mode() & 0o111 != 0) == file.is_program
                })
        })
    }

    fn write(&self, folder: &Path) -> io::Result<()> {
        for file in self.files {
            let path = folder.join(file.path);
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(&path, file.bytes)?;
            let mode = if file.is_program { 0o755 } else { 0o644 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_study_of_the_catalog_can_be_read() {
        // Method: all studies with their templates, as the program carries them, and from their
        // folders in the checkout, where links lead to each other. Each has its own title.
        let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
        assert!(entry("nginx-vs-lighttpd").is_some() && entry("no-such-study").is_none());
        for entry in entries() {
            let study = entry.study();
            let study = study.unwrap_or_else(|error| panic!("{}: {error}", entry.name));
            assert_eq!(study.name, entry.name);
            assert_ne!(entry.title(), entry.name, "its README has no heading");
            // Without its repository, nothing shows that a folder is part of a checkout.
            if studies.join("../.git").exists() {
                let of_checkout = study_file::read(&studies.join(entry.name));
                of_checkout.unwrap_or_else(|error| panic!("{}: {error}", entry.name));
            }
        }
    }

    #[test]
    fn a_folder_in_the_cache_always_has_the_content_of_its_name() {
        // Method: a study that is unpacked, unpacked again, changed, and unpacked once more.
        let cache = tempfile::tempdir().unwrap();
        let entry = entry("nginx-sendfile").unwrap();
        let folder = entry.unpack(cache.path()).unwrap();
        let file = folder.join("study.toml");
        let written = fs::metadata(&file).unwrap().modified().unwrap();
        assert_eq!(entry.unpack(cache.path()).unwrap(), folder);
        assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), written);
        let (study, _) = study_file::read(&folder).unwrap();
        assert_eq!(study.name, "nginx-sendfile");
        fs::write(&file, "changed").unwrap();
        assert_eq!(entry.unpack(cache.path()).unwrap(), folder);
        assert!(study_file::read(&folder).is_ok());
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1);
    }
}
