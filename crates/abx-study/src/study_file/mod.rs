//! Study files: the subjects of a comparison and its loads, written down once.
//!
//! [`read`] takes a file from disk, [`parse`] a text. TOML becomes a tree (`document`), the tree is
//! compared with the JSON Schema of the types in `raw` (`conform`), and their values are checked
//! and given their meaning (`check`). Nothing is started, looked up or installed here. Every key is
//! in docs/reference/study-file.md.

mod check;
mod commands;
mod conform;
mod document;
mod input;
mod key_position;
mod mistake;
mod model;
pub mod nearest;
mod raw;
mod raw_from;
mod raw_request;
mod raw_scenario;
mod unit;

use std::path::{Path, PathBuf};

pub use check::scenario_file as scenario;
pub use commands::StudyCommand;
pub use conform::{key_suits, schema};
pub use input::Templates;
pub use mistake::{Diagnostic, StudyFileError};
pub use model::{Need, RevisionSpec, RunSpec, ServerSpec, ServiceSpec, StudyFile, SubjectSpec};

use document::TomlDocument;
use input::{check_length, file_text, on_large_stack, read_bounded, read_within, whole_file};
use key_position::KeyPosition;

/// The study file of a folder, which gives the study its name.
const FILE_NAME: &str = "study.toml";

/// Reads a text. `file` is only for messages and for the study's name.
///
/// # Errors
/// [`StudyFileError::Content`]: all unknown keys and wrong types at once, else
/// the first thing that does not fit.
pub fn parse(text: &str, file: &Path, templates: Templates) -> Result<StudyFile, StudyFileError> {
    check_length(file, text.len())?;
    on_large_stack(|| parse_tree(text, file, templates)).unwrap_or_else(|source| {
        Err(StudyFileError::Read {
            path: file.to_owned(),
            source,
        })
    })
}

/// Reads a study file, or the `study.toml` of a folder, and its templates.
/// Returns also the study's folder, as an absolute path.
///
/// # Errors
/// [`StudyFileError::Read`] when there is no such file, else as [`parse`].
pub fn read(path: &Path) -> Result<(StudyFile, PathBuf), StudyFileError> {
    let file = file(path);
    let unreadable = |source| StudyFileError::Read {
        path: file.clone(),
        source,
    };
    let text = file_text(&file, read_bounded(&file).map_err(unreadable)?)?;
    // An absolute path has the folder's name even if the path was `.`.
    let absolute = file.canonicalize().map_err(unreadable)?;
    let folder = absolute.parent().unwrap_or(Path::new("/"));
    let template = |path: &Path| read_within(folder, path);
    let mut study = parse(&text, &file, &template)?;
    study.name = name(&absolute);
    Ok((study, folder.to_owned()))
}

/// The study file that a path names: itself, or the `study.toml` of a folder.
#[must_use]
pub fn file(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(FILE_NAME)
    } else {
        path.to_owned()
    }
}

fn parse_tree(text: &str, file: &Path, templates: Templates) -> Result<StudyFile, StudyFileError> {
    let document = TomlDocument::parse(file, text)?;
    if document.root().is_empty() {
        return Err(whole_file(
            file,
            "the file is empty: it needs a [[subject]] and a [[load]]; `abx study show NAME` prints \
             an example",
        ));
    }
    let faults = conform::conform(&document);
    if !faults.is_empty() {
        return Err(StudyFileError::Content(faults));
    }
    let raw = document.read()?;
    check::check(raw, name(file), &KeyPosition::top(&document), templates)
        .map_err(|fault| StudyFileError::Content(vec![fault]))
}

/// A study is named after its folder if the file has the usual name, else after the file.
fn name(file: &Path) -> String {
    let is_usual = file.file_name().is_some_and(|name| name == FILE_NAME);
    let folder = file.parent().and_then(Path::file_name);
    let named = if is_usual { folder } else { None };
    let named = named.or_else(|| file.file_stem());
    named.unwrap_or_default().to_string_lossy().into_owned()
}
