//! Labels of rows and columns. They are broken into lines and never shortened, so that different
//! labels always look different.

use crate::words::wrap::{columns, pieces};

/// A label on lines of at most `width` columns, all but the first indented. Lines break at blanks.
/// A word that is longer than a line breaks after `-`, `_` or `/`, and a longer part anywhere.
pub(crate) fn label_lines(label: &str, width: usize) -> Vec<String> {
    let room = width.saturating_sub(INDENT.len()).max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in label.split(' ') {
        for (number, part) in parts(word, room).into_iter().enumerate() {
            let gap = if line.is_empty() || number > 0 {
                ""
            } else {
                " "
            };
            if !line.is_empty() && columns(&line) + gap.len() + columns(&part) > width {
                let next = format!("{INDENT}{part}");
                lines.push(std::mem::replace(&mut line, next));
            } else {
                line.push_str(gap);
                line.push_str(&part);
            }
        }
    }
    lines.push(line);
    lines
}

/// The columns that these labels take on lines of at most `most` columns.
pub(crate) fn label_width<'a>(labels: impl Iterator<Item = &'a str>, most: usize) -> usize {
    let lines = labels.flat_map(|label| label_lines(label, most));
    lines.map(|line| columns(&line)).max().unwrap_or_default()
}

fn parts(word: &str, room: usize) -> Vec<String> {
    if columns(word) <= room {
        return vec![word.to_owned()];
    }
    let parts = word.split_inclusive(['-', '_', '/']);
    parts.flat_map(|part| pieces(part, room)).collect()
}

const INDENT: &str = "  ";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn labels_break_at_blanks_then_after_marks_then_anywhere() {
        // Method: a pair in ever fewer columns, and a word in fewer columns than its parts take.
        let pair = "lighttpd-tls13 / nginx-fresh";
        assert_eq!(label_lines(pair, 28), [pair]);
        assert_eq!(label_lines(pair, 27), ["lighttpd-tls13 /", "  nginx-fresh"]);
        let narrow = label_lines(pair, 13);
        assert_eq!(narrow, ["lighttpd-", "  tls13 /", "  nginx-fresh"]);
        let narrowest = label_lines("abcdef-g", 5);
        assert_eq!(narrowest, ["abc", "  def", "  -g"]);
        assert_eq!(label_width([pair, "php"].into_iter(), 20), 16);
        assert_eq!(label_width([].into_iter(), 20), 0);
    }

    prop_compose! {
        /// The name of a subject.
        fn name()(words in prop::collection::vec("[ab]{1,6}", 1..4)) -> String {
            words.join("-")
        }
    }

    proptest! {
        #[test]
        fn different_labels_look_different_at_any_width(
            pairs in any::<[bool; 2]>(),
            names in [name(), name(), name(), name()],
            width in 3_usize..40,
        ) {
            // Method: names of few letters, so that they resemble each other, alone and in
            // pairs. Except for blanks, the lines together are the label.
            let [label, other] = [(pairs[0], &names[..2]), (pairs[1], &names[2..])]
                .map(|(is_pair, names)| if is_pair { names.join(" / ") } else { names[0].clone() });
            let [lines, other_lines] = [&label, &other].map(|label| label_lines(label, width));
            prop_assert_eq!(label == other, lines == other_lines);
            for line in &lines {
                prop_assert!(columns(line) <= width, "{}: {}", width, line);
            }
            let letters = lines.concat().replace(' ', "");
            prop_assert_eq!(letters, label.replace(' ', ""));
        }
    }
}
