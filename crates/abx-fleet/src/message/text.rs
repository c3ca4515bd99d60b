//! Text from the bus: names that become parts of paths and topics, and prose that is printed.

use abx_evidence::is_hidden;

/// The longest name, in bytes.
const NAME_BYTES_MAX: usize = 64;
/// The longest printed prose, in characters.
const SHOWN_MAX: usize = 500;

/// Whether a text may be the name of a run: letters, digits and `-`, so that it stays one part
/// of a path and one word of a topic.
pub fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=NAME_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_allowed)
}

/// Whether a text may be the address of an agent, `USER.ID`. Users of a bus may have any name
/// that is one word of a topic.
pub fn is_address(text: &str) -> bool {
    let Some((user, id)) = text.split_once('.') else {
        return false;
    };
    let is_forbidden =
        |letter: char| letter.is_whitespace() || letter.is_control() || "*>./".contains(letter);
    !user.is_empty() && !user.contains(is_forbidden) && is_name(id)
}

/// Prose from the bus on one line: control characters and characters that hide or reverse others
/// are escaped, and text that is too long is cut.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(SHOWN_MAX));
    for (count, letter) in text.chars().enumerate() {
        if count == SHOWN_MAX {
            shown.push('…');
            break;
        }
        if letter.is_control() || is_hidden(letter) {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_letters_digits_and_dashes() {
        // Method: valid names, and names that would escape from a folder or a topic.
        for name in ["r", "0a1b-2c", &"x".repeat(64)] {
            assert!(is_name(name), "{name}");
            assert!(is_address(&format!("my_user.{name}")), "{name}");
        }
        let long = "x".repeat(65);
        for name in [
            "", "/..", "..", "a/b", "a.b", "*", ">", "a b", "a\nb", "a\0", "ä", &long,
        ] {
            assert!(!is_name(name), "{name}");
            assert!(!is_address(&format!("user.{name}")), "{name}");
        }
        for address in ["r", ".r", "*.r", ">.r", "a b.r", "\u{1b}.r", "../x.r"] {
            assert!(!is_address(address), "{address}");
        }
    }

    #[test]
    fn prose_cannot_control_a_terminal() {
        // Method: an escape code, a bell, line ends, a right-to-left override, and a long text.
        let shown = printable("a\u{1b}[2Jb\u{7}\r\nabx: fake\u{202e}ü");
        assert_eq!(shown, r"a\u{1b}[2Jb\u{7}\u{d}\u{a}abx: fake\u{202e}ü");
        assert_eq!(printable(&"x".repeat(9_999)).chars().count(), 501);
    }
}
