//! The end of a log file, fit for a terminal.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use abx_ledger::is_hidden;

/// Lines of a log that a message shows.
pub const SHOWN_LINES: usize = 12;
/// The most that is read, however long the lines are.
const TAIL_BYTES_MAX: u64 = 64 * 1024;

/// The last `lines` non-empty lines of a file after its first `start` bytes.
///
/// # Errors
/// When the file cannot be read.
pub fn log_tail(path: &Path, start: u64, lines: usize) -> io::Result<String> {
    let mut file = File::open(path)?;
    let end = file.metadata()?.len();
    // A log that its server truncated begins again.
    let start = if start > end { 0 } else { start };
    file.seek(SeekFrom::Start(
        start.max(end.saturating_sub(TAIL_BYTES_MAX)),
    ))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(last_lines(&String::from_utf8_lossy(&bytes), lines))
}

fn last_lines(text: &str, lines: usize) -> String {
    let has_text = |line: &&str| !line.trim().is_empty();
    let with_text: Vec<&str> = text.lines().filter(has_text).collect();
    let last: Vec<String> = with_text[with_text.len().saturating_sub(lines)..]
        .iter()
        .map(|line| harmless(line))
        .collect();
    last.join("\n")
}

/// The end of an output, to follow a message; empty if there is no output.
pub fn behind(output: &str) -> String {
    if output.is_empty() {
        String::new()
    } else {
        format!("; the end of its output:\n{output}")
    }
}

/// Escapes characters that would act on a terminal instead of being seen. Only the last state is
/// left of a progress line that was drawn over and over.
pub fn harmless(line: &str) -> String {
    let line = line.trim_end().rsplit('\r').next().unwrap_or_default();
    let mut text = String::with_capacity(line.len());
    for character in line.chars() {
        if character == '\t' {
            text.push(' ');
        } else if character.is_control() || is_hidden(character) {
            text.extend(character.escape_unicode());
        } else {
            text.push(character);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_shown_and_cannot_act() {
        // Method: a file with a line of an earlier run, an escape sequence, a progress line, an
        // empty line, and a byte that is not UTF-8.
        let file = tempfile::NamedTempFile::new().unwrap();
        let bytes = b"before\none\r\nt\two\x1b[2J\n10 %\r20 %\r\n\n\xffthree\x07";
        std::fs::write(file.path(), bytes).unwrap();
        let shown = |start, lines| log_tail(file.path(), start, lines).unwrap();
        assert_eq!(
            shown(7, 9),
            "one\nt wo\\u{1b}[2J\n20 %\n\u{fffd}three\\u{7}"
        );
        assert_eq!(shown(7, 1), "\u{fffd}three\\u{7}");
        assert_eq!(shown(7, 0), "");
        assert_eq!(shown(9_999, 9).lines().next(), Some("before"));
        assert_eq!(harmless("\u{202e}gpj"), "\\u{202e}gpj");
    }

    #[test]
    fn only_the_end_of_a_huge_log_is_read() {
        // Method: one line that is longer than the bound, and no log at all.
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![b'a'; 200_000]).unwrap();
        let shown = log_tail(file.path(), 0, 5).unwrap();
        assert_eq!(shown.len() as u64, TAIL_BYTES_MAX);
        assert!(log_tail(&file.path().join("no"), 0, 5).is_err());
    }
}
