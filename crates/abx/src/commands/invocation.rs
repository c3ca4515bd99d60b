//! What abx was started as: its program file, and its command line as records keep it.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::ui::end::Failure;

/// The words of the command line, without what is secret.
static RECORDED: OnceLock<Vec<String>> = OnceLock::new();

/// Keeps the words that records are to have, once for the process.
pub fn record(words: Vec<String>) {
    let _ = RECORDED.set(words);
}

/// The words as records keep them.
pub fn recorded() -> Vec<String> {
    RECORDED.get().cloned().unwrap_or_default()
}

/// The program file of abx, which it starts again for keepers and built-in servers.
pub fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::usage(format!("cannot find abx's own program file: {error}")))
}
