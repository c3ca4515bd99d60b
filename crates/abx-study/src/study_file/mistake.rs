//! Why a study file is refused: the place, the error, and a replacement.

use std::fmt;
use std::path::PathBuf;

/// How many faults a message lists; more are counted.
const LISTED: usize = 10;

/// Why a study file is refused. Nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum StudyFileError {
    #[error(
        "{}: cannot be read ({source}): name a study.toml, or the folder that holds one",
        path.display()
    )]
    Read {
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    #[error("{}", listed(.0))]
    Content(Vec<Diagnostic>),
}

/// One thing that is wrong in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// The study file, or a template.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The table that it stands in, such as `subject "nginx"`; `None` outside of lists of tables.
    pub place: Option<String>,
    /// The error, and a replacement; on one line.
    pub wrong: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: ", self.file.display(), self.line)?;
        if let Some(place) = &self.place {
            write!(formatter, "{place}: ")?;
        }
        write!(formatter, "{}", self.wrong)
    }
}

fn listed(faults: &[Diagnostic]) -> String {
    let mut lines: Vec<String> = faults
        .iter()
        .take(LISTED)
        .map(ToString::to_string)
        .collect();
    if faults.len() > LISTED {
        lines.push(format!("and {} more like these", faults.len() - LISTED));
    }
    lines.join("\n")
}

/// The end of a message: an example of a key.
pub fn such_as(example: Option<String>) -> String {
    example.map_or(String::new(), |example| format!(", for example {example}"))
}

/// A text of the file for a message: without control characters, and cut if it is long.
pub fn short(text: &str) -> String {
    const LETTERS: usize = 60;
    let plain = |letter: char| {
        if letter.is_control() {
            '\u{fffd}'
        } else {
            letter
        }
    };
    let mut short: String = text.chars().take(LETTERS).map(plain).collect();
    if text.chars().nth(LETTERS).is_some() {
        short.push('…');
    }
    short
}
