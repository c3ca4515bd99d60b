//! `--against RECORD[:SUBJECT]`: from the word to a subject of an older record.

use std::path::Path;

use abx_lab::OlderRecord;

use crate::commands::history::record_path;
use crate::commands::saved::{SavedRecord, read};
use crate::ui::end::Failure;

/// The subject of an older record that the word names.
pub fn past(word: &str) -> Result<OlderRecord, Failure> {
    let (record, subject) = parts(word);
    let path = record_path(record)?;
    match read(&path)? {
        SavedRecord::Study(record) if record.run().is_none() => Ok(OlderRecord {
            study: record.measured,
            path: path.display().to_string(),
            subject: subject.map(str::to_owned),
        }),
        _ => Err(Failure::usage(format!(
            "{} is not the record of a study, so it has no blocks to compare with: give one \
                 that `abx compare` saved",
            path.display()
        ))),
    }
}

/// The record, and the subject behind the last colon. A file's name may hold
/// colons too.
fn parts(word: &str) -> (&str, Option<&str>) {
    match word.rsplit_once(':') {
        Some((record, subject)) if !Path::new(word).exists() && !subject.is_empty() => {
            (record, Some(subject))
        }
        _ => (word, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subject_stands_behind_the_last_colon() {
        // Method: with and without, and a file that has a colon in its name.
        assert_eq!(parts("3fa9c1"), ("3fa9c1", None));
        assert_eq!(parts("3fa9c1:nginx"), ("3fa9c1", Some("nginx")));
        assert_eq!(parts("a:b.json:nginx"), ("a:b.json", Some("nginx")));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a:b.json");
        std::fs::write(&path, "").unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(parts(path), (path, None));
    }
}
