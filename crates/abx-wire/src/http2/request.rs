//! One request, from fields to a header block.

use std::sync::Arc;

use super::hpack;
use crate::http1::{AnswerKind, Request, RequestError};

/// A request as its stream carries it. Encoded once and sent on any stream of any
/// connection: it refers to no table that a connection would have to keep.
#[derive(Debug, Clone)]
pub struct EncodedRequest {
    pub(super) block: Vec<u8>,
    pub(super) body: Arc<[u8]>,
    pub(super) kind: AnswerKind,
}

impl EncodedRequest {
    /// Encodes a request to a server that is spoken to by this scheme, `http` or `https`.
    /// Its version and persistence say nothing here.
    ///
    /// # Errors
    /// [`RequestError`], when a part cannot be sent.
    pub fn of(request: &Request, scheme: &str) -> Result<EncodedRequest, RequestError> {
        request.check()?;
        if !(request.target.starts_with('/') || request.target == "*") {
            return Err(RequestError::Target(request.target.clone()));
        }
        let given = |name: &str| {
            let mut headers = request.headers.iter();
            headers.find(|(given, _)| given.eq_ignore_ascii_case(name))
        };
        for name in ["connection", "keep-alive", "proxy-connection", "upgrade"] {
            if let Some((name, _)) = given(name) {
                return Err(RequestError::OfConnection(name.clone()));
            }
        }
        let host = given("host").map_or(&request.host, |(_, value)| value);
        let mut block = Vec::with_capacity(256);
        hpack::field(&mut block, ":method", &request.method);
        hpack::field(&mut block, ":scheme", scheme);
        hpack::field(&mut block, ":authority", host);
        hpack::field(&mut block, ":path", &request.target);
        let length = request.content_length();
        let ours = [
            (
                "user-agent",
                Some(concat!("abx/", env!("CARGO_PKG_VERSION"))),
            ),
            ("accept", Some("*/*")),
            ("content-length", length.as_deref()),
        ];
        for (name, value) in ours {
            if let Some(value) = value.filter(|_| given(name).is_none()) {
                hpack::field(&mut block, name, value);
            }
        }
        for (name, value) in &request.headers {
            let name = name.to_ascii_lowercase();
            if name != "host" {
                hpack::field(&mut block, &name, value.trim());
            }
        }
        Ok(EncodedRequest {
            block,
            body: request.body.as_slice().into(),
            kind: match request.method.as_str() {
                "HEAD" => AnswerKind::HeadOnly,
                _ => AnswerKind::WithBody,
            },
        })
    }
}
