//! One request, from fields to a header block.

use std::sync::Arc;

use super::hpack;
use crate::http1::{Request, RequestError, ResponseKind};

/// A request as its stream carries it. Encoded once and sent on any stream of any
/// connection: it refers to no table that a connection would have to keep.
#[derive(Debug, Clone)]
pub struct EncodedRequest {
    pub(super) block: Vec<u8>,
    pub(super) body: Arc<[u8]>,
    pub(super) kind: ResponseKind,
}

/// A field of a request's header block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestField {
    /// Its name, in small letters.
    pub name: String,
    pub value: String,
    /// The number of its header among the further ones, from 0, and how many bytes at the beginning
    /// of the value were left out; `None` for fields that the protocol requires.
    pub header: Option<(usize, usize)>,
}

impl EncodedRequest {
    /// Encodes a request to a server with this scheme, `http` or `https`.
    /// The version and persistence of the request are ignored.
    ///
    /// # Errors
    /// [`RequestError`] if a part cannot be sent.
    pub fn of(request: &Request, scheme: &str) -> Result<EncodedRequest, RequestError> {
        let mut encoded = EncodedRequest {
            block: Vec::with_capacity(256),
            body: request.body.as_slice().into(),
            kind: match request.method.as_str() {
                "HEAD" => ResponseKind::HeadOnly,
                _ => ResponseKind::WithBody,
            },
        };
        for field in request_fields(request, scheme)? {
            encoded.push(&field.name, &field.value);
        }
        Ok(encoded)
    }

    /// Removes its fields, so that others can be added.
    pub fn clear(&mut self) {
        self.block.clear();
    }

    /// Adds a field after the others.
    pub fn push(&mut self, name: &str, value: &str) {
        hpack::field(&mut self.block, name, value);
    }

    /// Gives it another body. It allocates if the length differs, or if a part of the last body is
    /// not yet sent.
    pub fn set_body(&mut self, body: &[u8]) {
        match Arc::get_mut(&mut self.body) {
            Some(bytes) if bytes.len() == body.len() => bytes.copy_from_slice(body),
            _ => self.body = body.into(),
        }
    }
}

/// The fields of a request to a server with this scheme, in their order.
///
/// # Errors
/// [`RequestError`] if a part cannot be sent.
pub fn request_fields(request: &Request, scheme: &str) -> Result<Vec<RequestField>, RequestError> {
    request.check()?;
    if !(request.target.starts_with('/') || request.target == "*") {
        return Err(RequestError::Target(request.target.clone()));
    }
    let header = |name: &str| {
        let mut headers = request.headers.iter();
        headers.position(|(header, _)| header.eq_ignore_ascii_case(name))
    };
    for name in ["connection", "keep-alive", "proxy-connection", "upgrade"] {
        if let Some(index) = header(name) {
            return Err(RequestError::OfConnection(request.headers[index].0.clone()));
        }
    }
    let required = |name: &str, value: &str| RequestField {
        name: name.to_owned(),
        value: value.to_owned(),
        header: None,
    };
    let of_header = |name: String, index: usize| {
        let value = &request.headers[index].1;
        let left_out = value.len() - value.trim_start().len();
        RequestField {
            name,
            value: value.trim().to_owned(),
            header: Some((index, left_out)),
        }
    };
    let host = header("host");
    let mut fields = vec![
        required(":method", &request.method),
        required(":scheme", scheme),
        match host {
            Some(index) => of_header(":authority".to_owned(), index),
            None => required(":authority", &request.host),
        },
        required(":path", &request.target),
    ];
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
        if let Some(value) = value.filter(|_| header(name).is_none()) {
            fields.push(required(name, value));
        }
    }
    for (index, (name, _)) in request.headers.iter().enumerate() {
        let name = name.to_ascii_lowercase();
        if name != "host" {
            fields.push(of_header(name, index));
        }
    }
    Ok(fields)
}
