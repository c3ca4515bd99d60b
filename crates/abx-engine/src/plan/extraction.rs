//! Values that are taken from a response, for later steps.

use abx_wire::http1::response_headers;
use serde_json::Value;

/// A value that a response has to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extraction {
    pub value: usize,
    pub name: String,
    pub source: ValueSource,
    /// The text before it; empty if it is at the beginning.
    pub after: String,
    /// The text after it; empty if it extends to the end.
    pub before: String,
}

/// Where in a response a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueSource {
    /// In its body, which is JSON, at this pointer (RFC 6901).
    Json(String),
    /// In a header of this name; of several, the first that fits.
    Header(String),
    /// In its body, which is text.
    Body,
}

impl Extraction {
    /// Whether it needs the body.
    #[must_use]
    pub fn needs_body(&self) -> bool {
        !matches!(self.source, ValueSource::Header(_))
    }

    /// The value, from a response whose bytes begin with `head`; `None` if there is none, or
    /// an empty one. A number or an object is taken as it is written in JSON.
    pub(crate) fn take(&self, head: &[u8], body: &[u8]) -> Option<String> {
        match &self.source {
            ValueSource::Json(pointer) => {
                let read: Value = serde_json::from_slice(body).ok()?;
                match read.pointer(pointer)? {
                    Value::Null => None,
                    Value::String(text) => self.cut(text),
                    other => self.cut(&other.to_string()),
                }
            }
            ValueSource::Header(name) => {
                let texts = response_headers(head, name);
                texts.iter().find_map(|text| self.cut(text))
            }
            ValueSource::Body => self.cut(std::str::from_utf8(body).ok()?),
        }
    }

    /// The part of a text that is the value.
    fn cut(&self, text: &str) -> Option<String> {
        let from = text.find(&self.after)? + self.after.len();
        let rest = &text[from..];
        let until = if self.before.is_empty() {
            rest.len()
        } else {
            rest.find(&self.before)?
        };
        let value = &rest[..until];
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// Where the value was looked for.
    pub(crate) fn place(&self) -> String {
        let place = match &self.source {
            ValueSource::Json(pointer) => format!("JSON at \"{pointer}\""),
            ValueSource::Header(name) => format!("header {name}"),
            ValueSource::Body => "body".to_owned(),
        };
        match (self.after.is_empty(), self.before.is_empty()) {
            (true, true) => place,
            (false, true) => format!("{place} after {:?}", self.after),
            (true, false) => format!("{place} before {:?}", self.before),
            (false, false) => format!("{place} between {:?} and {:?}", self.after, self.before),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX-A: one\r\n\
          Set-Cookie: theme=dark; Path=/\r\nSet-Cookie: sid=42; Path=/\r\n\r\n";

    fn taken(source: ValueSource, cut: (&str, &str), body: &str) -> Option<String> {
        let extraction = Extraction {
            value: 0,
            name: "a".to_owned(),
            source,
            after: cut.0.to_owned(),
            before: cut.1.to_owned(),
        };
        extraction.take(HEAD, body.as_bytes())
    }

    #[test]
    fn json_pointers_give_texts_as_they_are_and_the_rest_as_json() {
        // Method: each kind of value, escapes of RFC 6901, and values that are not there.
        let body = r#"{"data":{"token":"a\"b","id":17,"ok":true,"no":null,"empty":""},"l":[[1,2]],"a/b":"x"}"#;
        for (pointer, expected) in [
            ("/data/token", Some("a\"b")),
            ("/data/id", Some("17")),
            ("/data/ok", Some("true")),
            ("/l/0", Some("[1,2]")),
            ("/a~1b", Some("x")),
            ("/data/no", None),
            ("/data/empty", None),
            ("/data/other", None),
            ("/l/7", None),
        ] {
            let text = taken(ValueSource::Json(pointer.to_owned()), ("", ""), body);
            assert_eq!(text.as_deref(), expected, "{pointer}");
        }
        let pointer = || ValueSource::Json("/a".to_owned());
        assert_eq!(taken(pointer(), ("", ""), "<html>"), None);
        let cut = taken(pointer(), ("id=", "&"), r#"{"a":"/x?id=5&b"}"#);
        assert_eq!(cut.as_deref(), Some("5"));
    }

    #[test]
    fn headers_and_texts_are_cut_between_two_words() {
        // Method: a header in any case, the matching one of two cookies after an interim
        // head, a form's field, and ends that do not come.
        let header = |name: &str| ValueSource::Header(name.to_owned());
        assert_eq!(taken(header("x-a"), ("", ""), "").as_deref(), Some("one"));
        assert_eq!(
            taken(header("Set-Cookie"), ("sid=", ";"), "").as_deref(),
            Some("42")
        );
        assert_eq!(taken(header("Set-Cookie"), ("other=", ";"), ""), None);
        assert_eq!(taken(header("X-B"), ("", ""), ""), None);
        let form = r#"<input name="csrf" value="abc">"#;
        let cut = |after, before| taken(ValueSource::Body, (after, before), form);
        assert_eq!(cut(r#"name="csrf" value=""#, "\"").as_deref(), Some("abc"));
        assert_eq!(cut(r#"name="csrf" value=""#, "'"), None);
        assert_eq!(cut("value=\"\">", ""), None);
    }
}
