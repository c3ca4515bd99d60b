//! `abx history`: the records that are kept, found again.

use std::path::{Path, PathBuf};

use abx_lab::history::{Archive, HistoryError, Query, resolve, short_id_of_file};
use abx_lab::{Store, state_folder};
use clap::Args;

use crate::flags::output::{self, OutputFlags, print, style};
use crate::flags::saved_file::SavedFile;
use crate::ui::end::{End, Failure, tell};

/// List saved records, newest first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx history\n  \
    abx history nginx --limit 5\n  \
    abx report 3fa9c1\n  \
    abx report last\n\n\
    Wherever a record is expected, its id will do, or the first four letters of it, or last for \
    the newest record and last~1 for the one before it.")]
#[command(mut_arg("json", |json| output::saves(json, "the list")))]
pub struct HistoryArgs {
    /// Only records that contain this text in a subject (name, version, command, address),
    /// load, file name or id.
    #[arg(value_name = "SUBJECT|TEXT")]
    text: Option<String>,
    /// List at most this many records.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = limit)]
    limit: usize,
    /// Also list studies that failed before anything was measured.
    #[arg(long)]
    all: bool,
    /// Rebuild the index from all records, instead of updating it.
    #[arg(long)]
    rebuild: bool,
    #[command(flatten)]
    output: OutputFlags,
}

fn limit(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|limit| *limit > 0);
    count.ok_or_else(|| format!("`{text}` is not a number of records: give one such as 20"))
}

/// Brings the index up to date and prints the list.
pub fn history(history: &HistoryArgs) -> Result<End, Failure> {
    let folder = state_folder();
    let archive = if history.rebuild {
        Archive::rebuild(&folder)
    } else {
        Archive::open(&folder)
    };
    let archive = archive.map_err(Failure::usage)?;
    if let Some(problem) = archive.problem() {
        tell(&format!("abx: {problem}"));
    }
    let query = Query {
        text: history.text.clone(),
        limit: Some(history.limit),
        with_unmeasured: history.all,
    };
    let found_history = archive.list(&query).map_err(Failure::no_claim)?;
    let text = abx_report::history_text(&found_history, &style(&history.output));
    print(&text, &found_history, &history.output)?;
    Ok(End::Done)
}

/// The record that a word names: a file, the id of a record that is kept, or `last`.
pub fn record_path(word: &str) -> Result<PathBuf, Failure> {
    resolve(word, &state_folder()).map_err(Failure::usage)
}

/// What a record that was saved can be named by: its id, or its path where it is not among
/// the others.
pub fn name_of(store: &Store) -> String {
    let path = store.path();
    match (
        store.moved(),
        path.file_name().and_then(|name| name.to_str()),
    ) {
        (None, Some(name)) => short_id_of_file(name),
        _ => path.display().to_string(),
    }
}

/// The file of a record that was saved.
pub fn file_of(store: &Store) -> SavedFile {
    saved_file(store.path())
}

/// A record's file, named by its id if it is among the others, or else by its own name.
pub fn saved_file(path: &Path) -> SavedFile {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = |path: &Path| path.canonicalize().ok();
    let is_kept = path
        .parent()
        .and_then(folder)
        .is_some_and(|parent| Some(parent) == folder(&state_folder()));
    SavedFile {
        name: if is_kept {
            short_id_of_file(&name)
        } else {
            name.into_owned()
        },
        path: path.to_owned(),
    }
}

/// Takes note of a record that was saved. What was measured is safe already, so
/// a failure is told and nothing else.
pub fn note(store: &Store) {
    if store.moved().is_some() {
        // It is not among the others, and that was told.
        return;
    }
    let problem = match Archive::open(&state_folder()) {
        Ok(archive) => archive.problem().map(HistoryError::to_string),
        Err(error) => Some(error.to_string()),
    };
    if let Some(problem) = problem {
        tell(&format!("abx: {problem}"));
    }
}
