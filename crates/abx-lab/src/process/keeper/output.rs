//! The end of a log file, fit for a terminal.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// More than this is never read, however long the lines are.
const TAIL_BYTES_MAX: u64 = 64 * 1024;

/// The last `lines` lines of a file behind its first `start` bytes.
pub(super) fn tail(path: &Path, start: u64, lines: usize) -> io::Result<String> {
    let mut file = File::open(path)?;
    let end = file.metadata()?.len();
    // A log that was cut short by its server begins anew.
    let start = if start > end { 0 } else { start };
    file.seek(SeekFrom::Start(
        start.max(end.saturating_sub(TAIL_BYTES_MAX)),
    ))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(last_lines(&String::from_utf8_lossy(&bytes), lines))
}

fn last_lines(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    let last: Vec<String> = all[all.len().saturating_sub(lines)..]
        .iter()
        .map(|line| harmless(line))
        .collect();
    last.join("\n")
}

/// Writes out characters that would act on a terminal instead of being seen.
fn harmless(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for character in line.chars() {
        let turns_the_writing_direction =
            matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if character == '\t' {
            text.push(' ');
        } else if character.is_control() || turns_the_writing_direction {
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
        // Method: a file with an earlier run's line, an escape sequence, a
        // return, and a byte that is not UTF-8.
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"before\none\r\nt\two\x1b[2J\n\xffthree\rx").unwrap();
        let shown = |start, lines| tail(file.path(), start, lines).unwrap();
        assert_eq!(shown(7, 9), "one\nt wo\\u{1b}[2J\n\u{fffd}three\\u{d}x");
        assert_eq!(shown(7, 1), "\u{fffd}three\\u{d}x");
        assert_eq!(shown(7, 0), "");
        assert_eq!(shown(9_999, 9).lines().next(), Some("before"));
        assert_eq!(harmless("\u{202e}gpj"), "\\u{202e}gpj");
    }

    #[test]
    fn a_huge_log_is_not_read_whole() {
        // Method: one line that is longer than the bound.
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![b'a'; 200_000]).unwrap();
        let shown = tail(file.path(), 0, 5).unwrap();
        assert_eq!(shown.len() as u64, TAIL_BYTES_MAX);
    }
}
