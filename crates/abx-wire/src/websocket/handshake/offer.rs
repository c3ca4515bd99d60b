//! A client's offer in the head of a request (RFC 6455, section 4.2).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::opening::{KEY_BYTES, NONCE_BYTES, is_token, names, values};
use crate::http1::{HEADERS_MAX, Method, RequestHead, Version};

/// A client's request to use WebSocket from here on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer<'a> {
    pub(in crate::websocket) key: &'a str,
    /// The first subprotocol that the client names, which it prefers.
    pub protocol: Option<&'a str>,
}

/// Why a client's offer is refused (RFC 6455, section 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum OfferFault {
    #[error("its Sec-WebSocket-Key is not 16 bytes in Base64")]
    BadKey,
    #[error("its Sec-WebSocket-Version is not 13")]
    OtherVersion,
}

impl<'a> Offer<'a> {
    /// The offer of a request; `None` if it is not a WebSocket handshake, and
    /// gets the same response as any other request.
    ///
    /// # Errors
    /// [`OfferFault`] if it must be refused; [`OfferFault::response`] does so.
    pub fn read(request: &RequestHead<'a>) -> Result<Option<Offer<'a>>, OfferFault> {
        let mut room = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut parsed = httparse::Request::new(&mut room);
        if !matches!(
            parsed.parse(request.bytes),
            Ok(httparse::Status::Complete(_))
        ) {
            return Ok(None);
        }
        let headers: &[httparse::Header<'a>] = parsed.headers;
        let is_requested = request.method == Method::Get
            && request.version == Version::Http11
            && names(headers, "Connection", "Upgrade")
            && names(headers, "Upgrade", "websocket");
        if !is_requested {
            return Ok(None);
        }
        let mut versions = values(headers, "Sec-WebSocket-Version");
        if versions.next() != Some(b"13") || versions.next().is_some() {
            return Err(OfferFault::OtherVersion);
        }
        let mut keys = values(headers, "Sec-WebSocket-Key");
        let key = match (keys.next(), keys.next()) {
            (Some(key), None) => check_key(key).ok_or(OfferFault::BadKey)?,
            _ => return Err(OfferFault::BadKey),
        };
        let protocols = values(headers, "Sec-WebSocket-Protocol").next();
        let protocol = protocols
            .and_then(|list| list.split(|byte| *byte == b',').next())
            .and_then(|first| std::str::from_utf8(first.trim_ascii()).ok())
            .filter(|first| is_token(first));
        Ok(Some(Offer { key, protocol }))
    }
}

impl OfferFault {
    /// Writes the response that refuses: 400, or 426 with the version that is supported.
    ///
    /// The connection ends after it.
    pub fn response(self, out: &mut Vec<u8>) {
        let head = match self {
            OfferFault::BadKey => "400 Bad Request",
            OfferFault::OtherVersion => {
                "426 Upgrade Required\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13"
            }
        };
        let connection = match self {
            OfferFault::BadKey => "close",
            OfferFault::OtherVersion => "Upgrade, close",
        };
        for part in [
            "HTTP/1.1 ",
            head,
            "\r\nConnection: ",
            connection,
            "\r\nContent-Length: 0\r\n\r\n",
        ] {
            out.extend_from_slice(part.as_bytes());
        }
    }
}

/// The key as text, if it is a nonce in Base64.
fn check_key(key: &[u8]) -> Option<&str> {
    let mut nonce = [0; NONCE_BYTES + 2];
    let decoded = STANDARD.decode_slice(key, &mut nonce).ok()?;
    let is_nonce = key.len() == KEY_BYTES && decoded == NONCE_BYTES;
    is_nonce.then(|| std::str::from_utf8(key).expect("Base64 is ASCII"))
}
