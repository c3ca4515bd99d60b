//! Lines of text without colours, strange blanks, typographic dashes and markup.

/// A line of a file, with its number from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextLine {
    pub(crate) number: usize,
    pub(crate) text: String,
}

/// The text of a file: UTF-8, or UTF-16 with its mark; `None` when it is no text.
#[must_use]
pub fn text_of(bytes: &[u8]) -> Option<String> {
    let units = |order: fn([u8; 2]) -> u16| -> Vec<u16> {
        let pairs = bytes[2..].chunks_exact(2);
        pairs.map(|pair| order([pair[0], pair[1]])).collect()
    };
    let text = match bytes {
        [0xff, 0xfe, ..] => String::from_utf16_lossy(&units(u16::from_le_bytes)),
        [0xfe, 0xff, ..] => String::from_utf16_lossy(&units(u16::from_be_bytes)),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    };
    (!text.contains('\0')).then_some(text)
}

/// The lines of a text, readable.
pub(crate) fn lines(text: &str) -> Vec<TextLine> {
    // Line ends of another age.
    let text = match text.contains('\n') {
        true => text.to_owned(),
        false => text.replace('\r', "\n"),
    };
    let each = text.split('\n').enumerate();
    each.map(|(index, line)| TextLine {
        number: index + 1,
        text: clean(line),
    })
    .collect()
}

fn clean(line: &str) -> String {
    let plain = without_escapes(line.trim_end_matches('\r'));
    let plain = without_markup(&plain);
    let letters: Vec<char> = plain.chars().filter(|one| !is_unseen(*one)).collect();
    let mut out = String::with_capacity(plain.len());
    for (place, letter) in letters.iter().enumerate() {
        match letter {
            '–' | '—' => {
                let starts = place == 0 || letters[place - 1].is_whitespace();
                let names = letters
                    .get(place + 1)
                    .is_some_and(|next| next.is_alphabetic());
                out.push_str(if starts && names { "--" } else { "-" });
            }
            '−' | '‐' | '‑' => out.push('-'),
            '“' | '”' | '„' | '«' | '»' => out.push('"'),
            '‘' | '’' | '‚' => out.push('\''),
            '\u{ff01}'..='\u{ff5e}' => {
                let plain = u32::from(*letter) - 0xfee0;
                out.push(char::from_u32(plain).unwrap_or(' '));
            }
            '\t' => out.push('\t'),
            other if other.is_whitespace() || other.is_control() => out.push(' '),
            other => out.push(*other),
        }
    }
    without_quote_marks(&out)
}

fn is_unseen(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}'
    )
}

/// Without what colours a terminal or moves its cursor.
fn without_escapes(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter != '\x1b' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('[') => {
                letters.find(|one| ('@'..='~').contains(one));
            }
            Some(']') => {
                letters.find(|one| *one == '\x07' || *one == '\\');
            }
            _ => {}
        }
    }
    out
}

/// Without the tags and entities of HTML: a report pasted from a page.
fn without_markup(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find('<') {
        let (before, tag) = rest.split_at(start);
        out.push_str(before);
        let opens = { tag[1..].chars().next() }
            .is_some_and(|next| next.is_ascii_alphabetic() || next == '/');
        match tag.find('>').filter(|_| opens) {
            Some(end) => {
                out.push(' ');
                rest = &tag[end + 1..];
            }
            None => {
                out.push('<');
                rest = &tag[1..];
            }
        }
    }
    out.push_str(rest);
    if !out.contains('&') {
        return out;
    }
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&nbsp;", " "),
        ("&quot;", "\""),
        ("&#37;", "%"),
        ("&amp;", "&"),
    ];
    entities
        .iter()
        .fold(out, |text, (entity, letter)| text.replace(entity, letter))
}

/// Without the marks of quoted mail and Markdown.
fn without_quote_marks(line: &str) -> String {
    let mut rest = line;
    while let Some(inner) = rest.trim_start().strip_prefix('>') {
        rest = inner;
    }
    rest.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_surrounds_a_line_is_taken_away() {
        // Method: colours, a cursor's way, quotes, tags, entities, dashes, blanks of all kinds.
        let table = [
            ("\x1b[1;32mTotal:\x1b[0m 5\r", "Total: 5"),
            ("\x1b]0;title\x07x", "x"),
            ("> > Total: 5", " Total: 5"),
            ("<td>Total:</td><td>5</td>", " Total:  5 "),
            ("&lt;=1 &amp;lt; 2", "<=1 &lt; 2"),
            ("a <= b <$Revision$>", "a <= b <$Revision$>"),
            ("httperf –server=x – y", "httperf --server=x - y"),
            ("5\u{a0}555\u{202f}s\u{200b}", "5 555 s"),
            ("Ｔotal： ５", "Total: 5"),
        ];
        for (line, expected) in table {
            assert_eq!(clean(line), expected, "{line:?}");
        }
    }

    #[test]
    fn text_of_other_systems_is_text() {
        // Method: UTF-16 in both orders, old line ends, and what is no text.
        assert_eq!(text_of(b"\xff\xfea\0b\0").as_deref(), Some("ab"));
        assert_eq!(text_of(b"\xfe\xff\0a\0b").as_deref(), Some("ab"));
        assert_eq!(text_of(b"a\0b"), None);
        let numbers: Vec<usize> = lines("a\rb").iter().map(|line| line.number).collect();
        assert_eq!(numbers, [1, 2]);
    }
}
