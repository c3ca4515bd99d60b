//! A file of requests: a JSON object on each line.

#[cfg(any(test, fuzzing))]
pub mod fuzz;

use std::collections::BTreeMap;

use abx_evidence::{ExpectedStatus, StatusError};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;

use crate::requests::numbered::{BODIES_BYTES_MAX, REQUESTS_MAX};
use crate::requests::request_spec::{RequestSpec, usual_method};
use crate::requests::url_list::{UrlListError, path_in_list};
use crate::servers::target::Target;
use crate::units;

/// The longest file of requests, in bytes.
pub const REQUEST_FILE_BYTES_MAX: usize = 128 << 20;
/// The largest weight of a request.
const WEIGHT_MAX: u32 = 10_000;

/// Why a file of requests cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestFileError {
    #[error("line {line}: {wrong}")]
    Line {
        /// The line, from 1.
        line: usize,
        wrong: RequestLineError,
    },
    #[error("{0}")]
    Path(#[from] UrlListError),
    #[error("there is no request in it: write one on each line, such as {{\"path\": \"/a\"}}")]
    Empty,
    #[error("it has more than {REQUESTS_MAX} requests: leave some out")]
    TooMany,
    #[error("its bodies are more than {} MiB: leave some out", BODIES_BYTES_MAX >> 20)]
    TooLarge,
}

/// The error in a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestLineError {
    #[error("{0}")]
    Json(String),
    #[error("`{0}` is not a method: give one such as GET")]
    Method(String),
    #[error("`{0}` is not a header name: use letters, digits and `-`")]
    HeaderName(String),
    #[error("the header `{0}` has a control character in its value: remove it")]
    HeaderValue(String),
    #[error("a request has either `body` or `body_base64`: leave one of them out")]
    TwoBodies,
    #[error("`body_base64` is not Base64 ({0}): correct it")]
    Base64(String),
    #[error("the weight is {0}: give a number from 1 to {WEIGHT_MAX}")]
    Weight(u32),
    #[error("`expect_status`: {0}")]
    Status(StatusError),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestLine {
    path: Option<String>,
    method: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, HeaderValues>,
    body: Option<String>,
    body_base64: Option<String>,
    weight: Option<u32>,
    expect_status: Option<StatusValue>,
}

/// A status, or a class of them.
#[derive(Deserialize)]
#[serde(untagged)]
enum StatusValue {
    One(u64),
    Class(String),
}

/// The value of a header, or several values of a header that is sent several times.
#[derive(Deserialize)]
#[serde(untagged)]
enum HeaderValues {
    One(String),
    Several(Vec<String>),
}

/// The requests of a file, in order. Empty lines and lines that begin with # are skipped. With a
/// server, URLs must be of that server; without one, only their paths are used.
pub fn requests_in(
    text: &str,
    server: Option<&Target>,
) -> Result<Vec<RequestSpec>, RequestFileError> {
    let mut requests = Vec::new();
    let mut bytes = 0_usize;
    let lines = units::without_mark(text).lines().map(str::trim).enumerate();
    for (index, text) in lines.filter(|(_, text)| !text.is_empty() && !text.starts_with('#')) {
        let line = index + 1;
        let at = |wrong| RequestFileError::Line { line, wrong };
        let read: RequestLine = serde_json::from_str(text).map_err(|error| at(unread(&error)))?;
        let path = read.path.as_deref().map(on_one_line);
        let path = path
            .map(|path| path_in_list(&path, line, server))
            .transpose()?;
        let request = request(read, path).map_err(at)?;
        bytes += request.body.len();
        if requests.len() == REQUESTS_MAX as usize {
            return Err(RequestFileError::TooMany);
        }
        if bytes > BODIES_BYTES_MAX {
            return Err(RequestFileError::TooLarge);
        }
        requests.push(request);
    }
    if requests.is_empty() {
        Err(RequestFileError::Empty)
    } else {
        Ok(requests)
    }
}

/// The JSON reader's message, with its column in the line.
fn unread(error: &serde_json::Error) -> RequestLineError {
    // The reader's input is a single line.
    let message = error.to_string();
    let message = message.replace(" at line 1 column ", " at column ");
    RequestLineError::Json(on_one_line(&message))
}

/// A text with spaces in place of control characters, which may be neither printed nor sent.
fn on_one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

fn request(line: RequestLine, path: Option<String>) -> Result<RequestSpec, RequestLineError> {
    // Base64 stands for bytes, which placeholders would change.
    let is_verbatim = line.body_base64.is_some();
    let body = match (line.body, line.body_base64) {
        (Some(_), Some(_)) => return Err(RequestLineError::TwoBodies),
        (Some(text), None) => Some(text.into_bytes()),
        (None, Some(text)) => Some(
            BASE64_STANDARD
                .decode(text.trim())
                .map_err(|error| RequestLineError::Base64(error.to_string()))?,
        ),
        (None, None) => None,
    };
    let usual = usual_method(body.is_some());
    let method = line.method.unwrap_or_else(|| usual.to_owned());
    if !units::is_token(&method) {
        return Err(RequestLineError::Method(on_one_line(&method)));
    }
    let weight = line.weight.unwrap_or(1);
    if !(1..=WEIGHT_MAX).contains(&weight) {
        return Err(RequestLineError::Weight(weight));
    }
    Ok(RequestSpec {
        method,
        path,
        headers: headers(line.headers)?,
        body: body.unwrap_or_default(),
        is_verbatim,
        weight,
        status: line.expect_status.map(status).transpose()?,
        ..RequestSpec::default()
    })
}

fn status(value: StatusValue) -> Result<ExpectedStatus, RequestLineError> {
    let text = match value {
        StatusValue::One(status) => status.to_string(),
        StatusValue::Class(text) => text,
    };
    text.parse().map_err(RequestLineError::Status)
}

fn headers(
    values_by_name: BTreeMap<String, HeaderValues>,
) -> Result<Vec<(String, String)>, RequestLineError> {
    let mut headers = Vec::new();
    for (name, values) in values_by_name {
        if !units::is_token(&name) {
            return Err(RequestLineError::HeaderName(on_one_line(&name)));
        }
        let values = match values {
            HeaderValues::One(value) => vec![value],
            HeaderValues::Several(values) => values,
        };
        for value in values {
            if value.chars().any(|char| char.is_control() && char != '\t') {
                return Err(RequestLineError::HeaderValue(name));
            }
            headers.push((name.clone(), value));
        }
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_a_request() {
        // Method: every key, a line without keys, and lines that are skipped.
        let text = "# of Monday\n\n{}\r\n{\"path\": \"/a?b\", \"body\": \"x\\n\"}\n\
            {\"method\": \"PUT\", \"path\": \"http://127.0.0.1/c\", \"body_base64\": \"/wA=\", \
            \"headers\": {\"A\": \"1\", \"B\": [\"2\", \"3\"]}, \"weight\": 7, \
            \"expect_status\": \"4xx\"}\n";
        let requests = requests_in(text, None).unwrap();
        let [first, second, third] = &requests[..] else {
            panic!("there are three");
        };
        assert_eq!(*first, RequestSpec::default());
        assert_eq!(
            (second.method.as_str(), &second.body[..]),
            ("POST", &b"x\n"[..])
        );
        assert_eq!(second.path.as_deref(), Some("/a?b"));
        assert_eq!(
            (third.method.as_str(), &third.body[..]),
            ("PUT", &b"\xff\0"[..])
        );
        assert_eq!((third.path.as_deref(), third.weight), (Some("/c"), 7));
        assert_eq!(third.status, Some("4xx".parse().unwrap()));
        let headers = third.headers.iter();
        let headers: Vec<_> = headers
            .map(|(name, value)| format!("{name}{value}"))
            .collect();
        assert_eq!(headers, ["A1", "B2", "B3"]);
    }

    #[test]
    fn an_invalid_line_is_named_by_its_number() {
        // Method: one file per error.
        let server = Target::parse("http://127.0.0.1:81/").unwrap();
        let message = |text: &str| requests_in(text, Some(&server)).unwrap_err().to_string();
        for (text, part) in [
            ("{}\n/a", "line 2: expected value at column 1"),
            ("{\"pth\": \"/\"}", "line 1: unknown field `pth`, expected"),
            ("{\"path\": \"a\"}", "line 1: `a` is neither"),
            (
                "{\"path\": \"http://127.0.0.1/\"}",
                "is not a URL of 127.0.0.1:81",
            ),
            ("{\"method\": \"GE T\"}", "line 1: `GE T` is not a method"),
            (
                "{\"headers\": {\"a b\": \"\"}}",
                "`a b` is not a header name",
            ),
            (
                "{\"headers\": {\"a\": \"\\n\"}}",
                "the header `a` has a control character",
            ),
            (
                "{\"body\": \"\", \"body_base64\": \"\"}",
                "either `body` or `body_base64`",
            ),
            ("{\"body_base64\": \"?\"}", "is not Base64"),
            ("{\"weight\": 0}", "the weight is 0"),
            (
                "{\"expect_status\": 7}",
                "line 1: `expect_status`: `7` is not",
            ),
            ("{\"expect_status\": \"any\"}", "`any` is not a status"),
            ("# none", "no request in it"),
        ] {
            assert!(message(text).contains(part), "{text}: {}", message(text));
        }
        let many = "{}\n".repeat(REQUESTS_MAX as usize + 1);
        assert_eq!(requests_in(&many, None), Err(RequestFileError::TooMany));
        assert!(requests_in(&many[3..], None).is_ok());
        let long = format!(
            "{{\"body\": \"{}\"}}\n",
            "x".repeat(BODIES_BYTES_MAX / 2 + 1)
        );
        assert!(requests_in(&long, None).is_ok());
        assert_eq!(
            requests_in(&long.repeat(2), None),
            Err(RequestFileError::TooLarge)
        );
    }

    #[test]
    fn inputs_kept_by_fuzzing_are_read_or_refused() {
        // Method: the fuzz target's body, on kept inputs and changes of them.
        abx_corpus::replay_text("request_file", 2_000, fuzz::any_text);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[{}\"a-c:,/\\[\\] \\n0-9]{0,60}") {
            // Method: the fuzz target's body, on random characters of such files.
            fuzz::any_text(&text);
        }

        #[test]
        fn any_words_of_such_files_are_read_or_refused(
            lines in prop::collection::vec(prop::collection::vec(prop::sample::select(vec![
                "{", "}", ",", ":", "\"path\"", "\"/a\"", "\"http://127.0.0.1:81/b?c\"",
                "\"method\"", "\"PUT\"", "\"headers\"", "{\"A\": \"b\"}", "\"A\\r\\nB: c\"",
                "[\"1\", \"2\"]", "\"body\"", "\"body_base64\"", "\"/wA=\"", "\"weight\"", "0",
                "1", "99999", "\"expect_status\"", "404", "\"4xx\"", "\u{1b}[2J",
                "\"\\u0000\"", "/", "#", " ", "\t", "http://",
            ]), 0..12), 0..4),
        ) {
            // Method: the fuzz target's body, on random words of such files.
            let lines: Vec<String> = lines.iter().map(|words| words.concat()).collect();
            fuzz::any_text(&lines.join("\n"));
        }

        #[test]
        fn any_value_of_a_key_is_read_or_refused(
            key in prop::sample::select(vec![
                "path", "method", "headers", "body", "body_base64", "weight", "expect_status", "x",
            ]),
            text in any::<String>(), number in any::<i64>(), kind in 0..4,
        ) {
            // Method: the fuzz target's body, on lines with one key, of each kind of value.
            let value = match kind {
                0 => serde_json::json!(text),
                1 => serde_json::json!(number),
                2 => serde_json::json!({ text.clone(): [text, "a"] }),
                _ => serde_json::json!({ "A": text }),
            };
            fuzz::any_text(&serde_json::json!({ key: value }).to_string());
        }
    }
}
