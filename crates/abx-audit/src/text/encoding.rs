//! Decodes bytes, and repairs text that was decoded with the wrong encoding.

/// The text of a file: UTF-8, UTF-16 with a byte order mark, or Windows-1252 if bytes are not
/// UTF-8; `None` if the file is not text.
#[must_use]
pub fn text_of(bytes: &[u8]) -> Option<String> {
    let units = |order: fn([u8; 2]) -> u16| -> Vec<u16> {
        let pairs = bytes[2..].chunks_exact(2);
        pairs.map(|pair| order([pair[0], pair[1]])).collect()
    };
    let text = match bytes {
        [0xff, 0xfe, ..] => String::from_utf16_lossy(&units(u16::from_le_bytes)),
        [0xfe, 0xff, ..] => String::from_utf16_lossy(&units(u16::from_be_bytes)),
        _ => utf8_or_windows(bytes),
    };
    (!text.contains('\0')).then_some(text)
}

fn utf8_or_windows(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| windows_letter(*byte)));
    }
    text
}

/// The original of a line whose UTF-8 was read as Windows-1252 or Latin-1, up to twice.
pub(super) fn repaired(line: &str) -> String {
    let mut text = line.to_owned();
    for _ in 0..DECODED_WRONG {
        if text.is_ascii() {
            break;
        }
        text = repaired_once(&text);
    }
    text
}

fn repaired_once(line: &str) -> String {
    let letters: Vec<char> = line.chars().collect();
    let mut out = String::with_capacity(line.len());
    let mut place = 0;
    while let Some(letter) = letters.get(place) {
        if let Some((original, length)) = original(&letters[place..]) {
            out.push(original);
            place += length;
            continue;
        }
        let next = letters.get(place + 1);
        let is_blank = match letter {
            // A no-break space whose second byte an editor replaced with a space.
            'Â' => next.is_none_or(|next| next.is_whitespace()),
            // After a digit, it may be the first letter of a unit.
            '\u{fffd}' => place == 0 || !letters[place - 1].is_ascii_digit(),
            _ => false,
        };
        out.push(if is_blank { ' ' } else { *letter });
        place += 1;
    }
    out
}

/// The letter whose UTF-8 bytes these letters are, and the number of bytes.
fn original(letters: &[char]) -> Option<(char, usize)> {
    let first = windows_byte(*letters.first()?)?;
    let length = match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return None,
    };
    let bytes: Option<Vec<u8>> = (letters.get(..length)?.iter())
        .map(|letter| windows_byte(*letter))
        .collect();
    let text = String::from_utf8(bytes?).ok()?;
    Some((text.chars().next()?, length))
}

fn windows_letter(byte: u8) -> char {
    match byte {
        0x80..=0x9f => WINDOWS[usize::from(byte - 0x80)],
        other => char::from(other),
    }
}

fn windows_byte(letter: char) -> Option<u8> {
    if let Ok(byte) = u8::try_from(u32::from(letter)) {
        return Some(byte);
    }
    let place = WINDOWS.iter().position(|other| *other == letter)?;
    u8::try_from(place + 0x80).ok()
}

const DECODED_WRONG: usize = 2;

/// Windows-1252 from 0x80 to 0x9f; bytes without a letter stand for themselves.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_other_systems_is_text() {
        // Method: UTF-16 in both orders, Windows-1252, and a file that is not text.
        assert_eq!(text_of(b"\xff\xfea\0b\0").as_deref(), Some("ab"));
        assert_eq!(text_of(b"\xfe\xff\0a\0b").as_deref(), Some("ab"));
        assert_eq!(
            text_of(b"a\xa05 \xb5s \x96").as_deref(),
            Some("a\u{a0}5 µs –")
        );
        assert_eq!(text_of(b"a\0b"), None);
    }

    #[test]
    fn text_in_the_wrong_encoding_is_repaired() {
        // Method: blanks, dashes and units whose UTF-8 was read as Windows-1252, once and twice;
        // lost letters; and text that is correct.
        let table = [
            ("Level:Â\u{a0} 20", "Level:\u{a0} 20"),
            ("Level:Â  20", "Level:   20"),
            ("Ã‚Â\u{a0}5", "\u{a0}5"),
            ("5 Âµs", "5 µs"),
            ("5 Î¼s", "5 μs"),
            ("a â€“ b", "a – b"),
            ("5â€¯000", "5\u{202f}000"),
            ("Level:\u{fffd}\u{fffd}20", "Level:  20"),
            ("5.1\u{fffd}s", "5.1\u{fffd}s"),
            ("średnio, naïve, Âge", "średnio, naïve, Âge"),
        ];
        for (line, expected) in table {
            assert_eq!(repaired(line), expected, "{line:?}");
        }
    }
}
