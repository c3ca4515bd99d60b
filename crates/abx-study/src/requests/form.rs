//! A form as a browser sends it: fields and files in a body of several parts
//! (`multipart/form-data`, RFC 7578).

#[cfg(any(test, fuzzing))]
pub mod fuzz;

use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::requests::numbered::BODIES_BYTES_MAX;
use crate::requests::request_placeholder::without_placeholders;

/// A form as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    pub content_type: String,
    pub body: Vec<u8>,
}

/// Why a form cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum FormError {
    /// Not a field. The given word may be secret.
    #[error(
        "a field of a form is NAME=VALUE, or NAME=@FILE for a file, or NAME=<FILE for its text"
    )]
    Field,
    #[error("the file `{file}` of the field `{name}` cannot be read: {why}: give a readable file")]
    File {
        name: String,
        file: String,
        /// Why not.
        why: io::Error,
    },
    #[error("the type of the field `{0}` is not a media type: write one such as text/html")]
    Type(String),
    #[error("the form is longer than {} MiB: send less", BODIES_BYTES_MAX >> 20)]
    TooLarge,
}

/// A field as a person writes it, like curl's: `name=value`, `name=@file`, `name=<file`, with
/// `;type=TYPE` and `;filename=NAME` after it if they are wanted.
struct FieldWord<'a> {
    name: &'a str,
    source: FieldSource<'a>,
    content_type: Option<&'a str>,
    file_name: Option<&'a str>,
}

/// Where a field's content comes from.
enum FieldSource<'a> {
    Text(&'a str),
    /// A file, sent as one.
    File(&'a str),
    /// The text in a file.
    TextOf(&'a str),
}

/// A field with its content.
struct Part {
    head: String,
    content: Vec<u8>,
    is_from_file: bool,
}

impl Form {
    /// Assembles fields in their order. `read` returns the content of a file, whose placeholders
    /// are filled in only if `has_templates`.
    pub fn of<'a>(
        words: impl IntoIterator<Item = &'a str>,
        read: impl Fn(&str) -> io::Result<Vec<u8>>,
        has_templates: bool,
    ) -> Result<Form, FormError> {
        let parts = words.into_iter().map(|word| {
            let field = FieldWord::of(word).ok_or(FormError::Field)?;
            field.part(&read)
        });
        let mut parts = parts.collect::<Result<Vec<Part>, FormError>>()?;
        if !has_templates {
            escape_files(&mut parts);
        }
        let bytes: usize = parts.iter().map(Part::bytes).sum();
        if bytes > BODIES_BYTES_MAX {
            return Err(FormError::TooLarge);
        }
        let boundary = boundary(&parts);
        let mut body = Vec::with_capacity(bytes + (parts.len() + 1) * (boundary.len() + 8));
        for part in &parts {
            body.extend_from_slice(format!("--{boundary}\r\n{}\r\n", part.head).as_bytes());
            body.extend_from_slice(&part.content);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        Ok(Form {
            content_type: format!("multipart/form-data; boundary={boundary}"),
            body,
        })
    }
}

impl FieldWord<'_> {
    fn of(word: &str) -> Option<FieldWord<'_>> {
        let (name, mut rest) = word.split_once('=').filter(|(name, _)| !name.is_empty())?;
        let (mut content_type, mut file_name) = (None, None);
        // Only these suffixes are not part of the value.
        while let Some((before, last)) = rest.rsplit_once(';') {
            if let Some(value) = last.strip_prefix("type=") {
                content_type = Some(value);
            } else if let Some(value) = last.strip_prefix("filename=") {
                file_name = Some(value);
            } else {
                break;
            }
            rest = before;
        }
        let source = match (rest.strip_prefix('@'), rest.strip_prefix('<')) {
            (Some(file), _) => FieldSource::File(file),
            (None, Some(file)) => FieldSource::TextOf(file),
            (None, None) => FieldSource::Text(rest),
        };
        Some(FieldWord {
            name,
            source,
            content_type,
            file_name,
        })
    }

    fn part(&self, read: &impl Fn(&str) -> io::Result<Vec<u8>>) -> Result<Part, FormError> {
        let read = |file: &str| {
            read(file).map_err(|why| FormError::File {
                name: self.name.to_owned(),
                file: file.to_owned(),
                why,
            })
        };
        let is_from_file = !matches!(self.source, FieldSource::Text(_));
        let (content, file_name, usual_type) = match self.source {
            FieldSource::Text(text) => (text.as_bytes().to_vec(), None, None),
            FieldSource::TextOf(file) => (read(file)?, None, None),
            FieldSource::File(file) => {
                let last = Path::new(file).file_name().and_then(|name| name.to_str());
                (read(file)?, Some(last.unwrap_or(file)), Some(type_of(file)))
            }
        };
        let mut head = format!(
            "Content-Disposition: form-data; name=\"{}\"",
            quoted(self.name)
        );
        if let Some(name) = self.file_name.or(file_name) {
            head.push_str(&format!("; filename=\"{}\"", quoted(name)));
        }
        head.push_str("\r\n");
        if let Some(content_type) = self.content_type.or(usual_type) {
            if !is_type(content_type) {
                return Err(FormError::Type(self.name.to_owned()));
            }
            head.push_str(&format!("Content-Type: {content_type}\r\n"));
        }
        Ok(Part {
            head,
            content,
            is_from_file,
        })
    }
}

impl Part {
    fn bytes(&self) -> usize {
        self.head.len() + self.content.len()
    }
}

/// Escapes the placeholders in files, so that they are sent byte for byte.
fn escape_files(parts: &mut [Part]) {
    // No placeholder is filled in if a part is not text.
    let texts = parts.iter().map(|part| std::str::from_utf8(&part.content));
    let Ok(texts) = texts.collect::<Result<Vec<&str>, _>>() else {
        return;
    };
    let escaped: Vec<String> = texts.into_iter().map(without_placeholders).collect();
    for (part, escaped) in parts.iter_mut().zip(escaped) {
        if part.is_from_file {
            part.content = escaped.into_bytes();
        }
    }
}

/// The boundary between parts: a hash of the parts, which occurs in none of them. The same form has
/// the same boundary, and so the same body, in every run.
fn boundary(parts: &[Part]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.bytes() as u64).to_le_bytes());
        hasher.update(&part.head);
        hasher.update(&part.content);
    }
    format!("abx-{}", &abx_model::hex(&hasher.finalize())[..32])
}

/// A name between quotation marks, as browsers write it (HTML, section 4.10.22.8).
fn quoted(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn is_type(text: &str) -> bool {
    let is_visible = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let parts = text.split_once('/');
    is_visible && parts.is_some_and(|(kind, rest)| !kind.is_empty() && !rest.is_empty())
}

/// The content type of a file by its extension, as in curl.
fn type_of(file: &str) -> &'static str {
    let ending = Path::new(file)
        .extension()
        .and_then(|ending| ending.to_str());
    match ending.unwrap_or_default().to_ascii_lowercase().as_str() {
        "gif" => "image/gif",
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain",
        "htm" | "html" => "text/html",
        "pdf" => "application/pdf",
        "xml" => "application/xml",
        "json" => "application/json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::request_placeholder::LineFiles;
    use crate::requests::request_spec::RequestSpec;

    fn read(file: &str) -> io::Result<Vec<u8>> {
        match file {
            "d/a.PNG" => Ok(b"\x89P\r\n".to_vec()),
            "note" => Ok(b"text".to_vec()),
            "braces" => Ok(b"{seq} {n} {{uuid}} {x}".to_vec()),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// The body with `B` for its boundary.
    fn sent(words: &[&str]) -> String {
        let form = Form::of(words.iter().copied(), read, false).unwrap();
        let (_, boundary) = form.content_type.split_once("boundary=").unwrap();
        assert!(boundary.len() <= 70, "RFC 2046");
        String::from_utf8_lossy(&form.body).replace(boundary, "B")
    }

    #[test]
    fn inputs_kept_by_fuzzing_are_whole_forms() {
        // Method: the fuzz target's body, on kept inputs and changes of them.
        abx_corpus::replay_text("form", 2_000, fuzz::any_text);
    }

    #[test]
    fn files_are_sent_byte_for_byte_unless_they_are_templates() {
        // Method: a file with placeholders next to a field with one, after the search for
        // placeholders; next to a file that is not text; and with templates.
        let sent = |words: &[&str], has_templates| {
            let form = Form::of(words.iter().copied(), read, has_templates).unwrap();
            let request = RequestSpec {
                body: form.body,
                is_form: true,
                ..RequestSpec::default()
            };
            let request = request.numbered(None).unwrap();
            let none = |_: &str| Err(io::ErrorKind::NotFound.into());
            let request = request[0].clone();
            let request = request.with_placeholders(&mut LineFiles::read_by(&none));
            let request = request.unwrap();
            let body = String::from_utf8_lossy(&request.body).into_owned();
            (body, request.placeholders.len())
        };
        for (words, count) in [
            (&["a={seq}", "f=@braces"][..], 1),
            (&["a={seq}", "f=<braces"], 1),
            (&["f=@braces", "g=@d/a.PNG"], 0),
        ] {
            let (body, placeholders) = sent(words, false);
            assert!(body.contains("\r\n{seq} {n} {{uuid}} {x}\r\n"), "{body}");
            assert_eq!(placeholders, count, "{words:?}");
        }
        let form = Form::of(["f=@braces"], read, true).unwrap();
        let request = RequestSpec {
            body: form.body,
            ..RequestSpec::default()
        };
        assert!(request.clone().numbered(None).is_err());
        assert_eq!(request.numbered(Some(2)).unwrap().len(), 2);
    }

    #[test]
    fn each_field_is_a_part() {
        // Method: each way to write a field, byte for byte.
        assert_eq!(
            sent(&["a=1", "b=x;y=z", "q\"=<note"]),
            "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n\
             --B\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\nx;y=z\r\n\
             --B\r\nContent-Disposition: form-data; name=\"q%22\"\r\n\r\ntext\r\n--B--\r\n"
        );
        assert_eq!(
            sent(&["f=@d/a.PNG"]),
            "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.PNG\"\r\n\
             Content-Type: image/png\r\n\r\n\u{fffd}P\r\n\r\n--B--\r\n"
        );
        assert_eq!(
            sent(&["f=@note;filename=n\";type=text/x-y"]),
            "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n%22\"\r\n\
             Content-Type: text/x-y\r\n\r\ntext\r\n--B--\r\n"
        );
        assert_eq!(type_of("a.tar.gz"), "application/octet-stream");
    }

    #[test]
    fn the_same_form_is_the_same_body() {
        // Method: a form twice, another value, another name, and the same bytes divided otherwise.
        let of = |words: &[&str]| Form::of(words.iter().copied(), read, false).unwrap();
        assert_eq!(of(&["a=1"]), of(&["a=1"]));
        for others in [&["a=2"][..], &["b=1"], &["a=", "a=1"], &["a=1", "a="]] {
            assert_ne!(of(&["a=1"]).content_type, of(others).content_type);
        }
    }

    #[test]
    fn an_invalid_form_is_refused_with_its_error() {
        // Method: one wrong field per error; no message repeats a value.
        let message = |word: &str| Form::of([word], read, false).unwrap_err().to_string();
        for word in ["hunter2", "=hunter2"] {
            let error = message(word);
            assert!(error.contains("NAME=VALUE") && !error.contains("hunter2"));
        }
        assert!(message("a=@gone").contains("`gone` of the field `a`"));
        assert!(message("a=1;type=html").contains("write one such as text/html"));
        assert!(message("a=1;type=a/b\r\nX: y").contains("write one such as text/html"));
    }
}
