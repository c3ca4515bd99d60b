//! Where reports and records go.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use abx_report::Style;
use serde::Serialize;

use super::{Failure, load::LoadFlags, tell};

/// How a report may look on standard output.
pub fn style(flags: &LoadFlags) -> Style {
    style_for(flags.no_color)
}

/// The same for commands without a load.
pub fn style_for(no_color: bool) -> Style {
    let is_utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty())
        .is_some_and(|value| {
            let value = value.to_ascii_lowercase();
            value.contains("utf-8") || value.contains("utf8")
        });
    let may_color = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    Style {
        color: !no_color && may_color && io::stdout().is_terminal(),
        unicode: is_utf8,
        width: 80,
    }
}

/// Prints a report, or the record itself where that was asked for by `-`.
pub fn print(
    report: &str,
    record: &impl Serialize,
    json: Option<&str>,
    quiet: bool,
) -> Result<(), Failure> {
    match json {
        Some("-") => {
            if !quiet {
                tell(report.trim_end());
            }
            let text = serde_json::to_string(record)
                .map_err(|error| Failure::no_claim(format!("cannot write the record: {error}")))?;
            to_stdout(&format!("{text}\n"))
        }
        Some(path) => {
            to_stdout(report)?;
            abx_lab::write_whole(Path::new(path), record).map_err(|error| {
                Failure::no_claim(format!(
                    "cannot write {path}: {error}. Name a file that can be written (`--json`)"
                ))
            })
        }
        None => to_stdout(report),
    }
}

fn to_stdout(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    match written {
        // The reader has seen enough, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::no_claim(format!(
            "cannot write to standard output: {error}"
        ))),
        Ok(()) => Ok(()),
    }
}
