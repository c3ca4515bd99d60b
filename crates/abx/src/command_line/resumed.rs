//! `abx compare --resume RECORD` without a study: the command of the record is repeated.

use std::ffi::OsString;

use abx_model::HIDDEN;
use serde::Deserialize;

use super::cli::{Cli, Command};
use crate::commands::history::record_path;

/// A record's entry for its command.
#[derive(Deserialize)]
struct Recorded {
    command: Vec<String>,
}

/// The command of the record that a command line continues, followed by the flags of the command
/// line; `None` if the command line names a study, or continues no record.
///
/// # Errors
/// Why the command of the record cannot be repeated, and a remedy.
pub fn with_recorded(words: &[OsString], cli: &Cli) -> Result<Option<Vec<OsString>>, String> {
    let Command::Compare(compare) = &cli.command else {
        return Ok(None);
    };
    let Some(record) = &compare.resume.resume else {
        return Ok(None);
    };
    if !compare.words.is_empty() || !compare.rev.is_empty() {
        return Ok(None);
    }
    let recorded = read(record)?;
    let program = words.iter().take(1).cloned();
    let recorded = recorded.into_iter().skip(1).map(OsString::from);
    // The verb comes from the record.
    let flags = words.iter().skip(2).cloned();
    Ok(Some(program.chain(recorded).chain(flags).collect()))
}

/// The command of a record, if it ran a study and none of its words are hidden.
fn read(record: &str) -> Result<Vec<String>, String> {
    let path = record_path(record).map_err(|failure| failure.message)?;
    let text = abx_lab::read_text(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let Recorded { command } = serde_json::from_str(&text).map_err(|error| {
        let path = path.display();
        format!("{path} is not a record of abx ({error}): give one that `abx compare` saved")
    })?;
    let verb: Vec<&str> = command.iter().skip(1).map(String::as_str).take(2).collect();
    match verb[..] {
        ["compare", ..] | ["study", "run"] => {}
        _ => {
            return Err(format!(
                "{record} is not a record of `abx compare` or `abx study run`, and no other can be \
                 continued: measure again"
            ));
        }
    }
    if command.iter().any(|word| word.contains(HIDDEN)) {
        return Err(format!(
            "{record} does not show the secrets of its command: run that command again with \
             --resume {record}"
        ));
    }
    Ok(command)
}
