//! Sentences with figures from outside the reports: messages and remedies of findings. Their
//! figures get the format of all others: grouped thousands, and on one line with their units.

use abx_evidence::{Finding, Level};

use crate::words::style::{Style, Tint};
use crate::words::units::{GLUE, grouped};
use crate::words::wrap::clean;

pub(crate) fn message(finding: &Finding) -> String {
    prose(&finding.message, &names(finding))
}

/// The first sentence of a message: the text before a semicolon, and before a colon if a semicolon
/// follows. Signs within brackets do not end it.
pub(crate) fn first_sentence(message: &str) -> &str {
    let line = message.lines().next().unwrap_or_default();
    let mut depth = 0_u32;
    let mut colon = None;
    for (at, letter) in line.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth > 0 || !line[at + letter.len_utf8()..].starts_with(' ') => {}
            ':' => colon = colon.or(Some(at)),
            ';' => return &line[..colon.unwrap_or(at)],
            _ => {}
        }
    }
    line
}

pub(crate) fn remedy(finding: &Finding) -> String {
    prose(&finding.remedy, &names(finding))
}

/// The word of a level in text and Markdown, and its colour on a terminal.
#[must_use]
pub fn level_tag(level: Level) -> (&'static str, Tint) {
    match level {
        Level::Note => ("note", Tint::Plain),
        Level::Bound => ("limit", Tint::Doubtful),
        Level::Void => ("no result", Tint::Bad),
    }
}

/// The start of the first line of a finding: the word of its level, as wide as [`LEVEL_INDENT`].
#[must_use]
pub fn level_start(level: Level, style: &Style) -> String {
    let (word, tint) = level_tag(level);
    style.paint(word, tint) + &LEVEL_INDENT[word.len()..]
}

/// The start of the other lines of a finding, as wide as the longest level and a gap.
pub const LEVEL_INDENT: &str = "           ";

fn names(finding: &Finding) -> Vec<&str> {
    let names = [&finding.subject, &finding.load];
    names.into_iter().flatten().map(String::as_str).collect()
}

/// A sentence with formatted figures. Digits within `names`, within backticks, and after a word
/// that makes a number a name, such as a port, stay as they are.
pub(crate) fn prose(text: &str, names: &[&str]) -> String {
    let text = clean(text);
    let parts = parts(&text).map(|part| match part {
        SentencePart::Words(words) => figures(words, names),
        SentencePart::Code(code) => format!("`{code}`"),
    });
    parts.collect()
}

pub(crate) enum SentencePart<'a> {
    Words(&'a str),
    /// The text within backticks, which are left out: something to type.
    Code(&'a str),
}

/// The parts of a sentence. A backtick without a partner quotes nothing.
pub(crate) fn parts(text: &str) -> impl Iterator<Item = SentencePart<'_>> {
    let quotes = text.matches('`').count() / 2 * 2;
    let parts = text.splitn(quotes + 1, '`').enumerate();
    parts.map(|(index, part)| match index % 2 {
        0 => SentencePart::Words(part),
        _ => SentencePart::Code(part),
    })
}

fn figures(text: &str, names: &[&str]) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let end = from.find(|letter: char| !(letter.is_ascii_digit() || letter == '.'));
        let number = from[..end.unwrap_or(from.len())].trim_end_matches('.');
        let at = text.len() - from.len();
        let after = &from[number.len()..];
        let is_figure = is_figure(&text[..at], number, after)
            && !names.iter().any(|name| is_within(text, at, name));
        if is_figure {
            out.push_str(&grouped(number))
        } else {
            out.push_str(number)
        }
        rest = match (is_figure, unit(after)) {
            (true, Some(unit)) => {
                out.push(GLUE);
                out.push_str(unit);
                &after[1 + unit.len()..]
            }
            _ => after,
        };
    }
    out + rest
}

/// Whether a number counts something, by the text before and after it.
fn is_figure(before: &str, number: &str, after: &str) -> bool {
    let previous = before.chars().next_back();
    let begins = previous.is_none_or(|letter| " \n([+≥≤".contains(letter));
    let clause = before
        .rsplit([',', ':', ';', '('])
        .next()
        .unwrap_or_default();
    let mut words = clause.split_whitespace().rev();
    let is_named = words
        .clone()
        .next()
        .is_some_and(|word| NAMED_BY_NUMBER.contains(&word))
        || words.any(|word| ["port", "ports"].contains(&word));
    let mut next = after.chars();
    let ends = match (next.next(), next.next()) {
        (None, _) => true,
        (Some('/'), Some(unit)) => unit.is_ascii_lowercase(),
        (Some('.' | ',' | ':'), more) => more.is_none_or(char::is_whitespace),
        (Some(letter), _) => " \n;)]%\u{a0}".contains(letter),
    };
    number.matches('.').count() < 2 && begins && ends && !is_named
}

/// Whether the byte at `at` in a text is part of this name.
fn is_within(text: &str, at: usize, name: &str) -> bool {
    let mut starts = text.match_indices(name).map(|(start, _)| start);
    !name.is_empty() && starts.any(|start| (start..start + name.len()).contains(&at))
}

fn unit(after: &str) -> Option<&'static str> {
    let after = after.strip_prefix(' ')?;
    UNITS.into_iter().find(|unit| {
        let rest = after.strip_prefix(unit);
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}

const UNITS: [&str; 8] = ["%", "ns", "µs", "ms", "s", "kB", "MB", "GB"];
const NAMED_BY_NUMBER: [&str; 6] = ["process", "pid", "PID", "status", "line", "seed"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_every_level_begins_in_the_same_column() {
        // Method: each level, without colours.
        let table = [
            (Level::Note, "note       "),
            (Level::Bound, "limit      "),
            (Level::Void, "no result  "),
        ];
        for (level, expected) in table {
            assert_eq!(level_start(level, &Style::plain()), expected);
            assert_eq!(LEVEL_INDENT.len(), expected.len());
        }
    }

    #[test]
    fn figures_in_messages_have_grouped_thousands_and_names_stay() {
        // Method: figures in every place where messages have them, and numbers that are names.
        let names = ["2024", "c 5000"];
        let table = [
            (
                "both kept up with 18776/s: done",
                "both kept up with 18,776/s: done",
            ),
            ("4744 of 5000 slices", "4,744 of 5,000 slices"),
            ("(179784 requests/s)", "(179,784 requests/s)"),
            ("had 8771.3 requests, 10000", "had 8,771.3 requests, 10,000"),
            ("ok 15918, failed 4.", "ok 15,918, failed 4."),
            ("already 18,776 and 1,000.5", "already 18,776 and 1,000.5"),
            ("92 % of 12 s", "92\u{a0}% of 12\u{a0}s"),
            ("12 sessions of 999 ms", "12 sessions of 999\u{a0}ms"),
            (
                "use `ulimit -n 20000` or 4096",
                "use `ulimit -n 20000` or 4,096",
            ),
            (
                "127.0.0.1:8080 and port 8080",
                "127.0.0.1:8080 and port 8080",
            ),
            (
                "kept-c5000, r1691, 5.15.0-1045",
                "kept-c5000, r1691, 5.15.0-1045",
            ),
            (
                "2024 beside 1999, under c 5000",
                "2024 beside 1,999, under c 5000",
            ),
            ("on 2026-11-26 at 10:30", "on 2026-11-26 at 10:30"),
            (
                "ports 1024 to 65535: 64512 free",
                "ports 1024 to 65535: 64,512 free",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(prose(text, &names), expected);
        }
    }

    #[test]
    fn the_first_sentence_of_a_message_is_complete() {
        // Method: a reason after a colon, more text after a semicolon, a list after a colon, both
        // signs within brackets, and both without a blank after them.
        let table = [
            (
                "it was busy: it used 98 % of its CPU",
                "it was busy: it used 98 % of its CPU",
            ),
            (
                "2 rounds were disturbed, by others; they count",
                "2 rounds were disturbed, by others",
            ),
            ("not read: the clock; the ports", "not read"),
            (
                "it lost some (again: 3; new: 4), or less; so",
                "it lost some (again: 3; new: 4), or less",
            ),
            ("at 10:30;x", "at 10:30;x"),
        ];
        for (message, expected) in table {
            assert_eq!(first_sentence(message), expected);
        }
    }
}
