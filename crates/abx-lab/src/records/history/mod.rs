//! Finds saved records again: lists them, searches them, and resolves their ids.
//!
//! The files are the truth. [`Archive`] reads them through an index next to them, which is only a
//! cache: if it is missing, damaged, of another version or not writable, the results are the same
//! and take longer.

mod adding;
mod error;
mod files;
mod index;

use std::path::{Path, PathBuf};

use abx_evidence::OutputKind;
use abx_verdict::Metric;
use abx_verdict::history::{Entry, History};
use abx_verdict::trend::{Trend, TrendRecord};

use files::{ID_LETTERS, ID_LETTERS_LEAST, file_names, is_id};
use index::{Index, Listing, Refresh};

use crate::records::file::read_text;

pub use adding::{AddError, Added, Adding};
pub use error::HistoryError;
pub use files::{SEARCHES, id_of_file};
pub use index::Query;

/// The records of a folder, with an index that is up to date.
pub struct Archive {
    folder: PathBuf,
    index: Index,
    problem: Option<HistoryError>,
}

impl Archive {
    /// Opens a folder, and indexes each file that is new, changed or gone since the last time.
    ///
    /// Several processes may do so at once; they wait for each other.
    ///
    /// # Errors
    /// [`HistoryError::Folder`]. A problem with the index alone is no error, but in
    /// [`Archive::problem`].
    pub fn open(folder: &Path) -> Result<Archive, HistoryError> {
        Archive::read(folder, Refresh::Changed)
    }

    /// Opens a folder, and reads every file again.
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub fn rebuild(folder: &Path) -> Result<Archive, HistoryError> {
        Archive::read(folder, Refresh::Every)
    }

    fn read(folder: &Path, refresh: Refresh) -> Result<Archive, HistoryError> {
        let index = if folder.is_dir() {
            Index::open_in(folder).and_then(|index| index.refreshed(folder, refresh))
        } else {
            // Nothing was ever measured, and a query must not create the folder.
            Index::in_memory()
        };
        let (index, problem) = match index {
            Ok(index) => (index, None),
            Err(problem @ (HistoryError::Index { .. } | HistoryError::Lock { .. })) => {
                let index = Index::in_memory()?.refreshed(folder, Refresh::Every)?;
                (index, Some(problem))
            }
            Err(error) => return Err(error),
        };
        Ok(Archive {
            folder: folder.to_owned(),
            index,
            problem,
        })
    }

    /// Why the index could not be used; the list is complete all the same.
    #[must_use]
    pub fn problem(&self) -> Option<&HistoryError> {
        self.problem.as_ref()
    }

    /// How the figures of a study of this name changed, over its newest records.
    ///
    /// # Errors
    /// [`HistoryError::NoStudy`] without any record of it, and [`HistoryError::Index`].
    pub fn trend(
        &self,
        study: &str,
        metric: Option<Metric>,
        limit: usize,
    ) -> Result<Trend, HistoryError> {
        let mut entries = self.list(&Query::default())?.entries;
        let mut studies: Vec<String> = entries
            .iter()
            .filter_map(|entry| entry.outline.study.clone())
            .collect();
        entries.retain(|entry| entry.outline.is_of_study(study));
        if entries.is_empty() {
            studies.sort_unstable();
            studies.dedup();
            return Err(HistoryError::NoStudy {
                word: study.to_owned(),
                studies,
            });
        }
        let left_out = entries.len().saturating_sub(limit);
        entries.truncate(limit);
        let read = |entry: Entry| {
            // A record that was removed or damaged since it was listed has no part in the trend.
            let text = read_text(&self.folder.join(&entry.file)).ok()?;
            TrendRecord::read(entry.id, &text, metric).ok()
        };
        let records = entries.into_iter().filter_map(read).collect();
        Ok(Trend::of(study, records, left_out))
    }

    /// Prepares to add records from elsewhere to the folder.
    ///
    /// # Errors
    /// [`HistoryError::Index`].
    pub fn adding(&self) -> Result<Adding, HistoryError> {
        let query = Query {
            with_unmeasured: true,
            ..Query::default()
        };
        Ok(Adding::to(&self.folder, self.list(&query)?.entries))
    }

    /// The records that a query selects, newest first.
    ///
    /// # Errors
    /// [`HistoryError::Index`].
    pub fn list(&self, query: &Query) -> Result<History, HistoryError> {
        let Listing {
            entries,
            left_out,
            unmeasured,
            unread,
        } = self.index.find(query)?;
        Ok(History {
            head: OutputKind::History.into(),
            folder: self.folder.display().to_string(),
            entries,
            left_out,
            unmeasured,
            unread,
        })
    }
}

/// The file of the record that a word names. The word is a path, the id of a record in the folder,
/// `last` for the newest record, or `last~1` for the one before it. The first four letters of an id
/// are enough if no other id begins with them.
///
/// # Errors
/// [`HistoryError::NoRecord`] and [`HistoryError::Several`] for a word that looks like an id;
/// [`HistoryError::NotSoMany`] and an error of the list for `last`. Any other word is returned as a
/// path, whether the file exists or not.
pub fn resolve(word: &str, folder: &Path) -> Result<PathBuf, HistoryError> {
    let path = PathBuf::from(word);
    if path.exists() {
        return Ok(path);
    }
    match counted_back(word) {
        Some(back) => newest(word, back, folder),
        None if is_id(&word.to_ascii_lowercase()) => find(word, folder),
        // A word with neither a folder nor an extension may be a mistyped id.
        None if !word.contains(['/', '.']) => Err(HistoryError::NoRecord {
            word: word.to_owned(),
        }),
        None => Ok(path),
    }
}

/// How many newer records there are than the one that a word such as `last~1` names.
fn counted_back(word: &str) -> Option<usize> {
    match word.strip_prefix("last")? {
        "" => Some(0),
        back => back.strip_prefix('~')?.parse().ok(),
    }
}

/// The record that comes `back` places after the newest one.
fn newest(word: &str, back: usize, folder: &Path) -> Result<PathBuf, HistoryError> {
    let query = Query {
        limit: Some(back.saturating_add(1)),
        ..Query::default()
    };
    let entries = Archive::open(folder)?.list(&query)?.entries;
    match entries.get(back) {
        Some(entry) => Ok(folder.join(&entry.file)),
        None if entries.is_empty() => Err(HistoryError::Empty {
            word: word.to_owned(),
        }),
        None => Err(HistoryError::NotSoMany {
            word: word.to_owned(),
            count: entries.len(),
        }),
    }
}

/// The record in the folder whose id begins with a word. The word may come from an untrusted
/// source, since it is never used as a path.
///
/// # Errors
/// [`HistoryError::NoRecord`], also for a word that is no id, and
/// [`HistoryError::Several`].
pub fn find(word: &str, folder: &Path) -> Result<PathBuf, HistoryError> {
    let id = word.to_ascii_lowercase();
    let word = word.to_owned();
    if !is_id(&id) {
        return Err(HistoryError::NoRecord { word });
    }
    let mut names: Vec<String> = if folder.is_dir() {
        file_names(folder)?
    } else {
        Vec::new()
    };
    names.retain(|name| id_of_file(name).starts_with(&id));
    match &names[..] {
        [] => Err(HistoryError::NoRecord { word }),
        [name] => Ok(folder.join(name)),
        names => Err(HistoryError::Several {
            word,
            files: names
                .iter()
                .map(|name| format!("{} ({name})", &id_of_file(name)[..2 * ID_LETTERS_LEAST + 4]))
                .collect(),
        }),
    }
}

/// The first letters of [`id_of_file`], as lists show them.
#[must_use]
pub fn short_id_of_file(name: &str) -> String {
    id_of_file(name)[..ID_LETTERS].to_owned()
}
