//! Properties of placeholders in any text, checked by the fuzz target and by tests.

use std::io;

use abx_engine::{HttpVersion, PlaceholderPart, SENT_BEFORE_LOAD};

use super::{LineFiles, without_placeholders};
use crate::requests::request_spec::RequestSpec;

/// Finds the placeholders of a request: the lines of `text` are its path, a header and its body.
/// They lie in their parts and in order, the request before a load has none, and an escaped text
/// is sent as it was before.
///
/// # Panics
/// If a property does not hold.
pub fn any_text(text: &str) {
    let mut parts = text.splitn(3, '\n');
    let mut part = || parts.next().unwrap_or_default();
    let texts = [part(), part(), part()];
    match filled(texts) {
        Ok(request) => check(&request),
        Err(message) => assert!(!message.is_empty()),
    }
    let literal = texts.map(without_placeholders);
    let request = filled(literal.each_ref().map(String::as_str)).expect("nothing is filled in");
    assert!(!request.has_placeholders(), "{literal:?}");
    assert_eq!(parts_of(&request), texts, "the text has changed");
}

/// The request of a path, a header's value and a body. A file of lines holds its own name, in which
/// `|` ends a line; one whose name begins with `x` cannot be read.
fn filled([path, header, body]: [&str; 3]) -> Result<RequestSpec, String> {
    let request = RequestSpec {
        path: Some(path.to_owned()),
        headers: vec![("X".to_owned(), header.to_owned())],
        body: body.as_bytes().to_vec(),
        ..RequestSpec::default()
    };
    let read = |file: &str| {
        if file.starts_with('x') {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(file.replace('|', "\n"))
    };
    let request = request.with_placeholders(&mut LineFiles::read_by(&read));
    request.map_err(|error| error.to_string())
}

fn parts_of(request: &RequestSpec) -> [&str; 3] {
    let path = request.path.as_deref().unwrap_or_default();
    let body = std::str::from_utf8(&request.body).expect("it was text");
    [path, &request.headers[0].1, body]
}

fn check(request: &RequestSpec) {
    let parts = parts_of(request);
    let mut ends = [0; 3];
    for placeholder in &request.placeholders {
        let place = match placeholder.part {
            PlaceholderPart::Path => 0,
            PlaceholderPart::Header(_) => 1,
            PlaceholderPart::Body => 2,
        };
        assert!(ends[place] <= placeholder.start, "they overlap");
        ends[place] = placeholder.end;
        let word = parts[place].get(placeholder.start..placeholder.end);
        let word = word.expect("it lies in its part");
        assert!(word.starts_with('{') && word.ends_with('}'), "{word}");
    }
    let plan = request.plan(HttpVersion::Http11, "h", None);
    for number in 0..SENT_BEFORE_LOAD {
        let example = plan.example(number, 1);
        assert!(example.placeholders.is_empty());
        assert!(
            std::str::from_utf8(&example.body).is_ok(),
            "a letter is cut"
        );
    }
}
