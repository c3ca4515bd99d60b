//! Reads values that a user writes in a study file or on the command line. The caller reports the
//! error.

pub use abx_model::{lacks_unit, time};

/// A text without the byte-order mark that some editors put at the beginning of files.
#[must_use]
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Reads a share such as `3%` or `0.5%` as a fraction.
#[must_use]
pub fn share(text: &str) -> Option<f64> {
    let number = text.strip_suffix('%')?.trim();
    number.parse::<f64>().ok().map(|percent| percent / 100.0)
}

/// Whether a text is a name that fits into tables, files and scripts.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !text.is_empty() && text.len() <= 40 && text.bytes().all(fits)
}

/// Whether a text is path and query of a request.
#[must_use]
pub fn is_url_path(text: &str) -> bool {
    let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
    text.starts_with('/') && is_visible && !text.contains('#')
}

/// A path with its bytes outside ASCII as %xx, as curl writes them.
#[must_use]
pub fn percent_encoded(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii() {
            encoded.push(char::from(byte))
        } else {
            encoded.push_str(&format!("%{byte:02x}"))
        }
    }
    encoded
}

/// Whether a text may be a method or a header's name (RFC 9110, section 5.6.2).
#[must_use]
pub fn is_token(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn units_are_read_and_never_guessed() {
        // Method: valid and invalid texts of each kind.
        assert_eq!(time("100ms"), Some(Duration::from_millis(100)));
        assert_eq!(time("1m 30s"), Some(Duration::from_secs(90)));
        for (text, ms) in [
            ("1.5s", 1_500),
            ("0.5 m", 30_000),
            (".25s", 250),
            ("2.5ms", 2),
        ] {
            assert_eq!(time(text).map(|time| time.as_millis()), Some(ms), "{text}");
        }
        for wrong in [
            "",
            "10",
            "1.5",
            "s",
            ".s",
            "-1s",
            "-1.5s",
            "0s",
            "0.0s",
            "1 parsec",
            "1..5s",
            "1.5s 2",
            "1e9999s",
            "99999999999999999999.5h",
        ] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
        assert_eq!(share("3%"), Some(0.03));
        assert_eq!((share("3"), share("%"), share("x%")), (None, None, None));
    }

    #[test]
    fn a_mark_counts_only_at_the_beginning() {
        // Method: a text with a mark, without one, and with one elsewhere.
        assert_eq!(without_mark("\u{feff}/a"), "/a");
        assert_eq!(without_mark("/a"), "/a");
        assert_eq!(without_mark("/a\u{feff}"), "/a\u{feff}");
    }

    #[test]
    fn names_paths_and_tokens_have_only_allowed_characters() {
        // Method: a valid text of each kind, and each kind of invalid one.
        assert!(is_name("a-b_c.1") && is_url_path("/a?b=%20") && is_token("X-Y"));
        for wrong in ["", "a b", "\u{e9}", &"a".repeat(41)] {
            assert!(!is_name(wrong), "{wrong}");
        }
        for wrong in ["", "a", "/a b", "/#", "/\u{e9}"] {
            assert!(!is_url_path(wrong), "{wrong}");
        }
        assert!(!is_token("") && !is_token("a:b"));
    }
}
