//! `{seq}`, `{rand:1..1000}`, `{uuid}` and `{line:FILE}` in the path, the values of headers and
//! the body of a request.
//!
//! Only these, and `{n}` in numbered requests, are placeholders, so the braces of JSON need no
//! escaping. Doubled braces around a placeholder, as in `{{seq}}`, write `{seq}`.

#[cfg(any(test, fuzzing))]
pub mod fuzz;

use std::collections::HashMap;
use std::io;

use abx_engine::{LineList, PlaceholderKind, PlaceholderPart, RequestPlaceholder};

use crate::requests::request_spec::RequestSpec;
use crate::units;

/// The longest file of lines, in bytes.
pub const LINES_BYTES_MAX: usize = 64 << 20;
/// The greatest number that can be drawn.
const NUMBER_MAX: u64 = 1_000_000_000_000_000_000;
/// The words without a value.
const PLAIN: [&str; 3] = ["n", "seq", "uuid"];
/// The prefixes of words with a value.
const RANDOM: &str = "rand:";
const LINE: &str = "line:";

/// Why a placeholder cannot be filled in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestPlaceholderError {
    #[error(
        "`{{{word}}}` is not a range: write two numbers from 0 to 10^18, the smaller one first, \
         such as {{rand:1..1000}}, or {{{{{word}}}}} for the text itself"
    )]
    Range {
        /// The text between the braces.
        word: String,
    },
    #[error(
        "`{{line:{file}}}`: cannot read {file}: {why}: give a text file with one value per line"
    )]
    File { file: String, why: String },
    #[error("`{{line:{file}}}`: {file} has no values: write one per line")]
    NoLine { file: String },
    #[error(
        "`{{line:{file}}}`: {file} has a line with a control character, `{line}`, which no header \
         can have: remove it"
    )]
    Control {
        file: String,
        /// The line, with spaces in place of such characters.
        line: String,
    },
    #[error(
        "placeholders such as {{seq}} work in HTTP requests, not in the request that opens a \
         WebSocket: leave them out, or double their braces for the text itself"
    )]
    WebSocket,
}

/// The lines of a file, and the first of them that no header can have.
type CheckedList = (LineList, Option<String>);

/// The files whose lines are filled in, each read once.
pub struct LineFiles<'a> {
    read: &'a dyn Fn(&str) -> io::Result<String>,
    lists: HashMap<(String, bool), CheckedList>,
}

/// A placeholder in a text, escaped or not.
struct Word<'a> {
    start: usize,
    end: usize,
    /// The text between the braces.
    inner: &'a str,
    is_escaped: bool,
}

impl<'a> LineFiles<'a> {
    /// Files whose text `read` returns by their name.
    #[must_use]
    pub fn read_by(read: &'a dyn Fn(&str) -> io::Result<String>) -> LineFiles<'a> {
        LineFiles {
            read,
            lists: HashMap::new(),
        }
    }

    /// The lines of a file that are not empty, encoded for this part of a request.
    fn list(
        &mut self,
        file: &str,
        part: PlaceholderPart,
    ) -> Result<LineList, RequestPlaceholderError> {
        let is_path = part == PlaceholderPart::Path;
        let key = (file.to_owned(), is_path);
        let (list, unfit) = match self.lists.get(&key) {
            Some(checked) => checked.clone(),
            None => {
                let text = (self.read)(file).map_err(|error| RequestPlaceholderError::File {
                    file: file.to_owned(),
                    why: error.to_string(),
                })?;
                let lines = units::without_mark(&text).lines();
                let lines = lines.filter(|line| !line.is_empty());
                let lines = lines.map(|line| {
                    if is_path {
                        escaped(line)
                    } else {
                        line.to_owned()
                    }
                });
                let list = LineList::new(file, lines.collect());
                let list = list.ok_or_else(|| RequestPlaceholderError::NoLine {
                    file: file.to_owned(),
                })?;
                let is_control = |letter: char| letter.is_control() && letter != '\t';
                let mut lines = list.lines().iter();
                let unfit = lines.find(|line| line.contains(is_control));
                let unfit = unfit.map(ToString::to_string);
                self.lists.entry(key).or_insert((list, unfit)).clone()
            }
        };
        match unfit {
            Some(line) if matches!(part, PlaceholderPart::Header(_)) => {
                Err(RequestPlaceholderError::Control {
                    file: file.to_owned(),
                    line: line.replace(char::is_control, " "),
                })
            }
            _ => Ok(list),
        }
    }
}

impl RequestSpec {
    /// Finds the placeholders of a request, whose `{n}` has been filled in.
    ///
    /// # Errors
    /// [`RequestPlaceholderError`], all but the last.
    pub fn with_placeholders(
        mut self,
        files: &mut LineFiles,
    ) -> Result<RequestSpec, RequestPlaceholderError> {
        let mut placeholders = Vec::new();
        if let Some(path) = &mut self.path {
            find(path, PlaceholderPart::Path, files, &mut placeholders)?;
        }
        for (index, (_, value)) in self.headers.iter_mut().enumerate() {
            let part = PlaceholderPart::Header(index);
            find(value, part, files, &mut placeholders)?;
        }
        // A body that is not text is sent unchanged.
        let text = std::str::from_utf8(&self.body).ok();
        let text = text.filter(|_| !self.is_verbatim);
        if let Some(text) = text.filter(|text| words(text).next().is_some()) {
            let mut text = text.to_owned();
            find(&mut text, PlaceholderPart::Body, files, &mut placeholders)?;
            self.body = text.into_bytes();
        }
        self.placeholders = placeholders;
        Ok(self)
    }

    /// Whether anything is filled in for each request.
    #[must_use]
    pub fn has_placeholders(&self) -> bool {
        !self.placeholders.is_empty()
    }
}

/// A text with its placeholders escaped, so that it is sent literally.
#[must_use]
pub fn without_placeholders(text: &str) -> String {
    let mut literal = String::with_capacity(text.len());
    let mut copied = 0;
    for word in words(text) {
        literal.push_str(&text[copied..word.start]);
        literal.extend(["{", &text[word.start..word.end], "}"]);
        copied = word.end;
    }
    literal.push_str(&text[copied..]);
    literal
}

/// Removes the escapes from a text, and adds its placeholders to the list.
fn find(
    text: &mut String,
    part: PlaceholderPart,
    files: &mut LineFiles,
    placeholders: &mut Vec<RequestPlaceholder>,
) -> Result<(), RequestPlaceholderError> {
    let mut unescaped = String::new();
    let mut copied = 0;
    for word in words(text) {
        unescaped.push_str(&text[copied..word.start]);
        copied = word.end;
        let start = unescaped.len();
        unescaped.extend(["{", word.inner, "}"]);
        if let Some(kind) = kind(&word, part, files)? {
            let end = unescaped.len();
            placeholders.push(RequestPlaceholder {
                part,
                start,
                end,
                kind,
            });
        }
    }
    unescaped.push_str(&text[copied..]);
    *text = unescaped;
    Ok(())
}

/// The value of a word; `None` for an escaped word and for `{n}`, which stay as they are.
fn kind(
    word: &Word,
    part: PlaceholderPart,
    files: &mut LineFiles,
) -> Result<Option<PlaceholderKind>, RequestPlaceholderError> {
    if word.is_escaped {
        return Ok(None);
    }
    Ok(match word.inner {
        "seq" => Some(PlaceholderKind::Sequence),
        "uuid" => Some(PlaceholderKind::Uuid),
        inner => match (inner.strip_prefix(RANDOM), inner.strip_prefix(LINE)) {
            (Some(range), _) => {
                let range = self::range(range).ok_or_else(|| RequestPlaceholderError::Range {
                    word: inner.to_owned(),
                })?;
                Some(PlaceholderKind::Random {
                    first: range.0,
                    last: range.1,
                })
            }
            (_, Some(file)) => Some(PlaceholderKind::Line(files.list(file, part)?)),
            _ => None,
        },
    })
}

fn range(text: &str) -> Option<(u64, u64)> {
    let (first, last) = text.split_once("..")?;
    let number = |text: &str| {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| *number <= NUMBER_MAX);
        number.filter(|_| is_plain)
    };
    Some((number(first)?, number(last)?)).filter(|(first, last)| first <= last)
}

/// A text for a path: `#`, and everything except visible ASCII, as %XX.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && byte != b'#' {
            escaped.push(char::from(byte))
        } else {
            escaped.push_str(&format!("%{byte:02X}"))
        }
    }
    escaped
}

fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let start = from + text[from..].find('{')?;
            let word = word_at(text, start, true).or_else(|| word_at(text, start, false));
            from = word.as_ref().map_or(start + 1, |word| word.end);
            if word.is_some() {
                return word;
            }
        }
    })
}

fn word_at(text: &str, start: usize, is_escaped: bool) -> Option<Word<'_>> {
    let (open, close) = if is_escaped { ("{{", "}}") } else { ("{", "}") };
    let rest = text[start..].strip_prefix(open)?;
    let has_value = [RANDOM, LINE].iter().any(|word| rest.starts_with(word));
    let length = if has_value {
        rest.find(['{', '}', '\r', '\n'])?
    } else {
        PLAIN
            .iter()
            .find(|word| {
                rest.strip_prefix(**word)
                    .is_some_and(|after| after.starts_with('}'))
            })?
            .len()
    };
    let (inner, after) = rest.split_at(length);
    after.starts_with(close).then(|| Word {
        start,
        end: start + open.len() + length + close.len(),
        inner,
        is_escaped,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(file: &str) -> io::Result<String> {
        match file {
            "words" => Ok("\u{feff}one\r\n\na b#\u{e4}\n".to_owned()),
            "empty" => Ok("\n\n".to_owned()),
            "control" => Ok("a\u{7}b\n".to_owned()),
            _ => Err(io::Error::other("no such file")),
        }
    }

    fn filled(path: &str, header: &str, body: &[u8]) -> Result<RequestSpec, String> {
        let request = RequestSpec {
            path: Some(path.to_owned()),
            headers: vec![("X".to_owned(), header.to_owned())],
            body: body.to_vec(),
            ..RequestSpec::default()
        };
        let filled = request.with_placeholders(&mut LineFiles::read_by(&read));
        filled.map_err(|error| error.to_string())
    }

    #[test]
    fn inputs_kept_by_fuzzing_are_filled_in_or_refused() {
        // Method: the fuzz target's body, on kept inputs and changes of them.
        abx_corpus::replay_text("placeholders", 2_000, fuzz::any_text);
    }

    #[test]
    fn only_known_words_in_braces_are_placeholders() {
        // Method: each kind in a part of the request, among other braces and escaped placeholders.
        let path = "/{seq}{seqs}{{seq}}{rand:1..10}";
        let body = "{\"a\":{\"b\":{uuid}}, {n} {{n}} {} { seq } {uuid {{line:none}}";
        let request = filled(path, "{line:words}", body.as_bytes()).unwrap();
        assert_eq!(
            request.path.as_deref(),
            Some("/{seq}{seqs}{seq}{rand:1..10}")
        );
        let placeholders: Vec<(&str, &PlaceholderKind)> = request
            .placeholders
            .iter()
            .map(|placeholder| {
                let part = match placeholder.part {
                    PlaceholderPart::Path => request.path.as_ref().unwrap().as_bytes(),
                    PlaceholderPart::Header(index) => request.headers[index].1.as_bytes(),
                    PlaceholderPart::Body => &request.body,
                };
                let text = std::str::from_utf8(&part[placeholder.start..placeholder.end]).unwrap();
                (text, &placeholder.kind)
            })
            .collect();
        let lines = ["one", "a b#\u{e4}"].map(str::to_owned);
        let list = LineList::new("words", lines.into()).unwrap();
        let random = PlaceholderKind::Random { first: 1, last: 10 };
        assert_eq!(
            placeholders,
            [
                ("{seq}", &PlaceholderKind::Sequence),
                ("{rand:1..10}", &random),
                ("{line:words}", &PlaceholderKind::Line(list)),
                ("{uuid}", &PlaceholderKind::Uuid),
            ]
        );
        let body = "{\"a\":{\"b\":{uuid}}, {n} {n} {} { seq } {uuid {line:none}";
        assert_eq!(request.body, body.as_bytes());
        let verbatim = RequestSpec {
            body: b"{seq}{{seq}}".to_vec(),
            is_verbatim: true,
            ..RequestSpec::default()
        };
        let unchanged = verbatim
            .clone()
            .with_placeholders(&mut LineFiles::read_by(&read));
        assert_eq!(unchanged, Ok(verbatim));
        let binary = filled("/", "", b"\xff{seq}{{seq}}").unwrap();
        assert_eq!(binary.body, b"\xff{seq}{{seq}}");
        assert!(!binary.has_placeholders());
    }

    #[test]
    fn lines_are_percent_encoded_in_a_path() {
        // Method: a line with a space, a # and a letter beyond ASCII.
        let request = filled("/{line:words}", "", b"").unwrap();
        let PlaceholderKind::Line(list) = &request.placeholders[0].kind else {
            panic!("{request:?}");
        };
        assert_eq!(list.lines(), ["one", "a%20b%23%C3%A4"]);
    }

    #[test]
    fn invalid_placeholders_are_refused() {
        // Method: texts for each error.
        for (text, part) in [
            ("{rand:1}", "is not a range"),
            ("{rand:2..1}", "is not a range"),
            ("{rand:+1..2}", "is not a range"),
            ("{rand:..2}", "is not a range"),
            ("{rand:0..1000000000000000001}", "is not a range"),
            ("{line:none}", "cannot read none: no such file"),
            ("{line:empty}", "empty has no values"),
            ("{line:control}", "control character, `a b`"),
        ] {
            let error = filled("/", text, b"").unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(filled("/", "", b"{line:control}").is_ok());
    }

    proptest! {
        #[test]
        fn any_text_can_be_sent_literally(
            parts in prop::collection::vec(
                prop::sample::select(vec!["{", "}", "seq", "n", "uuid", "rand:1..2", "line:words", "x"]),
                0..14,
            ),
        ) {
            // Method: random braces and words; the request has the text itself, and nothing in it
            // is filled in.
            let text = parts.concat();
            let literal = without_placeholders(&text);
            let request = filled("/", &literal, literal.as_bytes()).unwrap();
            prop_assert_eq!(&request.headers[0].1, &text);
            prop_assert_eq!(request.body, text.into_bytes());
            prop_assert!(request.placeholders.is_empty());
        }
    }
}
