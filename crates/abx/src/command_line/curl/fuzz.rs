//! Properties of any command of curl, checked by the fuzz target and by tests.

use super::{KNOWN, Meaning, translated};

/// Reads a text as a shell would, and its words as those of a command of curl.
///
/// # Panics
/// When a promise is broken.
pub fn any_text(text: &str) {
    if let Ok(words) = shell_words::split(text) {
        any_words(&words);
    }
}

/// Any words are refused with a reason, or become a URL and flags of abx.
///
/// # Panics
/// When a promise is broken.
pub fn any_words(words: &[String]) {
    let texts = match translated(words) {
        Ok(texts) => texts,
        Err(why) => {
            assert!(!why.is_empty());
            return;
        }
    };
    let [url, flags @ ..] = &texts[..] else {
        panic!("a command without a URL: {words:?}");
    };
    assert!(!url.starts_with('-'), "{url} is a flag");
    for flag in flags {
        let name = flag.split('=').next().unwrap_or_default();
        let is_own = KNOWN.iter().any(|(.., meaning)| {
            matches!(meaning, Meaning::Flag(known) | Meaning::FlagOf(known) if *known == name)
        });
        let is_usual = ["--method", "--header", "--body", "--insecure"].contains(&name);
        assert!(is_own || is_usual, "{flag} of {words:?}");
    }
}
