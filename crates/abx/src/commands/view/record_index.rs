//! The records that are shown, found by id alone: no path ever comes from a URL.

use std::collections::BTreeSet;
use std::path::PathBuf;

use abx_evidence::OutputKind;
use abx_lab::history::{Archive, HistoryError, Query, find, id_of_file, short_id_of_file};
use abx_lab::read_text;
use abx_verdict::history::{Entry, History, Outline, UnreadFile};

/// Where the records are.
#[derive(Debug)]
pub enum RecordIndex {
    /// All records in this folder.
    Folder(PathBuf),
    /// The records that were named on the command line.
    Files(Vec<NamedFile>),
}

/// A record that was named on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    id: String,
    path: PathBuf,
}

/// The most records that one list shows.
const LISTED_MOST: usize = 500;

impl NamedFile {
    /// These files, each with its own id. A file that was named twice is listed once.
    pub fn all(paths: Vec<PathBuf>) -> Vec<NamedFile> {
        let mut ids = BTreeSet::new();
        let mut files: Vec<NamedFile> = Vec::new();
        for path in paths {
            if files.iter().any(|file| file.path == path) {
                continue;
            }
            // The id is that of `abx history`. Whole paths distinguish files of the same name in
            // several folders.
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let by_path = id_of_file(&path.to_string_lossy());
            let candidates = [&short_id_of_file(&name), &by_path];
            let free = candidates.into_iter().find(|id| !ids.contains(*id));
            let id = free.unwrap_or(&by_path).to_owned();
            ids.insert(id.clone());
            files.push(NamedFile { id, path });
        }
        files
    }
}

impl RecordIndex {
    /// The records that contain `text`, or all records, newest first.
    pub fn list(&self, text: Option<&str>) -> Result<History, HistoryError> {
        match self {
            RecordIndex::Folder(folder) => Archive::open(folder)?.list(&Query {
                text: text.map(str::to_owned),
                limit: Some(LISTED_MOST),
                ..Query::default()
            }),
            RecordIndex::Files(files) => Ok(list(files)),
        }
    }

    /// The file of the record with this id.
    pub fn find(&self, id: &str) -> Result<PathBuf, HistoryError> {
        match self {
            RecordIndex::Folder(folder) => find(id, folder),
            RecordIndex::Files(files) => files
                .iter()
                .find(|file| file.id.eq_ignore_ascii_case(id))
                .map(|file| file.path.clone())
                .ok_or_else(|| HistoryError::NoRecord {
                    word: id.to_owned(),
                }),
        }
    }
}

/// The current content of the named files.
fn list(files: &[NamedFile]) -> History {
    let mut history = History {
        head: OutputKind::History.into(),
        folder: String::new(),
        entries: Vec::new(),
        left_out: 0,
        unmeasured: 0,
        unread: Vec::new(),
    };
    for NamedFile { id, path } in files {
        let file = path.display().to_string();
        let outline = read_text(path)
            .map_err(|error| error.to_string())
            .and_then(|text| Outline::read(&text).map_err(|error| error.to_string()));
        match outline {
            Ok(outline) => history.entries.push(Entry {
                id: id.clone(),
                file,
                outline,
            }),
            Err(why) => history.unread.push(UnreadFile { file, why }),
        }
    }
    history
        .entries
        .sort_by_key(|entry| std::cmp::Reverse(entry.outline.started_unix_ms));
    history
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_has_an_id_of_its_own() {
        // Method: a file, the same file again, one of the same name elsewhere, and another one.
        let paths = ["a/x.json", "a/x.json", "b/x.json", "a/y.json"].map(PathBuf::from);
        let files = NamedFile::all(paths.into());
        let ids: BTreeSet<&str> = files.iter().map(|file| file.id.as_str()).collect();
        assert_eq!((files.len(), ids.len()), (3, 3));
        assert_eq!(files[0].id, short_id_of_file("x.json"));
        let index = RecordIndex::Files(files.clone());
        let path = index.find(&files[1].id).unwrap();
        assert_eq!(path, PathBuf::from("b/x.json"));
        assert!(index.find("a/x.json").is_err());
    }
}
