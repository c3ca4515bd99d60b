//! Suggests the known word that an unknown one stands for.

use strsim::osa_distance;

/// What to write instead of an unknown word, for a message.
pub fn meant(word: &str, known: &[&str]) -> String {
    const LISTED: usize = 30;
    match nearest(word, known) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None if known.len() > LISTED => format!("{} are known", known.len()),
        None => format!("choose from `{}`", known.join("`, `")),
    }
}

/// Whether a word may be this known one with a slip: one letter of a short word, or two of a long
/// one, are missing, added, wrong, or swapped with a neighbour.
#[must_use]
pub fn is_slip_of(word: &str, known: &str) -> bool {
    const LONG: usize = 8;
    let slips = if known.len() < LONG { 1 } else { 2 };
    // A letter has at most four bytes; the bound on their number also bounds the work.
    word.len().abs_diff(known.len()) <= 4 * slips
        && osa_distance(word, known) <= slips.min(steps_max(word, known))
}

/// The known word that is nearest to `word`, if it is near enough. A step changes, adds or removes
/// a letter, or swaps two neighbours.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    // A word much longer than any known one is near to none; this also bounds the work.
    if word.len() > 64 {
        return None;
    }
    let near = |known: &&'a str| (osa_distance(word, known), *known);
    let (steps, best) = known.iter().map(near).min_by_key(|(steps, _)| *steps)?;
    (steps <= steps_max(word, best)).then_some(best)
}

/// The largest number of steps between words that have enough in common: a third of their letters.
fn steps_max(word: &str, known: &str) -> usize {
    word.chars().count().max(known.chars().count()) / 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_one_letter_of_a_short_word_and_two_of_a_long_one() {
        // Method: words at the limit and beyond it, some with letters outside ASCII, and words of
        // so few letters that one slip leaves too little.
        for (word, known) in [
            ("blokcs", "blocks"),
            ("conections", "connections"),
            ("rnu", "run"),
            ("bu", "bus"),
        ] {
            assert!(is_slip_of(word, known), "{word} {known}");
        }
        for (word, known) in [
            ("csv", "slo"),
            ("baseline", "pipeline"),
            ("http-version", "tls-version"),
            ("bisect", "insecure"),
            ("\u{e9}\u{e9}", "c"),
            ("expect", "expect-body"),
            ("ob", "ab"),
            ("", "c"),
        ] {
            assert!(!is_slip_of(word, known), "{word} {known}");
        }
    }

    #[test]
    fn a_slip_finds_its_word_and_other_words_find_none() {
        // Method: a letter added, missing, wrong and swapped; and unrelated words.
        let known = ["command", "name", "ready", "stop"];
        for slip in ["comand", "commandd", "commend", "comamnd", "commands"] {
            assert_eq!(nearest(slip, &known), Some("command"), "{slip}");
        }
        assert_eq!(nearest("nam", &known), Some("name"));
        for other in ["", "elephant", "x", "ton", &"name".repeat(100)] {
            assert_eq!(nearest(other, &known), None, "{other}");
        }
        assert_eq!(nearest("x", &[]), None);
    }

    #[test]
    fn words_with_less_than_two_thirds_in_common_are_others() {
        // Method: short words at the limit and beyond it, one outside ASCII, and a longer word
        // with two slips and with three.
        let known = ["from", "tls", "on", "signals", "\u{e9}\u{e9}\u{e9}"];
        for (slip, meant) in [("form", "from"), ("tl", "tls"), ("singalz", "signals")] {
            assert_eq!(nearest(slip, &known), Some(meant), "{slip}");
        }
        for other in ["foo", "files", "tow", "no", "zingalz", "e\u{e9}e"] {
            assert_eq!(nearest(other, &known), None, "{other}");
        }
    }
}
