//! Records from elsewhere, such as those of CI jobs, taken into a folder of records:
//! [`Adding`].

use std::path::{Path, PathBuf};

use abx_study::units::hex;
use abx_verdict::history::{Entry, Outline, OutlineError};
use sha2::{Digest, Sha256};

use super::files::{ID_LETTERS, id_of_file};
use crate::records::store::write_record_text;

/// The result of adding a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Added {
    /// It is in the folder now, under this id.
    New { id: String },
    /// The folder had it already, under this id.
    Known { id: String },
}

/// Why a record was not added.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// It is no record.
    #[error(transparent)]
    NoRecord(#[from] OutlineError),
    /// The folder cannot take it.
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
    /// The records of the folder, with the id of each.
    known: Vec<(String, Outline)>,
}

impl Adding {
    /// To the records of this folder, which has these.
    pub(super) fn to(folder: &Path, listed: Vec<Entry>) -> Adding {
        let listed = listed.into_iter();
        Adding {
            folder: folder.to_owned(),
            known: listed.map(|entry| (entry.id, entry.outline)).collect(),
        }
    }

    /// Adds the record in a text, unless the folder has it: two records are the same if they agree
    /// in all that a list shows of them, which includes the millisecond of their start, their seed
    /// and their figures. The name of its file depends on the text alone.
    ///
    /// # Errors
    /// [`AddError`].
    pub fn add(&mut self, text: &str) -> Result<Added, AddError> {
        let outline = Outline::read(text)?;
        if let Some((id, _)) = { self.known.iter() }.find(|(_, known)| *known == outline) {
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

/// Letters of a hash in a file's name.
const HASH_LETTERS: usize = 16;
