//! Where reports and records go.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use abx_report::Style;
use clap::Args;
use serde::Serialize;

use super::{Failure, tell};

/// Where things are said, and how.
#[derive(Debug, Clone, Args)]
pub struct OutputFlags {
    /// Save the record also here; - writes it to standard output instead of the report.
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<String>,
    /// Say nothing on standard error but errors.
    #[arg(short, long)]
    pub quiet: bool,
    /// No colour, whatever the terminal can do.
    #[arg(long)]
    pub no_color: bool,
}

/// Where the report goes as a page.
#[derive(Debug, Clone, Args)]
pub struct PageFlags {
    /// Write the report also as an HTML page: one file with plots and the record in it.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// How a report may look on standard output.
pub fn style(flags: &OutputFlags) -> Style {
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
        color: !flags.no_color && may_color && io::stdout().is_terminal(),
        unicode: is_utf8,
        width: 80,
    }
}

/// Prints a report, or the record itself where that was asked for by `-`.
pub fn print(report: &str, record: &impl Serialize, flags: &OutputFlags) -> Result<(), Failure> {
    match flags.json.as_deref() {
        Some("-") => {
            if !flags.quiet {
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

/// Writes the page where one was asked for.
pub fn write_html(page: impl FnOnce() -> String, flags: &PageFlags) -> Result<(), Failure> {
    let Some(path) = &flags.html else {
        return Ok(());
    };
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), fs::create_dir_all);
    let written = made.and_then(|()| fs::write(path, page()));
    written.map_err(|error| {
        Failure::no_claim(format!(
            "cannot write {}: {error}. Name a file that can be written (`--html`); `abx report \
             RECORD --html FILE` writes the page of a record again",
            path.display()
        ))
    })
}

/// Writes to standard output.
pub fn to_stdout(text: &str) -> Result<(), Failure> {
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
