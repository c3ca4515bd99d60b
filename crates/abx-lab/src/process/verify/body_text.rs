//! Bodies of responses in messages: their beginning, and where two of them differ first.

use abx_engine::BODY_START_BYTES;
use abx_ledger::is_hidden;

/// The most characters of a body that a message shows.
const REASON_LETTERS: usize = 200;
/// Characters before and after a difference that a message shows.
const LETTERS_BEFORE: usize = 16;
const LETTERS_AFTER: usize = 24;
/// A body of which a larger share cannot be printed is not text.
const UNPRINTABLE_MAX: f64 = 0.1;

/// The beginning of a body after a message, as the reason that a server gives; empty for a body
/// that is empty or is not text.
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

/// Where two bodies differ first, with the text there in each.
pub fn first_difference(bytes: &[u8], other: &[u8]) -> String {
    let mut pairs = bytes.iter().zip(other);
    let shorter = bytes.len().min(other.len());
    let place = pairs
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
        around(bytes),
        around(other)
    )
}

/// Stands for bytes that cannot be printed.
const UNPRINTABLE: char = '\u{fffd}';

/// A text without characters that act on a terminal; line ends and tabs stay.
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
        // Method: a text with line ends, a long one, one with escapes, nothing, and bytes.
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
        for nothing in [
            &b""[..],
            b" \r\n",
            b"\x1f\x8b\x08\x00\x00\xff\xfe",
            &[0; 300],
        ] {
            assert_eq!(reason(nothing), "", "{nothing:?}");
        }
    }

    #[test]
    fn a_difference_is_shown_with_what_is_around_it() {
        // Method: another letter, a body that continues, one that is empty, and two that are the
        // same as far as they were kept.
        let place =
            |this_text: &str, other: &str| first_difference(this_text.as_bytes(), other.as_bytes());
        assert_eq!(
            place("{\"price\": 10, \"a\": 1}", "{\"price\": 12, \"a\": 1}"),
            "they differ first at byte 12: `{\"price\": 10, \"a\": 1}` and `{\"price\": 12, \"a\": 1}`"
        );
        assert_eq!(
            place("ab", "abc"),
            "they differ first at byte 3: `ab` and `abc`"
        );
        assert_eq!(place("", "x"), "they differ first at byte 1: `` and `x`");
        let long = "x".repeat(100);
        let text = place(&format!("{long}a{long}"), &format!("{long}b{long}"));
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
