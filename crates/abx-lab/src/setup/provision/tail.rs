//! The end of a log, fit for a terminal.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Lines that a message shows.
const LINES: usize = 12;
/// More than this is never read, however long the lines are.
const BYTES_MAX: u64 = 16 * 1024;

/// The last lines of a log; empty when it cannot be read.
pub fn tail(log: &Path) -> String {
    let bytes = read_end(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<String> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(harmless)
        .collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

fn read_end(log: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(BYTES_MAX)))?;
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A line without characters that act on a terminal; of a progress line that
/// was drawn over and over, the last one.
fn harmless(line: &str) -> String {
    let line = line.trim_end().rsplit('\r').next().unwrap_or_default();
    let replace = |character: char| match character {
        '\t' => ' ',
        one if one.is_control()
            || matches!(one, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') =>
        {
            '\u{fffd}'
        }
        one => one,
    };
    line.chars().map(replace).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_shown_and_cannot_act() {
        // Method: more lines than are shown, an escape sequence, a progress
        // line, an empty line, and a byte that is not UTF-8.
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut bytes = "line\n".repeat(20).into_bytes();
        bytes.extend(b"\x1b[31mred\n10 %\r20 %\r\n\n\xffend");
        std::fs::write(file.path(), bytes).unwrap();
        let shown = tail(file.path());
        assert_eq!(shown.lines().count(), LINES);
        assert!(
            shown.ends_with("line\n\u{fffd}[31mred\n20 %\n\u{fffd}end"),
            "{shown}"
        );
    }

    #[test]
    fn a_huge_log_is_not_read_whole() {
        // Method: one line that is longer than the bound, and no log at all.
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![b'a'; 100_000]).unwrap();
        assert_eq!(tail(file.path()).len() as u64, BYTES_MAX);
        assert_eq!(tail(&file.path().join("no")), "");
    }
}
