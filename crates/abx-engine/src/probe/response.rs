//! A whole response, and its body as it arrives.

use abx_evidence::record::TlsSession;
use abx_wire::http1::Done;
use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::Xxh3;

use super::head_fields::HeadFields;
use super::line::ProbeConnection;
use crate::plan::BodyIdentity;

/// The most bytes of a body that a probe keeps.
pub const BODY_START_BYTES: usize = 4 * 1024;

/// A whole response, read to its end with every byte of its body hashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    /// The identity with which the load compares responses.
    pub body: BodyIdentity,
    pub head_fields: HeadFields,
    /// The SHA-256 of the body in hexadecimal, which users can compare with `sha256sum`.
    pub sha256: String,
    /// The first bytes of the body, at most [`BODY_START_BYTES`], for messages.
    pub body_start: Vec<u8>,
    /// The parameters agreed on in the TLS handshake; `None` without one.
    pub tls: Option<TlsSession>,
}

/// The part of a response's body that has come.
#[derive(Default)]
pub(super) struct ProbeBody {
    sha256: Sha256,
    xxh3: Xxh3,
    /// At most [`BODY_START_BYTES`].
    start: Vec<u8>,
}

impl ProbeBody {
    pub(super) fn add(&mut self, part: &[u8]) {
        self.sha256.update(part);
        self.xxh3.update(part);
        let room = BODY_START_BYTES - self.start.len();
        self.start.extend_from_slice(&part[..part.len().min(room)]);
    }

    /// The whole response, with the fields of its head.
    pub(super) fn response(
        self,
        done: Done,
        head_fields: HeadFields,
        connection: &ProbeConnection,
    ) -> Response {
        let sha256 = self.sha256.finalize();
        Response {
            status: done.status,
            body: BodyIdentity {
                bytes: done.body_bytes,
                xxh3: self.xxh3.digest(),
            },
            head_fields,
            sha256: sha256.iter().map(|byte| format!("{byte:02x}")).collect(),
            body_start: self.start,
            tls: connection.tls_session(),
        }
    }
}
