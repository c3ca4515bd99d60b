//! One request, from fields to bytes.

use std::ops::Range;

use super::version::Version;

/// A request, encoded once and sent many times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method, for instance `GET`.
    pub method: String,
    /// The request target as it is sent: a path with its query, `*`, or a whole URL.
    pub target: String,
    /// The value of `Host`, with the port unless it is the default.
    pub host: String,
    /// Further headers, in order. `Host`, `User-Agent`, `Accept` and
    /// `Connection` replace ours.
    pub headers: Vec<(String, String)>,
    /// The body; empty if there is none.
    pub body: Vec<u8>,
    /// The version in the request line.
    pub version: Version,
    /// Whether the connection is kept after the response.
    pub connection: Persistence,
}

/// Whether a request keeps or closes its connection.
///
/// A header states this only if the version does not: HTTP/1.0 closes and
/// HTTP/1.1 keeps by default. So requests of HTTP/1.0 are those of `ab`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    /// Keep it for the next request.
    KeepAlive,
    /// Close it after the response.
    Close,
}

/// An encoded request, with the positions of the parts that may differ from time to time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedParts {
    pub bytes: Vec<u8>,
    pub target: usize,
    /// Where the value of each further header begins, in order.
    pub headers: Vec<usize>,
    /// The digits of the body's length; `None` if it is not sent, or a given header states it.
    pub length: Option<Range<usize>>,
    /// Where the body begins; it extends to the end.
    pub body: usize,
}

/// Why a request cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error(
        "method {0:?} is not a word of letters, digits and !#$%&'*+-.^_`|~: give one such as GET"
    )]
    Method(String),
    #[error(
        "target {0:?} cannot be sent: begin with \"/\", write all but visible ASCII as %XX, and leave out \"#\""
    )]
    Target(String),
    #[error("host {0:?} cannot be sent: give a name or an address, and a port where needed")]
    Host(String),
    #[error(
        "header name {:?} is not a word of letters, digits and !#$%&'*+-.^_`|~: correct it",
        first_word(.0)
    )]
    HeaderName(String),
    #[error("header {name} has a control character in its value: remove it")]
    HeaderValue { name: String, value: String },
    #[error(
        "header {name}: {value} contradicts the body of {body_bytes} bytes: leave it out, it is set as needed"
    )]
    Framing {
        name: String,
        value: String,
        body_bytes: usize,
    },
    #[error(
        "header Connection: {0} makes the server close connections that the load keeps open: leave \
         it out, and use `--no-keepalive` (`keep_alive = false` in a study file) for a connection \
         per request"
    )]
    Close(String),
    #[error("header {0} is of HTTP/1 connections and has no meaning in HTTP/2: leave it out")]
    OfConnection(String),
}

/// A name up to its first space: if a header's colon is missing or late, its value follows.
fn first_word(name: &str) -> String {
    match name.trim_start().split_once(char::is_whitespace) {
        Some((first, _)) => format!("{first} …"),
        None => name.to_owned(),
    }
}

impl Request {
    /// Encodes the request as it is sent.
    ///
    /// # Errors
    /// [`RequestError`] if a part would break the grammar or the framing.
    pub fn encode(&self) -> Result<Vec<u8>, RequestError> {
        Ok(self.encode_parts()?.bytes)
    }

    /// Encodes the request, with the positions of its parts.
    ///
    /// # Errors
    /// As [`Request::encode`].
    pub fn encode_parts(&self) -> Result<EncodedParts, RequestError> {
        self.check()?;
        self.check_persistence()?;
        let mut out = Vec::with_capacity(256 + self.body.len());
        let version = match self.version {
            Version::Http10 => "HTTP/1.0",
            Version::Http11 => "HTTP/1.1",
        };
        push(
            &mut out,
            &[&self.method, " ", &self.target, " ", version, "\r\n"],
        );
        let connection = match (self.version, self.connection) {
            (Version::Http11, Persistence::Close) => Some("close"),
            (Version::Http10, Persistence::KeepAlive) => Some("Keep-Alive"),
            // The default of the version.
            (Version::Http10, Persistence::Close) | (Version::Http11, Persistence::KeepAlive) => {
                None
            }
        };
        let ours = [
            ("Host", Some(self.host.as_str())),
            (
                "User-Agent",
                Some(concat!("abx/", env!("CARGO_PKG_VERSION"))),
            ),
            ("Accept", Some("*/*")),
            ("Connection", connection),
        ];
        for (name, value) in ours {
            if let Some(value) = value.filter(|_| !self.has_header(name)) {
                push_header(&mut out, name, value);
            }
        }
        let length = self.content_length();
        let length = length
            .filter(|_| !self.has_header("Content-Length"))
            .map(|digits| push_header(&mut out, "Content-Length", &digits));
        let headers = self
            .headers
            .iter()
            .map(|(name, value)| push_header(&mut out, name, value).start)
            .collect();
        out.extend_from_slice(b"\r\n");
        let body = out.len();
        out.extend_from_slice(&self.body);
        Ok(EncodedParts {
            bytes: out,
            target: self.method.len() + 1,
            headers,
            length,
            body,
        })
    }

    /// The length of the body as it is sent, if it is sent.
    pub(crate) fn content_length(&self) -> Option<String> {
        let needs_length =
            !self.body.is_empty() || matches!(self.method.as_str(), "POST" | "PUT" | "PATCH");
        needs_length.then(|| self.body.len().to_string())
    }

    fn has_header(&self, name: &str) -> bool {
        let mut headers = self.headers.iter();
        headers.any(|(given, _)| given.eq_ignore_ascii_case(name))
    }

    /// Checks that every part of it can be sent.
    ///
    /// # Errors
    /// The first part that would break the grammar or the framing.
    pub(crate) fn check(&self) -> Result<(), RequestError> {
        if !is_token(&self.method) {
            return Err(RequestError::Method(self.method.clone()));
        }
        let has_known_form = self.target == "*"
            || ["/", "http://", "https://"]
                .iter()
                .any(|start| self.target.starts_with(start));
        if !has_known_form || !is_visible(&self.target) || self.target.contains('#') {
            return Err(RequestError::Target(self.target.clone()));
        }
        if !is_visible(&self.host) {
            return Err(RequestError::Host(self.host.clone()));
        }
        self.headers
            .iter()
            .try_for_each(|(name, value)| self.check_header(name, value))
    }

    /// Checks that no header makes the server close a connection that is to be kept. HTTP/2 has no
    /// such header.
    fn check_persistence(&self) -> Result<(), RequestError> {
        let closes = |value: &str| {
            let mut options = value.split(',');
            options.any(|option| option.trim().eq_ignore_ascii_case("close"))
        };
        let mut headers = self.headers.iter();
        let close =
            headers.find(|(name, value)| name.eq_ignore_ascii_case("connection") && closes(value));
        match close.filter(|_| self.connection == Persistence::KeepAlive) {
            Some((_, value)) => Err(RequestError::Close(value.clone())),
            None => Ok(()),
        }
    }

    fn check_header(&self, name: &str, value: &str) -> Result<(), RequestError> {
        if !is_token(name) {
            return Err(RequestError::HeaderName(name.to_owned()));
        }
        if value
            .bytes()
            .any(|byte| byte.is_ascii_control() && byte != b'\t')
        {
            return Err(RequestError::HeaderValue {
                name: name.to_owned(),
                value: value.to_owned(),
            });
        }
        let is_other_length = name.eq_ignore_ascii_case("content-length")
            && value.trim() != self.body.len().to_string();
        if is_other_length || name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(RequestError::Framing {
                name: name.to_owned(),
                value: value.to_owned(),
                body_bytes: self.body.len(),
            });
        }
        Ok(())
    }
}

fn push(out: &mut Vec<u8>, parts: &[&str]) {
    for part in parts {
        out.extend_from_slice(part.as_bytes());
    }
}

/// Returns the position of the value.
fn push_header(out: &mut Vec<u8>, name: &str, value: &str) -> Range<usize> {
    let start = out.len() + name.len() + 2;
    push(out, &[name, ": ", value, "\r\n"]);
    start..start + value.len()
}

fn is_token(word: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !word.is_empty() && word.bytes().all(is_allowed)
}

fn is_visible(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic())
}
