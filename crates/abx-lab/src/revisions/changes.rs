//! The changes of a working tree over its commit: changed, new and removed files.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use abx_model::hex;
use sha2::{Digest, Sha256};

use super::git::Git;
use super::revision_error::RevisionError;

/// The sorted paths of files in a working tree that differ from its commit, relative to its top.
/// Ignored files are left out.
pub struct Changes(Vec<PathBuf>);

/// How many words of `git status` precede the path of a changed entry, and of one with conflicts.
const WORDS_OF_CHANGED: usize = 8;
const WORDS_OF_UNMERGED: usize = 10;
/// The place of the word that begins with `S` for a submodule.
const PLACE_OF_SUBMODULE: usize = 2;

impl Changes {
    /// The changes of the working tree at whose top git runs.
    ///
    /// # Errors
    /// [`RevisionError`] for changes that cannot be copied: changed submodules, nested
    /// repositories.
    pub fn of(git: &Git) -> Result<Changes, RevisionError> {
        let words = [
            "status",
            "--porcelain=v2",
            "-z",
            "--no-renames",
            "--untracked-files=all",
            "--ignore-submodules=none",
        ];
        Changes::read(&git.unfiltered()?.read(&words)?)
    }

    /// The changes that `git status` printed.
    ///
    /// # Errors
    /// As [`Changes::of`].
    pub(super) fn read(bytes: &[u8]) -> Result<Changes, RevisionError> {
        let entries = bytes.split(|byte| *byte == 0);
        let paths = entries.filter(|entry| !entry.is_empty()).map(path_of);
        let mut paths = paths.collect::<Result<Vec<_>, _>>()?;
        paths.sort();
        Ok(Changes(paths))
    }

    #[cfg(any(test, fuzzing))]
    pub(super) fn paths(&self) -> &[PathBuf] {
        &self.0
    }

    /// A hash of the changed files as they are in a folder; `None` without changes.
    ///
    /// # Errors
    /// [`RevisionError::File`] for a file that cannot be read.
    pub fn digest(&self, folder: &Path) -> Result<Option<String>, RevisionError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let mut hash = Sha256::new();
        for path in &self.0 {
            add(&mut hash, path.as_os_str());
            let file_path = folder.join(path);
            let failed = |source| failed(&file_path, source);
            match content(&file_path)? {
                None => hash.update(b"-"),
                Some(metadata) if metadata.is_symlink() => {
                    hash.update(b"l");
                    let target = fs::read_link(&file_path).map_err(failed)?;
                    add(&mut hash, target.as_os_str());
                }
                Some(metadata) => {
                    let is_executable = metadata.permissions().mode() & 0o111 != 0;
                    hash.update(if is_executable { b"x" } else { b"f" });
                    let mut file = File::open(&file_path).map_err(failed)?;
                    let mut file_hash = Sha256::new();
                    io::copy(&mut file, &mut file_hash).map_err(failed)?;
                    hash.update(file_hash.finalize());
                }
            }
        }
        Ok(Some(hex(&hash.finalize())))
    }

    /// Copies the changes of the working tree `from` to `to`, a checkout of its commit.
    ///
    /// # Errors
    /// [`RevisionError::File`] for a file that cannot be read or written.
    pub fn apply(&self, from: &Path, to: &Path) -> Result<(), RevisionError> {
        // All paths are removed first: a file may have become a folder, or a folder a file.
        for path in &self.0 {
            remove(&to.join(path), to)?;
        }
        for path in &self.0 {
            let (source, target) = (from.join(path), to.join(path));
            if let Some(metadata) = content(&source)? {
                copy(&source, &metadata, &target).map_err(|error| failed(&source, error))?;
            }
        }
        Ok(())
    }
}

/// The path of an entry of `git status`.
fn path_of(entry: &[u8]) -> Result<PathBuf, RevisionError> {
    let words_before = match entry.first() {
        Some(b'?') => 1,
        Some(b'u') => WORDS_OF_UNMERGED,
        _ => WORDS_OF_CHANGED,
    };
    let is_space = |byte: &u8| *byte == b' ';
    let parts: Vec<&[u8]> = entry.splitn(words_before + 1, is_space).collect();
    let path = parts.get(words_before).copied().unwrap_or_default();
    let path = PathBuf::from(OsStr::from_bytes(path));
    let is_tracked = words_before > 1;
    if is_tracked
        && parts
            .get(PLACE_OF_SUBMODULE)
            .is_some_and(|word| word.starts_with(b"S"))
    {
        return Err(RevisionError::ChangedSubmodule(path));
    }
    if entry.ends_with(b"/") {
        return Err(RevisionError::NestedRepository(path));
    }
    // Files at these paths are removed and written in a checkout.
    let mut components = path.components();
    let is_inside = components.all(|part| matches!(part, Component::Normal(_)));
    if !is_inside || path.as_os_str().is_empty() {
        let entry = String::from_utf8_lossy(entry).into_owned();
        return Err(RevisionError::ChangedPath { entry });
    }
    Ok(path)
}

/// The metadata of the file or link at a path; `None` if there is nothing or a folder.
fn content(path: &Path) -> Result<Option<Metadata>, RevisionError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(None),
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(failed(path, error)),
    }
}

fn is_absent(error: &io::Error) -> bool {
    [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind())
}

/// Removes a file or link, and the folders below `top` that this empties.
fn remove(path: &Path, top: &Path) -> Result<(), RevisionError> {
    if content(path)?.is_none() {
        return Ok(());
    }
    fs::remove_file(path).map_err(|error| failed(path, error))?;
    let above = path.ancestors().skip(1);
    for folder in above.take_while(|folder| *folder != top) {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}

fn copy(source: &Path, metadata: &Metadata, target: &Path) -> io::Result<()> {
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder)?;
    }
    if metadata.is_symlink() {
        return symlink(fs::read_link(source)?, target);
    }
    fs::copy(source, target).map(drop)
}

/// Hashes a text with its length, so that no other sequence of texts has the same hash.
fn add(hash: &mut Sha256, text: &OsStr) {
    let bytes = text.as_bytes();
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

fn failed(path: &Path, source: io::Error) -> RevisionError {
    RevisionError::File {
        path: path.to_owned(),
        source,
    }
}
