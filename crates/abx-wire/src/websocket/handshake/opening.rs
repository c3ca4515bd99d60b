//! The opening handshake as a client makes it (RFC 6455, section 4.1).

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

use super::super::fault::Fault;
use crate::http1::{
    HEAD_BYTES_MAX, HEADERS_MAX, INTERIM_MAX, Persistence, Request, RequestError, Version,
    other_protocol,
};

/// The request that opens a WebSocket. Encoded once and sent many times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// The request target: a path with its query.
    pub target: String,
    /// The value of `Host`, with the port unless it is the default.
    pub host: String,
    /// Further headers, in order, for instance `Origin`.
    pub headers: Vec<(String, String)>,
    /// Subprotocols that the client supports, the preferred one first; mostly none.
    pub protocols: Vec<String>,
}

/// Why a handshake cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpeningError {
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error("header {0} is set by the WebSocket handshake: leave it out")]
    Header(String),
    #[error("subprotocol {0:?} is not a word of letters, digits and !#$%&'*+-.^_`|~: correct it")]
    Protocol(String),
}

/// An encoded handshake without the key, which differs between connections.
#[derive(Debug, Clone)]
pub struct EncodedOpening {
    bytes: Vec<u8>,
    key_at: usize,
    pub(in crate::websocket) protocols: Arc<[String]>,
}

/// Length of the nonce of a key, in bytes.
pub const NONCE_BYTES: usize = 16;

/// Length of a key: a nonce in Base64.
pub(super) const KEY_BYTES: usize = 24;

/// The value of `Sec-WebSocket-Accept`: a SHA-1 in Base64.
pub(in crate::websocket) type Accept = [u8; 28];

impl Opening {
    /// Encodes the handshake as it is sent.
    ///
    /// # Errors
    /// [`OpeningError`] if a part would break the grammar or the handshake.
    pub fn encode(&self) -> Result<EncodedOpening, OpeningError> {
        let is_ours = |name: &str| {
            let is_of_websocket = name
                .get(..KEY_PREFIX.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(KEY_PREFIX));
            is_of_websocket
                || ["Upgrade", "Connection"]
                    .iter()
                    .any(|ours| name.eq_ignore_ascii_case(ours))
        };
        if let Some((name, _)) = self.headers.iter().find(|(name, _)| is_ours(name)) {
            return Err(OpeningError::Header(name.clone()));
        }
        if let Some(protocol) = self.protocols.iter().find(|text| !is_token(text)) {
            return Err(OpeningError::Protocol(protocol.clone()));
        }
        let placeholder = "=".repeat(KEY_BYTES);
        let mut headers: Vec<(String, String)> = [
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Key", &placeholder),
            ("Sec-WebSocket-Version", "13"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        if !self.protocols.is_empty() {
            headers.push((
                "Sec-WebSocket-Protocol".to_owned(),
                self.protocols.join(", "),
            ));
        }
        headers.extend(self.headers.iter().cloned());
        let request = Request {
            method: "GET".to_owned(),
            target: self.target.clone(),
            host: self.host.clone(),
            headers,
            body: Vec::new(),
            version: Version::Http11,
            connection: Persistence::KeepAlive,
        };
        let bytes = request.encode()?;
        // Target and host have no spaces and our headers come first, so the
        // first match is the key.
        let key_at = memchr::memmem::find(&bytes, KEY_NAME)
            .map(|at| at + KEY_NAME.len())
            .expect("the key is among the headers");
        Ok(EncodedOpening {
            bytes,
            key_at,
            protocols: self.protocols.as_slice().into(),
        })
    }
}

impl EncodedOpening {
    /// Writes the handshake with this nonce. Returns the accept value that the server must send.
    pub(in crate::websocket) fn write(
        &self,
        nonce: [u8; NONCE_BYTES],
        out: &mut Vec<u8>,
    ) -> Accept {
        let mut key = [0; KEY_BYTES];
        let written = STANDARD.encode_slice(nonce, &mut key);
        debug_assert_eq!(written, Ok(KEY_BYTES));
        let start = out.len() + self.key_at;
        out.extend_from_slice(&self.bytes);
        out[start..start + KEY_BYTES].copy_from_slice(&key);
        accept_of(&key)
    }
}

/// The server's accept value for this key.
pub(in crate::websocket) fn accept_of(key: &[u8]) -> Accept {
    let hash = Sha1::new().chain_update(key).chain_update(GUID).finalize();
    let mut accept = Accept::default();
    let written = STANDARD.encode_slice(hash, &mut accept);
    debug_assert_eq!(written, Ok(accept.len()));
    accept
}

/// The handshake's response while it is received.
#[derive(Debug)]
pub(in crate::websocket) struct Awaited {
    pub(in crate::websocket) accept: Accept,
    pub(in crate::websocket) protocols: Arc<[String]>,
    /// Interim heads before it.
    pub(in crate::websocket) interim: u32,
    /// The part of the head that has arrived so far.
    pub(in crate::websocket) stash: Vec<u8>,
}

/// The server has agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::websocket) struct Agreed {
    /// The index of the chosen subprotocol among those offered.
    pub(in crate::websocket) protocol: Option<usize>,
}

impl Awaited {
    /// Takes the response's head, or all of `input` if the head is incomplete.
    pub(in crate::websocket) fn receive(
        &mut self,
        input: &mut &[u8],
    ) -> Result<Option<Agreed>, Fault> {
        loop {
            let before = self.stash.len();
            let room = HEAD_BYTES_MAX - before;
            self.stash
                .extend_from_slice(&input[..input.len().min(room)]);
            let (response, length) = match self.read()? {
                Some(pair) => pair,
                None if self.stash.len() < HEAD_BYTES_MAX => {
                    *input = &[];
                    return Ok(None);
                }
                None => return Err(Fault::HeadTooLarge),
            };
            // The stash alone was no whole head, so the end lies in the input.
            *input = &input[length - before..];
            self.stash.clear();
            match response {
                HandshakeResponse::Interim if self.interim == INTERIM_MAX => {
                    return Err(Fault::TooManyInterim);
                }
                HandshakeResponse::Interim => self.interim += 1,
                HandshakeResponse::Agreed(agreed) => return Ok(Some(agreed)),
            }
        }
    }

    /// Reads the head in the stash, if it is whole, and returns it with its length.
    fn read(&self) -> Result<Option<(HandshakeResponse, usize)>, Fault> {
        let mut room = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut head = httparse::Response::new(&mut room);
        let parsed = head.parse(&self.stash).map_err(|_| {
            other_protocol(&self.stash).map_or(Fault::Malformed, Fault::OtherProtocol)
        })?;
        let httparse::Status::Complete(length) = parsed else {
            return Ok(None);
        };
        let response = match head.code.expect("a whole head has a status") {
            101 => HandshakeResponse::Agreed(self.check(head.headers)?),
            100..=199 => HandshakeResponse::Interim,
            status => return Err(Fault::Refused(status)),
        };
        Ok(Some((response, length)))
    }

    /// Checks the headers in the order of the standard.
    fn check(&self, headers: &[httparse::Header<'_>]) -> Result<Agreed, Fault> {
        if !names(headers, "Upgrade", "websocket") || !names(headers, "Connection", "Upgrade") {
            return Err(Fault::NotUpgraded);
        }
        let mut accepts = values(headers, "Sec-WebSocket-Accept");
        if accepts.next() != Some(&self.accept) || accepts.next().is_some() {
            return Err(Fault::WrongAccept);
        }
        if values(headers, "Sec-WebSocket-Extensions").next().is_some() {
            return Err(Fault::UnaskedExtension);
        }
        let mut chosen = values(headers, "Sec-WebSocket-Protocol");
        let protocol = match (chosen.next(), chosen.next()) {
            (None, _) => None,
            (Some(chosen), None) => {
                let mut offered = self.protocols.iter();
                let index = offered.position(|text| text.as_bytes() == chosen);
                Some(index.ok_or(Fault::UnaskedProtocol)?)
            }
            (Some(_), Some(_)) => return Err(Fault::UnaskedProtocol),
        };
        Ok(Agreed { protocol })
    }
}

enum HandshakeResponse {
    Interim,
    Agreed(Agreed),
}

/// The values of all headers of this name, without white space around them.
pub(super) fn values<'b>(
    headers: &[httparse::Header<'b>],
    name: &str,
) -> impl Iterator<Item = &'b [u8]> {
    let named = headers
        .iter()
        .filter(move |header| header.name.eq_ignore_ascii_case(name));
    named.map(|header| header.value.trim_ascii())
}

/// Whether a header that is a list has this element, in any case.
pub(super) fn names(headers: &[httparse::Header<'_>], name: &str, element: &str) -> bool {
    values(headers, name)
        .flat_map(|value| value.split(|byte| *byte == b','))
        .any(|bytes| bytes.trim_ascii().eq_ignore_ascii_case(element.as_bytes()))
}

pub(super) fn is_token(word: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !word.is_empty() && word.bytes().all(is_allowed)
}

const KEY_NAME: &[u8] = b"\r\nSec-WebSocket-Key: ";

/// The prefix of all headers of the handshake except `Upgrade` and `Connection`.
const KEY_PREFIX: &str = "Sec-WebSocket-";

/// What a server appends to the key before it hashes (RFC 6455, section 1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standards_own_example_is_accepted() {
        // Method: the nonce, key and accept that RFC 6455 prints in section 1.3.
        let opening = Opening {
            target: "/chat".to_owned(),
            host: "h".to_owned(),
            headers: Vec::new(),
            protocols: Vec::new(),
        };
        let mut out = Vec::new();
        let accept = opening
            .encode()
            .unwrap()
            .write(*b"the sample nonce", &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.contains("\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"),
            "{text}"
        );
        assert_eq!(&accept, b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
