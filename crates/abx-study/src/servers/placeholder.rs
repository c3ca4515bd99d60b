//! `{port}`, `{dir}`, `{study}`, `{abx}` and `{build}` in commands, environments and templates;
//! `{port.NAME}` for a further port, and placeholders of a service, such as `{service.NAME.port}`.
//!
//! Only braces around letters of `a-z` and `_`, or around such a path of names, are a placeholder,
//! so the braces of a configuration need no escaping. `{{word}}` writes `{word}`.

use std::path::Path;

/// The words that may stand in braces, the last one only for a server that is built.
pub const WORDS: [&str; 5] = ["port", "dir", "study", "abx", "build"];

/// The words that may begin a path of names.
const PATHS: [&str; 2] = ["port", "service"];

/// A word, and its value.
pub type FilledWord = (String, String);

/// The values of placeholders.
#[derive(Debug, Clone, Copy)]
pub struct PlaceholderValues<'a> {
    /// The port that abx chose.
    pub port: u16,
    /// The subject's folder, fresh for each block.
    pub dir: &'a Path,
    pub study: &'a Path,
    /// The program of abx itself, if it is known.
    pub abx: Option<&'a Path>,
    /// The folder of the subject's build, if it has one.
    pub build: Option<&'a Path>,
    /// The values of paths of names, such as `port.NAME`.
    pub paths: &'a [FilledWord],
}

/// A word in braces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placeholder<'a> {
    /// The offset of its first brace, in bytes.
    pub offset: usize,
    /// The word without braces.
    pub word: &'a str,
    /// Whether doubled braces escape it.
    is_escaped: bool,
}

impl Placeholder<'_> {
    fn end(&self) -> usize {
        self.offset + self.word.len() + if self.is_escaped { 4 } else { 2 }
    }
}

/// The placeholders of a text, in order and without escaped ones.
pub fn placeholders(text: &str) -> impl Iterator<Item = Placeholder<'_>> {
    words(text).filter(|placeholder| !placeholder.is_escaped)
}

/// Replaces placeholders by their values. Unknown words stay as they are; a study file has none.
#[must_use]
pub fn fill(text: &str, values: &PlaceholderValues) -> String {
    let build = values.build.map(|build| build.to_string_lossy());
    let abx = values.abx.map(|abx| abx.to_string_lossy());
    let mut filled = String::with_capacity(text.len());
    let mut copied = 0;
    for placeholder in words(text) {
        filled.push_str(&text[copied..placeholder.offset]);
        copied = placeholder.end();
        match placeholder.word {
            word if placeholder.is_escaped => filled.push_str(&format!("{{{word}}}")),
            "port" => filled.push_str(&values.port.to_string()),
            "dir" => filled.push_str(&values.dir.to_string_lossy()),
            "study" => filled.push_str(&values.study.to_string_lossy()),
            "abx" if abx.is_some() => filled.push_str(abx.as_deref().unwrap_or_default()),
            "build" if build.is_some() => filled.push_str(build.as_deref().unwrap_or_default()),
            word => {
                let known = values.paths.iter().find(|(path, _)| path == word);
                let as_it_is = &text[placeholder.offset..copied];
                filled.push_str(known.map_or(as_it_is, |(_, value)| value));
            }
        }
    }
    filled.push_str(&text[copied..]);
    filled
}

fn words(text: &str) -> impl Iterator<Item = Placeholder<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let offset = from + text[from..].find('{')?;
            let placeholder =
                word_at(text, offset, "{{", "}}").or_else(|| word_at(text, offset, "{", "}"));
            if let Some(placeholder) = placeholder {
                from = placeholder.end();
                return Some(placeholder);
            }
            from = offset + 1;
        }
    })
}

fn word_at<'a>(text: &'a str, offset: usize, open: &str, close: &str) -> Option<Placeholder<'a>> {
    let inner = text[offset..].strip_prefix(open)?;
    let mut length = inner.find(|letter: char| !(letter.is_ascii_lowercase() || letter == '_'))?;
    if PATHS.contains(&&inner[..length]) && inner[length..].starts_with('.') {
        let is_of_names = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        length = inner.find(|letter| !is_of_names(letter))?;
    }
    let (word, rest) = inner.split_at(length);
    (!word.is_empty() && rest.starts_with(close)).then_some(Placeholder {
        offset,
        word,
        is_escaped: open.len() == 2,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> String {
        let (dir, study) = (Path::new("/d"), Path::new("/s"));
        let values = PlaceholderValues {
            port: 81,
            dir,
            study,
            abx: Some(Path::new("/a")),
            build: None,
            paths: &[("service.db-1.port".to_owned(), "82".to_owned())],
        };
        fill(text, &values)
    }

    #[test]
    fn only_words_in_braces_are_filled() {
        // Method: every shape of braces that configurations have.
        for (text, expected) in [
            ("-p {port} {dir}/x {study} {abx}", "-p 81 /d/x /s /a"),
            ("http { server {} }", "http { server {} }"),
            ("{\n}{Port}{port }{ port}", "{\n}{Port}{port }{ port}"),
            ("{{port}} {{host}} {{ x }}", "{port} {host} {{ x }}"),
            ("{{port}", "{81"),
            ("{build}", "{build}"),
            ("{é}{port", "{é}{port"),
            (
                "{service.db-1.port}{{service.db-1.port}}",
                "82{service.db-1.port}",
            ),
            ("{service.db-1.dir} {dir.x}", "{service.db-1.dir} {dir.x}"),
            ("", ""),
        ] {
            assert_eq!(filled(text), expected, "{text}");
        }
    }

    #[test]
    fn placeholders_have_their_offsets() {
        // Method: a known, an unknown and an escaped placeholder.
        let pairs: Vec<_> = placeholders("a{port}{{x}} {prot}")
            .map(|placeholder| (placeholder.offset, placeholder.word))
            .collect();
        assert_eq!(pairs, [(1, "port"), (13, "prot")]);
    }
}
