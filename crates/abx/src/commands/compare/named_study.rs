//! A study that one word of `abx compare` names: its file, its folder, or its name in the catalog.

use std::path::{Path, PathBuf};

use abx_lab::{catalog, is_address, provision};

use super::extent::{Absent, Extent};
use crate::ui::end::Failure;

/// Where a study is, and how much of it runs.
pub struct NamedStudy {
    pub path: PathBuf,
    /// All of the study, but in a study of the catalog, absent subjects that only the user can
    /// bring are skipped.
    pub extent: Extent<'static>,
}

impl NamedStudy {
    /// The study that the words name; `None` if they name subjects.
    ///
    /// # Errors
    /// [`Failure`] if a study is named among other words, or if a study of the catalog cannot be
    /// written to the cache.
    pub fn of(words: &[String]) -> Result<Option<NamedStudy>, Failure> {
        match words {
            [word] => NamedStudy::find(word),
            words => match words.iter().find(|word| is_named(word)) {
                None => Ok(None),
                Some(word) => Err(Failure::usage(format!(
                    "`{word}` is a study, which has its own subjects: give it alone"
                ))),
            },
        }
    }

    /// A path has precedence over a name of the catalog, which has no other spelling.
    fn find(word: &str) -> Result<Option<NamedStudy>, Failure> {
        if is_path(word) {
            return Ok(Some(NamedStudy {
                path: PathBuf::from(word),
                extent: Extent::whole(word),
            }));
        }
        let Some(entry) = catalog::entry(word) else {
            return Ok(None);
        };
        let path = entry.unpack(&provision::cache_folder());
        Ok(Some(NamedStudy {
            path: path.map_err(Failure::usage)?,
            extent: Extent {
                absent: Absent::Skipped,
                ..Extent::whole(word)
            },
        }))
    }
}

fn is_named(word: &str) -> bool {
    is_path(word) || catalog::entry(word).is_some()
}

/// Whether a word is a study's file or folder rather than a subject.
pub fn is_path(word: &str) -> bool {
    let is_subject = word.contains("://") || word.contains('=') || is_address(word);
    let looks_like_path = word.contains('/') || word.ends_with(".toml");
    Path::new(word).exists() || (looks_like_path && !is_subject)
}
