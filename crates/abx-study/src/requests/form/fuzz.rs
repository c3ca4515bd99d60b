//! Properties of any form, checked by the fuzz target and by tests.

use std::io;

use super::{FieldSource, FieldWord, Form};

/// Assembles a form whose fields are the lines of a text. It has one part per field, with a head
/// that no value ends, and its boundary is in no part. Values of fields are sent unchanged.
///
/// # Panics
/// If a property does not hold.
pub fn any_text(text: &str) {
    let fields: Vec<&str> = text.split('\n').collect();
    for has_templates in [false, true] {
        match Form::of(fields.iter().copied(), read, has_templates) {
            Ok(form) => {
                check(&form, &fields);
                let again = Form::of(fields.iter().copied(), read, has_templates);
                assert_eq!(again.ok(), Some(form), "the same form is another");
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// A file holds its name twice; one whose name begins with `x` cannot be read.
fn read(file: &str) -> io::Result<Vec<u8>> {
    if file.starts_with('x') {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok([file, "\r\n", file].concat().into_bytes())
}

fn check(form: &Form, fields: &[&str]) {
    let (_, boundary) = form
        .content_type
        .split_once("; boundary=")
        .expect("it has a boundary");
    let body = std::str::from_utf8(&form.body).expect("all of it is text");
    let body = body.strip_suffix("--\r\n").expect("it ends");
    let line = format!("--{boundary}");
    let mut parts = body.split(&line);
    assert_eq!(parts.next(), Some(""), "something stands before the parts");
    for field in fields {
        let part = parts.next().expect("each field is a part");
        let (head, content) = part.split_once("\r\n\r\n").expect("a part has a head");
        let content = content
            .strip_suffix("\r\n")
            .expect("a part ends with its line");
        let (start, types) = match head.split_once("\r\nContent-Type: ") {
            Some((start, types)) => (start, Some(types)),
            None => (head, None),
        };
        let start = start.strip_prefix("\r\nContent-Disposition: form-data; name=\"");
        let start = start.expect("a part has a name");
        assert!(!start.contains(['\r', '\n']), "{head:?}");
        assert!(matches!(start.matches('"').count(), 1 | 3), "{head:?}");
        assert!(
            types.is_none_or(|types| !types.contains(char::is_control)),
            "{head:?}"
        );
        let word = FieldWord::of(field).expect("it is a field");
        if let FieldSource::Text(text) = word.source {
            assert_eq!(content, text, "another value");
        }
    }
    assert_eq!(parts.next(), Some(""), "the last boundary ends the form");
    assert_eq!(parts.next(), None, "a part holds the boundary");
}
