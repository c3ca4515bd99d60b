//! Why records cannot be found, and the remedy.

use std::path::PathBuf;

use rusqlite::ErrorCode;

/// Why records cannot be found.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error(
        "cannot read the records in {}: {source}. Make the folder readable, or set \
         XDG_STATE_HOME to another", folder.display()
    )]
    Folder {
        folder: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "cannot keep the index {}: {source}. The records are intact; {}",
        path.display(), remedy(source)
    )]
    Index {
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error(
        "cannot lock {} to rebuild its damaged index: {source}. The records are intact; set \
         XDG_STATE_HOME to another folder", folder.display()
    )]
    Lock {
        folder: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "there is no file `{word}`, and no record has that id: `abx history` lists the ids, and \
         `last` is the newest record"
    )]
    NoRecord { word: String },
    #[error(
        "`{word}`: there are no records yet: `abx run URL` and `abx compare` save one each, and \
         `abx history` lists them"
    )]
    Empty { word: String },
    #[error(
        "there is no record of a study `{word}`{}: give the name of a study file, or of a subject \
         from the command line",
        known_studies(studies)
    )]
    NoStudy {
        word: String,
        /// The studies of the records that there are.
        studies: Vec<String>,
    },
    #[error(
        "there is no record `{word}`: {}. `abx history` lists the records",
        kept(*.count)
    )]
    NotSoMany { word: String, count: usize },
    #[error(
        "several records have ids that begin with `{word}`: {}. Give more characters of the id",
        files.join(", ")
    )]
    Several {
        word: String,
        /// The ids and names of the files that match.
        files: Vec<String>,
    },
}

fn known_studies(studies: &[String]) -> String {
    match studies {
        [] => String::new(),
        _ => format!(" (there are records of {})", studies.join(", ")),
    }
}

fn kept(count: usize) -> String {
    match count {
        1 => "only 1 is kept".to_owned(),
        _ => format!("only {count} are kept"),
    }
}

/// The remedy for an index that cannot be kept.
fn remedy(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "make room there",
        Some(
            ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::SystemIoFailure,
        ) => "make the folder writable, or set XDG_STATE_HOME to another",
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another abx holds it: try again when that has ended"
        }
        _ => "rebuild it with `abx history --rebuild`",
    }
}
