//! Which known word was meant.

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

/// The known word that is nearest to `word`, if one is near enough to be meant. A
/// step changes, adds or removes a letter, or swaps two neighbours.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    // A word much longer than any known one is near to none; this also bounds the work.
    let far_enough = word.len() > 64;
    let near = |known: &&'a str| (osa_distance(word, known), *known);
    let (steps, best) = known
        .iter()
        .filter(|_| !far_enough)
        .map(near)
        .min_by_key(|(steps, _)| *steps)?;
    // Up to a third of the letters may be wrong, but two always.
    (steps <= (best.len() / 3).max(2) && steps < best.len()).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_hand_finds_its_word_and_another_word_finds_none() {
        // Method: a letter too many, too few, wrong, swapped; and words that are simply others.
        let known = ["command", "name", "ready", "stop"];
        for slip in ["comand", "commandd", "commend", "comamnd", "commands"] {
            assert_eq!(nearest(slip, &known), Some("command"), "{slip}");
        }
        assert_eq!(nearest("nam", &known), Some("name"));
        for other in ["", "elephant", "x", &"name".repeat(100)] {
            assert_eq!(nearest(other, &known), None, "{other}");
        }
        assert_eq!(nearest("x", &[]), None);
    }
}
