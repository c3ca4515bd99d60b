//! A study that one word of `abx compare` names: its file, its folder, or its
//! name in the catalog.

use std::path::{Path, PathBuf};

use abx_lab::{catalog, is_address, provision};

use super::extent::{Absent, Extent};
use crate::ui::end::Failure;

/// Where a study is, and how much of it is conducted.
pub struct NamedStudy {
    pub path: PathBuf,
    /// All of it. Of a study of the catalog, subjects that only the user can
    /// bring are skipped where they are absent.
    pub extent: Extent<'static>,
}

impl NamedStudy {
    /// The study that the words name; `None` when they name subjects.
    ///
    /// # Errors
    /// [`Failure`] when a study stands beside other words, and when one of the
    /// catalog cannot be written to the cache.
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

    /// A path goes before a name of the catalog, which cannot be written otherwise.
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
    let looks_like_one = word.contains('/') || word.ends_with(".toml");
    Path::new(word).exists() || (looks_like_one && !is_subject)
}
