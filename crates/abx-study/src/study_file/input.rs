//! Reads the files of a study: bounded, and on a stack for deep trees.

use std::io::{self, Read};
use std::path::Path;

use super::mistake::{Diagnostic, StudyFileError};
use crate::input_file::open_input;

/// Far above what a person writes; a longer file is another one.
const BYTES_MAX: u64 = 1_000_000;
/// Several times what the deepest tree needs that TOML's reader lets through.
const STACK_BYTES: usize = 64 << 20;

/// Gives the text of a template, or of another file, by its path beside the study file.
pub type Templates<'a> = &'a (dyn Fn(&Path) -> io::Result<String> + Sync);

/// Does what may need many levels of calls.
///
/// SUBTLE: keys joined by points inside of tables in braces make a tree of
/// thousands of levels, and it is taken down by recursion.
pub(super) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        match thread.spawn_scoped(scope, work)?.join() {
            Ok(done) => Ok(done),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

pub(super) fn read_bounded(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more tells a file that is too long.
    open_input(file)?
        .take(BYTES_MAX + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(super) fn read_template(file: &Path) -> io::Result<String> {
    let bytes = read_bounded(file)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(io::Error::other(format!("longer than {BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("no UTF-8 text"))
}

/// The text of a study file or scenario file.
pub(super) fn file_text(file: &Path, bytes: Vec<u8>) -> Result<String, StudyFileError> {
    check_length(file, bytes.len())?;
    String::from_utf8(bytes)
        .map_err(|_| whole_file(file, "the file is not UTF-8 text: is it the right one?"))
}

/// Refuses a text that is longer than what a person writes.
pub(super) fn check_length(file: &Path, bytes: usize) -> Result<(), StudyFileError> {
    if bytes as u64 <= BYTES_MAX {
        return Ok(());
    }
    let wrong = format!("the file is longer than {BYTES_MAX} bytes: is it the right one?");
    Err(whole_file(file, &wrong))
}

pub(super) fn whole_file(file: &Path, wrong: &str) -> StudyFileError {
    StudyFileError::Content(vec![Diagnostic {
        file: file.to_owned(),
        line: 1,
        place: None,
        wrong: wrong.to_owned(),
    }])
}
