//! Requests that differ by a number, for which `{n}` stands in a path, in the value of a
//! header or in a body. `{{n}}` is left to `request_placeholder.rs`, and writes `{n}`.

use crate::requests::request_spec::RequestSpec;

/// Stands for the number.
pub const NUMBER: &str = "{n}";
/// The most requests of a load.
pub const REQUESTS_MAX: u32 = 10_000;
/// The most bytes of all bodies of a load's requests. Each worker thread has a copy.
pub const BODIES_BYTES_MAX: usize = 64 << 20;

/// Why requests cannot be numbered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    #[error(
        "`{{n}}` in the {part} stands for a number, but no count is given: add one \
         (`--count 1000`, or `count = 1000` in a study file), or write {{{{n}}}} for the text \
         itself"
    )]
    NoCount {
        /// The part of the request in which it stands.
        part: RequestPart,
    },
    #[error(
        "the request for `{path}` has a count but no `{{n}}`: write `{{n}}` in the path, a header \
         or the body for the number"
    )]
    NoNumber { path: String },
    #[error(
        "bodies of {count} requests with {bytes} bytes each are more than {} MiB: use fewer \
         requests, or smaller bodies",
        BODIES_BYTES_MAX >> 20
    )]
    TooLarge {
        count: u32,
        /// The length of each body.
        bytes: usize,
    },
}

/// A part of a request in which a number may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestPart {
    Path,
    Headers,
    Body,
}

impl std::fmt::Display for RequestPart {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            RequestPart::Path => "path",
            RequestPart::Headers => "headers",
            RequestPart::Body => "body",
        })
    }
}

impl RequestSpec {
    /// This request alone, or `count` copies numbered from 0.
    pub fn numbered(self, count: Option<u32>) -> Result<Vec<RequestSpec>, NumberError> {
        let Some(count) = count else {
            return match self.numbered_part() {
                Some(part) => Err(NumberError::NoCount { part }),
                None => Ok(vec![self]),
            };
        };
        if self.numbered_part().is_none() && !self.body_has_number() {
            let path = self.path.unwrap_or_else(|| "/".to_owned());
            return Err(NumberError::NoNumber { path });
        }
        let bytes = self.body.len();
        if bytes.saturating_mul(count as usize) > BODIES_BYTES_MAX {
            return Err(NumberError::TooLarge { count, bytes });
        }
        Ok((0..count).map(|number| self.with_number(number)).collect())
    }

    /// The first part that contains `{n}`. A body that is not text is ignored.
    fn numbered_part(&self) -> Option<RequestPart> {
        let is_text = || std::str::from_utf8(&self.body).is_ok();
        let mut values = self.headers.iter().map(|(_, value)| value);
        let path = self.path.as_ref();
        if path.is_some_and(|path| contains(path.as_bytes())) {
            Some(RequestPart::Path)
        } else if values.any(|value| contains(value.as_bytes())) {
            Some(RequestPart::Headers)
        } else if self.body_has_number() && is_text() {
            Some(RequestPart::Body)
        } else {
            None
        }
    }

    fn body_has_number(&self) -> bool {
        !self.is_verbatim && contains(&self.body)
    }

    fn with_number(&self, number: u32) -> RequestSpec {
        let number = number.to_string();
        let filled = |text: &String| {
            let filled = replace(text.as_bytes(), number.as_bytes());
            String::from_utf8(filled).expect("digits in a text are text")
        };
        RequestSpec {
            path: self.path.as_ref().map(filled),
            headers: self
                .headers
                .iter()
                .map(|(name, value)| (name.clone(), filled(value)))
                .collect(),
            body: if self.body_has_number() {
                replace(&self.body, number.as_bytes())
            } else {
                self.body.clone()
            },
            ..self.clone()
        }
    }
}

fn contains(bytes: &[u8]) -> bool {
    first_number(bytes).is_some()
}

/// The offset of the first `{n}` that is not escaped.
fn first_number(bytes: &[u8]) -> Option<usize> {
    let is_escaped = |start: usize| {
        start > 0 && bytes[start - 1] == b'{' && bytes.get(start + NUMBER.len()) == Some(&b'}')
    };
    let mut windows = bytes.windows(NUMBER.len()).enumerate();
    windows.position(|(start, window)| window == NUMBER.as_bytes() && !is_escaped(start))
}

fn replace(mut bytes: &[u8], number: &[u8]) -> Vec<u8> {
    let mut filled = Vec::with_capacity(bytes.len());
    while let Some(offset) = first_number(bytes) {
        filled.extend_from_slice(&bytes[..offset]);
        filled.extend_from_slice(number);
        bytes = &bytes[offset + NUMBER.len()..];
    }
    filled.extend_from_slice(bytes);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(path: &str, header: &str, body: &[u8]) -> RequestSpec {
        RequestSpec {
            path: Some(path.to_owned()),
            headers: vec![("X-User".to_owned(), header.to_owned())],
            body: body.to_vec(),
            ..RequestSpec::default()
        }
    }

    #[test]
    fn a_number_is_filled_in_wherever_it_stands() {
        // Method: two requests with the number in each part, twice in the body, next to other
        // braces and an escaped number.
        let template = request("/{n}{{n}}", "u{n}", b"{\"a\":{n},\"b\":\"{n}\",\"c\":{}}");
        let requests = template.numbered(Some(2)).unwrap();
        let second = request("/1{{n}}", "u1", b"{\"a\":1,\"b\":\"1\",\"c\":{}}");
        assert_eq!((requests.len(), &requests[1]), (2, &second));
        let verbatim = RequestSpec {
            is_verbatim: true,
            ..request("/{n}", "", b"{n}{{n}}")
        };
        let second = verbatim.numbered(Some(2)).unwrap().remove(1);
        assert_eq!(
            (second.path.as_deref(), &*second.body),
            (Some("/1"), &b"{n}{{n}}"[..])
        );
    }

    #[test]
    fn a_number_that_cannot_be_filled_in_is_refused() {
        // Method: each part alone without a count; a body that is not text; a count without a
        // number; and bodies above the limit.
        let parts = [
            (request("/{n}", "", b""), RequestPart::Path),
            (request("/", "{n}", b""), RequestPart::Headers),
            (request("/", "", b"{n}"), RequestPart::Body),
        ];
        for (request, part) in parts {
            assert_eq!(request.numbered(None), Err(NumberError::NoCount { part }));
        }
        let escaped = request("/{{n}}", "", b"");
        assert_eq!(escaped.clone().numbered(None), Ok(vec![escaped]));
        let binary = request("/", "", b"\xff{n}");
        assert_eq!(binary.clone().numbered(None), Ok(vec![binary.clone()]));
        assert_eq!(binary.numbered(Some(1)).unwrap()[0].body, b"\xff0");
        let same = request("/a", "", b"").numbered(Some(3));
        assert!(matches!(same, Err(NumberError::NoNumber { .. })));
        let large = request("/{n}", "", &vec![b' '; 1 << 20]).numbered(Some(65));
        assert!(matches!(large, Err(NumberError::TooLarge { .. })));
    }
}
