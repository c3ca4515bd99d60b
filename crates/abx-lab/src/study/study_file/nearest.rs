//! Which known word was meant.

/// What to write instead of an unknown word, for a message.
pub fn meant(word: &str, known: &[&str]) -> String {
    const LISTED: usize = 30;
    match nearest(word, known) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None if known.len() > LISTED => format!("{} are known", known.len()),
        None => format!("known are `{}`", known.join("`, `")),
    }
}

/// The known word that is nearest to `word`, if one is near enough to be meant.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    // A word much longer than any known one is near to none; this also bounds the work.
    let far_enough = word.len() > 64;
    let near = |known: &&'a str| (distance(word, known), *known);
    let (steps, best) = known
        .iter()
        .filter(|_| !far_enough)
        .map(near)
        .min_by_key(|(steps, _)| *steps)?;
    // Up to a third of the letters may be wrong, but two always.
    (steps <= (best.len() / 3).max(2) && steps < best.len()).then_some(best)
}

/// How many letters must be changed, added, removed or swapped with their
/// neighbour to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    // `steps[i][j]` leads from the first i letters to the first j.
    let mut steps = vec![vec![0; to.len() + 1]; from.len() + 1];
    for i in 0..=from.len() {
        for j in 0..=to.len() {
            steps[i][j] = match (i, j) {
                (0, _) => j,
                (_, 0) => i,
                _ => {
                    let changed = steps[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
                    let moved = steps[i - 1][j].min(steps[i][j - 1]) + 1;
                    let is_swapped =
                        i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
                    let swapped = if is_swapped {
                        steps[i - 2][j - 2] + 1
                    } else {
                        moved
                    };
                    changed.min(moved).min(swapped)
                }
            };
        }
    }
    steps[from.len()][to.len()]
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

    #[test]
    fn the_distance_counts_letters() {
        // Method: the textbook pair, a swap, and both ends empty.
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("qiut", "quit"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
    }
}
