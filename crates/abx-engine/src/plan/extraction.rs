//! Values that later steps take from a response.

use abx_wire::http1::response_headers;
use serde_json::Value;

/// A value that a response has to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extraction {
    pub value: usize,
    pub name: String,
    pub source: ValueSource,
    /// The text before the value; empty if the value is at the beginning.
    pub after: String,
    /// The text after the value; empty if the value extends to the end.
    pub before: String,
}

/// Where in a response a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueSource {
    /// In a JSON body, at this pointer (RFC 6901).
    Json(String),
    /// In the first matching header of this name.
    Header(String),
    /// In a body of text.
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
                let json: Value = serde_json::from_slice(body).ok()?;
                match json.pointer(pointer)? {
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

    fn extract(source: ValueSource, [after, before]: [&str; 2], body: &str) -> Option<String> {
        let extraction = Extraction {
            value: 0,
            name: "a".to_owned(),
            source,
            after: after.to_owned(),
            before: before.to_owned(),
        };
        extraction.take(HEAD, body.as_bytes())
    }

    #[test]
    fn json_pointers_give_strings_unquoted_and_other_values_as_json() {
        // Method: each kind of value, escapes of RFC 6901, and missing values.
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
            let value = extract(ValueSource::Json(pointer.to_owned()), ["", ""], body);
            assert_eq!(value.as_deref(), expected, "{pointer}");
        }
        let pointer = || ValueSource::Json("/a".to_owned());
        assert_eq!(extract(pointer(), ["", ""], "<html>"), None);
        let cut = extract(pointer(), ["id=", "&"], r#"{"a":"/x?id=5&b"}"#);
        assert_eq!(cut.as_deref(), Some("5"));
    }

    #[test]
    fn headers_and_texts_are_cut_between_two_delimiters() {
        // Method: a header in any case, the matching one of two cookies after an interim
        // head, a form's field, and delimiters that are missing.
        let header = |name: &str, after, before| {
            let source = ValueSource::Header(name.to_owned());
            extract(source, [after, before], "")
        };
        assert_eq!(header("x-a", "", "").as_deref(), Some("one"));
        assert_eq!(header("Set-Cookie", "sid=", ";").as_deref(), Some("42"));
        assert_eq!(header("Set-Cookie", "other=", ";"), None);
        assert_eq!(header("X-B", "", ""), None);
        let form = r#"<input name="csrf" value="abc">"#;
        let cut = |after, before| extract(ValueSource::Body, [after, before], form);
        assert_eq!(cut(r#"name="csrf" value=""#, "\"").as_deref(), Some("abc"));
        assert_eq!(cut(r#"name="csrf" value=""#, "'"), None);
        assert_eq!(cut("value=\"\">", ""), None);
    }
}
