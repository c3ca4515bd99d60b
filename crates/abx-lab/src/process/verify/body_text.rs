//! Bodies of responses in messages: the beginning of a body, and the first difference of two.

use abx_engine::BODY_START_BYTES;
use abx_ledger::is_hidden;

/// The most characters of a body that a message shows.
const REASON_LETTERS: usize = 200;
/// Characters before and after a difference that a message shows.
const LETTERS_BEFORE: usize = 16;
const LETTERS_AFTER: usize = 24;
/// A body with a larger share of unprintable characters is not text.
const UNPRINTABLE_MAX: f64 = 0.1;

/// The beginning of a body, to follow a message as the reason that the server gives; empty for a
/// body that is empty or not text.
pub fn reason(body: &[u8]) -> String {
    let text = printable(body);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let unprintable = text.chars().filter(|letter| *letter == UNPRINTABLE).count();
    let letters = text.chars().count();
    if text.is_empty() || unprintable as f64 > UNPRINTABLE_MAX * letters as f64 {
        return String::new();
    }
    let shown: String = text.chars().take(REASON_LETTERS).collect();
    let rest = if letters > REASON_LETTERS { "…" } else { "" };
    format!("; the response's body: `{shown}{rest}`")
}

/// Where two bodies differ first, with the text of each at that place.
pub fn first_difference(first: &[u8], second: &[u8]) -> String {
    let shorter = first.len().min(second.len());
    let place = first
        .iter()
        .zip(second)
        .position(|(byte, other)| byte != other)
        .unwrap_or(shorter);
    if place == BODY_START_BYTES {
        return format!("the first {BODY_START_BYTES} bytes are the same");
    }
    let around = |body: &[u8]| {
        let from = place.saturating_sub(LETTERS_BEFORE);
        let to = (place + LETTERS_AFTER).min(body.len());
        let text = printable(&body[from..to]).replace(char::is_whitespace, " ");
        let before = if from > 0 { "…" } else { "" };
        let after = if to < body.len() { "…" } else { "" };
        format!("`{before}{text}{after}`")
    };
    let byte = place + 1;
    format!(
        "they differ first at byte {byte}: {} and {}",
        around(first),
        around(second)
    )
}

/// Stands for bytes that cannot be printed.
const UNPRINTABLE: char = '\u{fffd}';

/// The text of bytes, without characters that act on a terminal; line ends and tabs stay.
fn printable(bytes: &[u8]) -> String {
    let acts = |letter: char| letter.is_control() && !letter.is_whitespace();
    let text = String::from_utf8_lossy(bytes);
    text.replace(|letter| acts(letter) || is_hidden(letter), "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_the_beginning_of_a_text() {
        // Method: a text with line ends, a long one, one with an escape, and bodies that are empty
        // or not text.
        assert_eq!(
            reason(b"{\n  \"error\": \"bad json\"\n}\n"),
            "; the response's body: `{ \"error\": \"bad json\" }`"
        );
        let long = reason("\u{e4}".repeat(300).as_bytes());
        assert!(
            long.contains(&format!("`{}…`", "\u{e4}".repeat(200))),
            "{long}"
        );
        let escape = reason(b"a body that clears a screen by \x1b[2J and so on");
        assert!(
            !escape.contains('\x1b') && escape.contains("clears"),
            "{escape}"
        );
        for body in [
            &b""[..],
            b" \r\n",
            b"\x1f\x8b\x08\x00\x00\xff\xfe",
            &[0; 300],
        ] {
            assert_eq!(reason(body), "", "{body:?}");
        }
    }

    #[test]
    fn a_difference_is_shown_with_the_text_around_it() {
        // Method: bodies that differ in one letter, a body that continues, one that is empty, and
        // two that are the same as far as abx keeps them.
        let difference =
            |first: &str, second: &str| first_difference(first.as_bytes(), second.as_bytes());
        assert_eq!(
            difference("{\"price\": 10, \"a\": 1}", "{\"price\": 12, \"a\": 1}"),
            "they differ first at byte 12: `{\"price\": 10, \"a\": 1}` and `{\"price\": 12, \"a\": 1}`"
        );
        assert_eq!(
            difference("ab", "abc"),
            "they differ first at byte 3: `ab` and `abc`"
        );
        assert_eq!(
            difference("", "x"),
            "they differ first at byte 1: `` and `x`"
        );
        let long = "x".repeat(100);
        let text = difference(&format!("{long}a{long}"), &format!("{long}b{long}"));
        let around = |letter| format!("`…{}{letter}{}…`", &long[..16], &long[..23]);
        let expected = format!(
            "they differ first at byte 101: {} and {}",
            around("a"),
            around("b")
        );
        assert_eq!(text, expected);
        let kept = [b'x'; BODY_START_BYTES];
        assert!(first_difference(&kept, &kept).contains("4096 bytes are the same"));
    }
}
