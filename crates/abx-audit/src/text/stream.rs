//! All letters of a text except whitespace, each with its line.

use super::text_line::TextLine;

/// A letter other than whitespace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Glyph {
    pub(crate) letter: char,
    line: u32,
    /// Whether whitespace or the beginning of a line precedes it.
    pub(crate) is_first: bool,
}

impl Glyph {
    /// The line in the file, from 1.
    pub(crate) fn line(self) -> usize {
        self.line as usize
    }
}

/// The letters of a text in sequence.
#[derive(Debug)]
pub(crate) struct LetterStream {
    glyphs: Vec<Glyph>,
    /// Whether the text ends without whitespace, so its last word may be cut off.
    is_open: bool,
}

impl LetterStream {
    pub(crate) fn new(lines: &[TextLine]) -> LetterStream {
        let mut glyphs = Vec::new();
        for line in lines {
            let mut is_first = true;
            for letter in line.text.chars() {
                if letter.is_whitespace() {
                    is_first = true;
                    continue;
                }
                glyphs.push(Glyph {
                    letter,
                    line: u32::try_from(line.number).unwrap_or(u32::MAX),
                    is_first,
                });
                is_first = false;
            }
        }
        let last = lines.last().and_then(|line| line.text.chars().next_back());
        LetterStream {
            glyphs,
            is_open: last.is_some_and(|letter| !letter.is_whitespace()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.glyphs.len()
    }

    pub(crate) fn get(&self, at: usize) -> Option<Glyph> {
        self.glyphs.get(at).copied()
    }

    /// Whether the text ends here and may be cut off.
    pub(crate) fn is_cut_at(&self, at: usize) -> bool {
        self.is_open && at >= self.glyphs.len()
    }

    /// Whether a word may begin here.
    pub(crate) fn is_border(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.get(before));
        let here = self.get(at);
        match (before, here) {
            (Some(_), Some(here)) if here.is_first => true,
            // The digits of a fraction are not a number.
            (Some(before), Some(here)) if here.letter.is_ascii_digit() => {
                !before.letter.is_alphanumeric() && !matches!(before.letter, '.' | ',')
            }
            (Some(before), Some(here)) => {
                !before.letter.is_alphanumeric() || !here.letter.is_alphanumeric()
            }
            _ => true,
        }
    }

    /// The end of `label`, in lower case without spaces, if the text at this place matches it.
    pub(crate) fn after(&self, at: usize, label: &str) -> Option<usize> {
        let mut place = at;
        for letter in label.chars() {
            let here = self.get(place)?.letter;
            if here.to_ascii_lowercase() != letter {
                return None;
            }
            place += 1;
        }
        Some(place)
    }

    /// The word at this place, and where it ends.
    pub(crate) fn word(&self, at: usize) -> (String, usize) {
        let mut word = String::new();
        let mut place = at;
        while let Some(glyph) = self.get(place)
            && (place == at || !glyph.is_first)
        {
            word.push(glyph.letter);
            place += 1;
        }
        (word, place)
    }
}
