//! Names from untrusted files: symbols, paths, JIT maps.

/// A name that is safe to print and to keep: at most 256 bytes, control characters and
/// separators of folded stacks escaped. A longer one ends in `…`.
#[must_use]
pub fn frame_name(name: &str) -> String {
    let mut clean = String::with_capacity(name.len().min(NAME_BYTES_MAX));
    // The length up to which the ending still fits.
    let mut cut = 0;
    for character in name.chars() {
        if clean.len() <= NAME_BYTES_MAX - END.len() {
            cut = clean.len();
        }
        match character {
            // Folded stacks put it between frames; symbols of Java contain it.
            ';' => clean.push(':'),
            // Names with these characters could look like other names.
            _ if character.is_control() || is_hidden(character) => {
                clean.extend(character.escape_unicode());
            }
            _ => clean.push(character),
        }
        if clean.len() > NAME_BYTES_MAX {
            clean.truncate(cut);
            clean.push_str(END);
            break;
        }
    }
    clean
}

/// Whether a character is invisible, or changes the order of others. Control characters are not
/// among these.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

const NAME_BYTES_MAX: usize = 256;
const END: &str = "…";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn common_names_stay_as_they_are() {
        // Method: names of C, C++, Rust, JavaScript and a path; and names that were made to
        // look like others.
        for name in [
            "ngx_http_handler",
            "std::vector<int, std::allocator<int> >::push_back(int&&)",
            "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
            "JS:*onRequest /srv/größe.js:12:7",
        ] {
            assert_eq!(frame_name(name), name);
        }
        assert_eq!(frame_name("La;b\n\u{1b}[31m"), "La:b\\u{a}\\u{1b}[31m");
        assert_eq!(frame_name("a\u{202e}b"), "a\\u{202e}b");
        let long = frame_name(&"x".repeat(1000));
        assert_eq!((long.len(), long.ends_with("x…")), (256, true));
    }

    proptest! {
        #[test]
        fn every_name_becomes_safe(name in "\\PC*|(?s).{0,400}") {
            // Method: any text, with control characters and without.
            let clean = frame_name(&name);
            prop_assert!(clean.len() <= NAME_BYTES_MAX);
            prop_assert!(!clean.chars().any(|character| character.is_control() || character == ';'));
            prop_assert_eq!(frame_name(&clean), clean.clone());
        }
    }
}
