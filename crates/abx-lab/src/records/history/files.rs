//! The files of a folder of records: names, ids, and the stamps that show changes.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io};

use abx_study::units::hex;
use abx_verdict::history::Outline;
use sha2::{Digest, Sha256};

use super::error::HistoryError;
use crate::records::file::read_text;

/// Letters of an id that are shown.
pub(super) const ID_LETTERS: usize = 6;
/// The fewest letters that name a record.
pub(super) const ID_LETTERS_LEAST: usize = 4;

/// The folder of searches for commits, in that of the records.
pub const SEARCHES: &str = "bisect";

/// How the names of records end.
const ENDINGS: [&str; 2] = [".json", ".json.zst"];

/// A record's file, as the index has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KnownFile {
    pub(super) name: String,
    /// Changes whenever the file does.
    pub(super) stamp: String,
}

/// The id of the record in a file of this name: it needs no index, and stays the same when that is
/// made again.
#[must_use]
pub fn id_of_file(name: &str) -> String {
    hex(&Sha256::digest(name.as_bytes()))
}

/// Whether a word may be the beginning of an id.
pub(super) fn is_id(word: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_digit() || ('a'..='f').contains(&letter);
    (ID_LETTERS_LEAST..=64).contains(&word.len()) && word.chars().all(is_letter)
}

/// The names of the files in a folder that may hold records.
pub(super) fn file_names(folder: &Path) -> Result<Vec<String>, HistoryError> {
    Ok(files(folder)?.into_iter().map(|file| file.name).collect())
}

/// The files in a folder that may hold records, those of searches under the name of their
/// own folder.
pub(super) fn files(folder: &Path) -> Result<Vec<KnownFile>, HistoryError> {
    let failed = |source| HistoryError::Folder {
        folder: folder.to_owned(),
        source,
    };
    let mut known_files = Vec::new();
    add_files(folder, "", &mut known_files).map_err(failed)?;
    match add_files(
        &folder.join(SEARCHES),
        &format!("{SEARCHES}/"),
        &mut known_files,
    ) {
        // Without a search there is no such folder.
        Err(error)
            if !matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Err(failed(error))
        }
        _ => Ok(known_files),
    }
}

/// Adds the files of one folder, whose names begin so.
fn add_files(folder: &Path, prefix: &str, known_files: &mut Vec<KnownFile>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // A file that has vanished since the folder was read is no longer there.
        let Ok(about) = fs::metadata(entry.path()) else {
            continue;
        };
        // Names that abx gives are text; one that is not cannot be listed.
        if let Some(name) = entry.file_name().to_str()
            && about.is_file()
            && ENDINGS.iter().any(|ending| name.ends_with(ending))
        {
            known_files.push(KnownFile {
                name: format!("{prefix}{name}"),
                stamp: stamp(&about),
            });
        }
    }
    Ok(())
}

/// A file that is replaced by rename has another inode, also within a tick of
/// the file system's clock.
fn stamp(about: &fs::Metadata) -> String {
    let (inode, bytes) = (about.ino(), about.size());
    let (seconds, ns) = (about.mtime(), about.mtime_nsec());
    format!("{inode}:{bytes}:{seconds}.{ns:09}")
}

/// The content of a file.
pub(super) enum FileContents {
    Record(Box<Outline>),
    /// Something else, and why it is that.
    Other(String),
    /// It could not be looked at this time.
    Unknown(String),
    /// It is no longer there.
    Nothing,
}

pub(super) fn read(folder: &Path, name: &str) -> FileContents {
    match read_text(&folder.join(name)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => FileContents::Nothing,
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            FileContents::Other(error.to_string())
        }
        Err(error) => FileContents::Unknown(error.to_string()),
        Ok(text) => match Outline::read(&text) {
            Ok(outline) => FileContents::Record(Box::new(outline)),
            Err(error) => FileContents::Other(error.to_string()),
        },
    }
}
