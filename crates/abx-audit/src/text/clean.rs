//! Removes colours, unusual whitespace, typographic dashes and markup from lines of text.

use std::borrow::Cow;

use abx_evidence::is_hidden;

use super::text_line::TextLine;
use super::{encoding, prefix};

/// The cleaned lines of a text; consecutive blank lines become one.
pub(crate) fn lines(text: &str) -> Vec<TextLine> {
    // Old Macs end lines with a carriage return.
    let end = if text.contains('\n') { '\n' } else { '\r' };
    let mut out: Vec<TextLine> = Vec::new();
    let mut follows_blank = false;
    for (index, line) in text.split(end).enumerate() {
        // A file may consist of empty lines only.
        if line.is_empty() && follows_blank {
            continue;
        }
        for text in unescaped(line) {
            let text = clean(&text);
            let is_blank = text.trim().is_empty();
            if !is_blank || !follows_blank {
                let number = index + 1;
                out.push(TextLine { number, text });
            }
            follows_blank = is_blank;
        }
    }
    prefix::strip(&mut out);
    out
}

/// Splits a line in which a program wrote `\n` as two characters, as JSON does.
fn unescaped(line: &str) -> Vec<Cow<'_, str>> {
    if line.matches("\\n").count() < ESCAPED_LEAST {
        return vec![Cow::Borrowed(line)];
    }
    let line = line.replace("\\\\", "\\").replace("\\r", "");
    let plain = line
        .replace("\\t", "\t")
        .replace("\\\"", "\"")
        .replace("\\u001b", "\x1b")
        .replace("\\u00a0", " ");
    let lines = plain.split("\\n");
    lines.map(|line| Cow::Owned(line.to_owned())).collect()
}

fn clean(line: &str) -> String {
    let plain = encoding::repaired(&without_escapes(line.trim_end_matches('\r')));
    let plain = without_markup(&plain);
    let letters: Vec<char> = plain.chars().filter(|char| !is_invisible(*char)).collect();
    let mut out = String::with_capacity(plain.len());
    for (place, letter) in letters.iter().enumerate() {
        match letter {
            '–' | '—' => {
                let starts = place == 0 || letters[place - 1].is_whitespace();
                let names = letters
                    .get(place + 1)
                    .is_some_and(|next| next.is_alphabetic());
                out.push_str(if starts && names { "--" } else { "-" });
            }
            '−' | '‐' | '‑' => out.push('-'),
            '“' | '”' | '„' | '«' | '»' => out.push('"'),
            '‘' | '’' | '‚' => out.push('\''),
            '\u{ff01}'..='\u{ff5e}' => {
                let plain = u32::from(*letter) - 0xfee0;
                out.push(char::from_u32(plain).unwrap_or(' '));
            }
            '\t' => out.push('\t'),
            other if other.is_whitespace() || other.is_control() => out.push(' '),
            other => out.push(*other),
        }
    }
    without_quote_marks(&out)
}

/// Separators of lines are blanks, and not invisible.
fn is_invisible(letter: char) -> bool {
    is_hidden(letter) && !letter.is_whitespace()
}

/// Removes escape sequences, which colour a terminal or move its cursor.
fn without_escapes(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter != '\x1b' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('[') => {
                letters.find(|letter| ('@'..='~').contains(letter));
            }
            Some(']') => {
                letters.find(|letter| *letter == '\x07' || *letter == '\\');
            }
            _ => {}
        }
    }
    out
}

/// Removes the tags and entities of HTML, for a report pasted from a page.
fn without_markup(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    // Once no tag ends in the rest, none is looked for: lines may be as long as a report.
    let mut has_end = true;
    while let Some(start) = rest.find('<') {
        let (before, tag) = rest.split_at(start);
        out.push_str(before);
        let opens =
            (tag[1..].chars().next()).is_some_and(|next| next.is_ascii_alphabetic() || next == '/');
        let end = if opens && has_end {
            tag.find('>')
        } else {
            None
        };
        has_end &= !opens || end.is_some();
        match end {
            Some(end) => {
                out.push(' ');
                rest = &tag[end + 1..];
            }
            None => {
                out.push('<');
                rest = &tag[1..];
            }
        }
    }
    out.push_str(rest);
    if !out.contains('&') {
        return out;
    }
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&nbsp;", " "),
        ("&quot;", "\""),
        ("&#37;", "%"),
        ("&amp;", "&"),
    ];
    entities
        .iter()
        .fold(out, |text, (entity, letter)| text.replace(entity, letter))
}

/// Removes the quote marks of mail and Markdown.
fn without_quote_marks(line: &str) -> String {
    let mut rest = line;
    while let Some(inner) = rest.trim_start().strip_prefix('>') {
        rest = inner;
    }
    rest.to_owned()
}

/// At least two, because a path may contain `\n` once by chance.
const ESCAPED_LEAST: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_markup_and_quote_marks_are_removed_from_a_line() {
        // Method: colours, a title, quotes, tags, entities, dashes, whitespace of all kinds.
        let table = [
            ("\x1b[1;32mTotal:\x1b[0m 5\r", "Total: 5"),
            ("\x1b]0;title\x07x", "x"),
            ("> > Total: 5", " Total: 5"),
            ("<td>Total:</td><td>5</td>", " Total:  5 "),
            ("&lt;=1 &amp;lt; 2", "<=1 &lt; 2"),
            ("a <= b <$Revision$>", "a <= b <$Revision$>"),
            ("httperf –server=x – y", "httperf --server=x - y"),
            ("5\u{a0}555\u{202f}s\u{200b}", "5 555 s"),
            ("Ｔotal： ５", "Total: 5"),
        ];
        for (line, expected) in table {
            assert_eq!(clean(line), expected, "{line:?}");
        }
    }

    #[test]
    fn lines_have_the_numbers_of_their_file() {
        // Method: old line ends, blank lines, and line ends that are two characters.
        let line = |number: usize, text: &str| {
            let text = text.to_owned();
            TextLine { number, text }
        };
        assert_eq!(lines("a\rb"), [line(1, "a"), line(2, "b")]);
        assert_eq!(
            lines("a\n\n\n\nb"),
            [line(1, "a"), line(2, ""), line(5, "b")]
        );
        let expected = [
            line(1, "x"),
            line(2, "\"a:\t5"),
            line(2, ""),
            line(2, "b"),
            line(2, "c\""),
        ];
        assert_eq!(lines("x\n\"a:\\t5\\r\\n\\nb\\nc\""), expected);
    }
}
