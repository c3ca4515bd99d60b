//! Lines that fit, and text from subjects made harmless.

use abx_evidence::is_hidden;

/// `text` in lines of at most `width` columns: the first after `first`, the others after `next`.
/// Newlines in `text` stay. Lines break only at blanks, and a word that is longer than a line is
/// cut into pieces.
#[must_use]
pub fn wrap(text: &str, first: &str, next: &str, width: usize) -> String {
    let mut out = String::new();
    let mut indent = first;
    for paragraph in text.lines() {
        let mut line = indent.to_owned();
        let mut used = columns(indent);
        let mut is_empty = true;
        for word in paragraph.split(' ').filter(|word| !word.is_empty()) {
            let room = width.saturating_sub(columns(next)).max(1);
            for piece in pieces(word, room) {
                let length = columns(&piece);
                if !is_empty && used + 1 + length > width {
                    out.push_str(&line);
                    out.push('\n');
                    line = next.to_owned();
                    used = columns(next);
                    is_empty = true;
                }
                if !is_empty {
                    line.push(' ');
                    used += 1;
                }
                line.push_str(&piece);
                used += length;
                is_empty = false;
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
        indent = next;
    }
    out
}

/// The columns that `text` takes, without its colour codes.
pub(crate) fn columns(text: &str) -> usize {
    let mut is_color = false;
    let is_shown = |letter: &char| {
        let starts = *letter == '\x1b';
        let was_color = is_color;
        is_color = starts || (is_color && *letter != 'm');
        !starts && !was_color
    };
    text.chars().filter(is_shown).count()
}

/// The longest text and the longest name that reports show, in letters: far above what people
/// write. Longer ones lose their middle.
const TEXT_LETTERS_MAX: usize = 8_000;
const NAME_LETTERS_MAX: usize = 500;

/// Foreign text with at most 8,000 letters. Letters that could control a terminal, or hide or
/// reverse other letters, are replaced. Newlines stay.
#[must_use]
pub fn clean(text: &str) -> String {
    shorten(&harmless(text), TEXT_LETTERS_MAX)
}

/// Text of any length without letters that could control a terminal or hide others.
pub(crate) fn harmless(text: &str) -> String {
    let harmless = |letter: char| match letter {
        '\n' => '\n',
        '\t' => ' ',
        other if other.is_control() || is_hidden(other) => char::REPLACEMENT_CHARACTER,
        other => other,
    };
    text.replace("\r\n", "\n").chars().map(harmless).collect()
}

/// A foreign name on one line, with at most 500 letters.
#[must_use]
pub fn clean_name(name: &str) -> String {
    let name = harmless(name).replace('\n', "\u{fffd}");
    shorten(&name, NAME_LETTERS_MAX)
}

/// At most `width` letters, without the middle, because both ends of a name distinguish versions
/// and variants.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    if text.len() <= width {
        return text.to_owned();
    }
    let count = text.chars().count();
    if count <= width {
        return text.to_owned();
    }
    let head = width / 2;
    let tail = width.saturating_sub(head + 1);
    let start = text.chars().take(head);
    let end = text.chars().skip(count - tail);
    start.chain(['…']).chain(end).collect()
}

/// A word in pieces of at most `width` letters.
pub(crate) fn pieces(word: &str, width: usize) -> Vec<String> {
    if columns(word) <= width {
        return vec![word.to_owned()];
    }
    let letters: Vec<char> = word.chars().collect();
    letters
        .chunks(width)
        .map(|piece| piece.iter().collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_move_to_the_next_line_and_long_ones_are_cut() {
        // Method: ten columns, a word of twelve letters, and a newline.
        let text = wrap("one two three\nabcdefghijkl m", "- ", "  ", 10);
        assert_eq!(text, "- one two\n  three\n  abcdefgh\n  ijkl m\n");
    }

    #[test]
    fn our_colours_take_no_columns() {
        // Method: a painted word and the same word without colour.
        assert_eq!(columns("\x1b[1;32mfaster\x1b[0m."), columns("faster."));
    }

    #[test]
    fn text_from_subjects_cannot_control_the_terminal() {
        // Method: a colour, a bell, a C1 control, a right-to-left override and a carriage return;
        // then invisible letters.
        let text = clean("\x1b[31mred\x07\u{9b}2J\u{202e}\rx\r\ny");
        assert!(
            text.chars()
                .all(|letter| letter == '\n' || !letter.is_control())
        );
        assert!(!text.contains('\u{202e}'));
        assert!(text.ends_with("x\ny"));
        assert!(!clean_name("a\nb").contains('\n'));
        let unseen = [
            '\u{ad}',
            '\u{61c}',
            '\u{200b}',
            '\u{2069}',
            '\u{fffa}',
            '\u{e0041}',
        ];
        assert!(unseen.map(|character| clean(&character.to_string())) == ["\u{fffd}"; 6]);
    }

    #[test]
    fn shortened_names_keep_both_ends() {
        // Method: an even and an odd width, and a name that fits.
        assert_eq!(shorten("nginx-1.24.1", 9), "ngin…24.1");
        assert_eq!(shorten("nginx-1.24.1", 8), "ngin…4.1");
        assert_eq!(shorten("nginx", 5), "nginx");
    }

    #[test]
    fn foreign_text_has_a_limited_length() {
        // Method: a text and a name of a million letters, and the longest name that is unchanged.
        let long = "\u{e4}".repeat(1_000_000);
        assert_eq!(clean(&long).chars().count(), TEXT_LETTERS_MAX);
        assert_eq!(clean_name(&long).chars().count(), NAME_LETTERS_MAX);
        let longest: String = long.chars().take(NAME_LETTERS_MAX).collect();
        assert_eq!(clean_name(&longest), longest);
    }
}
