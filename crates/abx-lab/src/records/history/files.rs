//! The files of a folder of records: names, ids, and the stamps that show changes.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io};

use abx_model::hex;
use abx_verdict::history::Outline;
use sha2::{Digest, Sha256};

use super::error::HistoryError;
use crate::records::file::read_text;

/// The letters of an id that lists show.
pub(super) const ID_LETTERS: usize = 6;
/// The fewest letters that can name a record.
pub(super) const ID_LETTERS_LEAST: usize = 4;

/// The folder of searches for commits, in the folder of records.
pub const SEARCHES: &str = "bisect";

const ENDINGS: [&str; 2] = [".json", ".json.zst"];

/// A record's file, as the index knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KnownFile {
    pub(super) name: String,
    /// Changes whenever the file does.
    pub(super) stamp: String,
}

/// The id of the record in a file of this name. It needs no index, and stays the same if the index
/// is rebuilt.
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

/// The files in a folder that may hold records. The names of searches include their folder.
pub(super) fn files(folder: &Path) -> Result<Vec<KnownFile>, HistoryError> {
    let failed = |source| HistoryError::Folder {
        folder: folder.to_owned(),
        source,
    };
    let mut known_files = Vec::new();
    add_files(folder, "", &mut known_files).map_err(failed)?;
    let searches = folder.join(SEARCHES);
    match add_files(&searches, &format!("{SEARCHES}/"), &mut known_files) {
        // There is no such folder before the first search.
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

/// Adds the files of one folder, with a prefix for their names.
fn add_files(folder: &Path, prefix: &str, known_files: &mut Vec<KnownFile>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // A file that has vanished since the folder was read is no longer there.
        let Ok(metadata) = fs::metadata(entry.path()) else {
            continue;
        };
        // Names that abx gives are valid Unicode. A list cannot show any other.
        if let Some(name) = entry.file_name().to_str()
            && metadata.is_file()
            && ENDINGS.iter().any(|ending| name.ends_with(ending))
        {
            known_files.push(KnownFile {
                name: format!("{prefix}{name}"),
                stamp: stamp(&metadata),
            });
        }
    }
    Ok(())
}

/// Identifies the content of a file. A file that a rename has replaced has another inode, even
/// within a tick of the file system's clock.
fn stamp(metadata: &fs::Metadata) -> String {
    let (inode, bytes) = (metadata.ino(), metadata.size());
    let (seconds, ns) = (metadata.mtime(), metadata.mtime_nsec());
    format!("{inode}:{bytes}:{seconds}.{ns:09}")
}

pub(super) enum FileContents {
    Record(Box<Outline>),
    /// The file is no record, and this is why.
    Other(String),
    /// The file could not be read this time, and this is why.
    Unknown(String),
    /// The file is no longer there.
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
