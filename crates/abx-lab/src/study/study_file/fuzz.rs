//! What must hold for any text, called by the fuzz target and by property tests.

use std::path::Path;

use super::{StudyFileError, parse};

/// Parses a text that is also the text of its templates. Whatever is wrong with
/// it has a line of it, and a message on one line.
///
/// # Panics
/// When a promise is broken.
pub fn any_text(text: &str) {
    let Err(error) = parse(text, Path::new("study.toml"), &|_| Ok(text.to_owned())) else {
        return;
    };
    let StudyFileError::Content(faults) = error else {
        panic!("nothing was read from disk: {error}");
    };
    assert!(!faults.is_empty(), "an error without a fault");
    let lines = text.split('\n').count();
    for fault in faults {
        let message = fault.to_string();
        assert!((1..=lines).contains(&fault.line), "no such line: {message}");
        assert!(!message.contains('\n'), "more than one line: {message}");
    }
}
