//! A request, and its correct response.

use abx_evidence::ExpectedStatus;
use abx_wire::{http1, http2};
use serde::{Deserialize, Serialize};

use super::placeholders::{PlaceholderPart, RequestPlaceholder};
use crate::random::Random;

/// The protocol version of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HttpVersion {
    /// HTTP/1.0 as `ab` uses it: a connection is for one request, unless the client requests
    /// keep-alive and the response agrees. It agrees if it has its length, and
    /// `Connection: keep-alive` or version HTTP/1.1.
    #[serde(rename = "http/1.0")]
    Http10,
    /// HTTP/1.1.
    #[serde(rename = "http/1.1")]
    Http11,
    /// HTTP/2: with prior knowledge, or over TLS as agreed by ALPN.
    #[serde(rename = "http/2")]
    Http2,
}

impl HttpVersion {
    /// The protocols offered in the TLS handshake (RFC 7301), the best first; none if every
    /// server assumes the protocol anyway.
    #[must_use]
    pub fn alpn(self) -> Vec<String> {
        match self {
            HttpVersion::Http10 | HttpVersion::Http11 => Vec::new(),
            HttpVersion::Http2 => vec!["h2".to_owned()],
        }
    }
}

/// One request, as a user writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPlan {
    pub version: HttpVersion,
    /// The method, mostly `GET`.
    pub method: String,
    pub path: String,
    /// The `Host` header: name and, when it is not 80, port.
    pub host: String,
    /// Further headers in order.
    pub headers: Vec<(String, String)>,
    /// The body, mostly empty.
    pub body: Vec<u8>,
    /// The placeholders to fill in each time. Those of each part are in order.
    #[serde(default)]
    pub placeholders: Vec<RequestPlaceholder>,
}

impl RequestPlan {
    /// The request with this number, from 0, as it is sent before the load: its placeholders are
    /// filled in.
    #[must_use]
    pub fn example(&self, number: u64, seed: u64) -> RequestPlan {
        let mut plan = self.clone();
        let mut random = Random::new(!seed.wrapping_add(number));
        // In reverse, so that the ranges of earlier placeholders stay valid.
        for placeholder in std::mem::take(&mut plan.placeholders).iter().rev() {
            let text = placeholder.kind.example(number, &mut random);
            let range = placeholder.start..placeholder.end;
            match placeholder.part {
                PlaceholderPart::Path => plan.path.replace_range(range, &text),
                PlaceholderPart::Header(index) => {
                    plan.headers[index].1.replace_range(range, &text);
                }
                PlaceholderPart::Body => {
                    plan.body.splice(range, text.into_bytes());
                }
            }
        }
        plan
    }

    pub fn encode(&self, keep_alive: bool) -> Result<Vec<u8>, http1::RequestError> {
        self.written(keep_alive).encode()
    }

    /// The request as a stream of HTTP/2 carries it.
    pub fn encode_stream(
        &self,
        is_encrypted: bool,
    ) -> Result<http2::EncodedRequest, http1::RequestError> {
        http2::EncodedRequest::of(&self.written(true), scheme(is_encrypted))
    }

    pub(crate) fn stream_fields(
        &self,
        is_encrypted: bool,
    ) -> Result<Vec<http2::RequestField>, http1::RequestError> {
        http2::request_fields(&self.written(true), scheme(is_encrypted))
    }

    pub(crate) fn written(&self, keep_alive: bool) -> http1::Request {
        http1::Request {
            method: self.method.clone(),
            target: self.path.clone(),
            host: self.host.clone(),
            headers: self.headers.clone(),
            body: self.body.clone(),
            version: match self.version {
                HttpVersion::Http10 => http1::Version::Http10,
                // A stream of HTTP/2 carries no version.
                HttpVersion::Http11 | HttpVersion::Http2 => http1::Version::Http11,
            },
            connection: if keep_alive {
                http1::Persistence::KeepAlive
            } else {
                http1::Persistence::Close
            },
        }
    }

    /// Whether sending it twice has the effect of sending it once (RFC 9110, section 9.2.2).
    pub(crate) fn is_idempotent(&self) -> bool {
        ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(&self.method.as_str())
    }

    pub(crate) fn response_kind(&self) -> http1::ResponseKind {
        if self.method == "HEAD" {
            http1::ResponseKind::HeadOnly
        } else {
            http1::ResponseKind::WithBody
        }
    }
}

fn scheme(is_encrypted: bool) -> &'static str {
    if is_encrypted { "https" } else { "http" }
}

/// The identity of a correct body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyIdentity {
    pub bytes: u64,
    /// Its XXH3-64 hash, compared on a sample of the responses.
    pub xxh3: u64,
}

/// The properties of a correct response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectedResponse {
    pub status: ExpectedStatus,
    /// Its body; `None` if bodies vary and only the status is checked.
    pub body: Option<BodyIdentity>,
}

/// One request of a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightedRequest {
    pub request: RequestPlan,
    /// The correct response.
    pub expect: ExpectedResponse,
    /// How often it is sent, relative to the weights of the others; at least 1.
    pub weight: u32,
}
