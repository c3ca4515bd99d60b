//! Properties of any curl command, checked by the fuzz target and by tests.

use super::{KNOWN, Meaning, translated};

/// Splits a text as a shell would, and checks its words as those of a curl command.
///
/// # Panics
/// If a property does not hold.
pub fn any_text(text: &str) {
    if let Ok(words) = shell_words::split(text) {
        any_words(&words);
    }
}

/// Any words are refused with a reason, or become a URL and flags of abx.
///
/// # Panics
/// If a property does not hold.
pub fn any_words(words: &[String]) {
    let translated = match translated(words) {
        Ok(translated) => translated,
        Err(why) => {
            assert!(!why.is_empty());
            return;
        }
    };
    let [url, flags @ ..] = &translated[..] else {
        panic!("a command without a URL: {words:?}");
    };
    assert!(!url.starts_with('-'), "{url} is a flag");
    for flag in flags {
        let name = flag.split('=').next().unwrap_or_default();
        let is_in_table = KNOWN.iter().any(|(.., meaning)| {
            matches!(meaning, Meaning::Flag(known) | Meaning::FlagOf(known) if *known == name)
        });
        let is_usual = ["--method", "--header", "--body", "--insecure"].contains(&name);
        assert!(is_in_table || is_usual, "{flag} of {words:?}");
    }
}
