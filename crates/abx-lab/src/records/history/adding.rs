//! Adds records from elsewhere, such as those of CI jobs, to a folder of records: [`Adding`].

use std::path::{Path, PathBuf};

use abx_model::hex;
use abx_verdict::history::{Entry, Outline, OutlineError};
use sha2::{Digest, Sha256};

use super::files::{ID_LETTERS, id_of_file};
use crate::records::store::write_record_text;

/// The result of adding a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Added {
    /// The record is in the folder now, under this id.
    New { id: String },
    /// The record was in the folder already, under this id.
    Known { id: String },
}

/// Why a record was not added.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// The text is no record.
    #[error(transparent)]
    NoRecord(#[from] OutlineError),
    /// The record cannot be written to the folder.
    #[error(
        "cannot write {}: {source}. Make the folder writable, or set XDG_STATE_HOME to another",
        path.display()
    )]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
}

/// A folder of records to which others are added.
pub struct Adding {
    folder: PathBuf,
    /// The records in the folder, each with its id.
    known: Vec<(String, Outline)>,
}

impl Adding {
    /// Prepares a folder that has these records.
    pub(super) fn to(folder: &Path, entries: Vec<Entry>) -> Adding {
        let entries = entries.into_iter();
        Adding {
            folder: folder.to_owned(),
            known: entries.map(|entry| (entry.id, entry.outline)).collect(),
        }
    }

    /// Adds the record in a text, unless the folder has it already. Two records are the same if
    /// their entries in a list are equal, which include the millisecond of their start, their seed
    /// and their figures. The name of the new file depends only on the text.
    ///
    /// # Errors
    /// [`AddError`].
    pub fn add(&mut self, text: &str) -> Result<Added, AddError> {
        let outline = Outline::read(text)?;
        let mut known = self.known.iter();
        if let Some((id, _)) = known.find(|(_, known)| *known == outline) {
            return Ok(Added::Known { id: id.clone() });
        }
        let hash = hex(&Sha256::digest(text.as_bytes()));
        let seconds = outline.started_unix_ms / 1_000;
        let name = format!("added-{seconds}-{}.json.zst", &hash[..HASH_LETTERS]);
        let path = self.folder.join(&name);
        write_record_text(&path, text).map_err(|source| AddError::Write { path, source })?;
        let id = id_of_file(&name)[..ID_LETTERS].to_owned();
        self.known.push((id.clone(), outline));
        Ok(Added::New { id })
    }
}

/// The letters of the hash in a file's name.
const HASH_LETTERS: usize = 16;
