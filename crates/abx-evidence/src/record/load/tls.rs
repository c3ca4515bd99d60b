//! TLS in a record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How connections were encrypted, as requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TlsSettings {
    /// The certificates that were trusted.
    pub trust: TlsTrustKind,
    /// The only version that was offered, such as `1.3`; `None` for several.
    pub version: Option<String>,
    /// Whether a connection could resume the session of an earlier one.
    pub resumption: bool,
    /// Whether abx showed a certificate if the subject requested one.
    pub shows_certificate: bool,
}

/// The certificates that were trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TlsTrustKind {
    /// Those that the machine trusts.
    System,
    /// Those of a file, and those that they signed.
    Given,
    /// Every certificate.
    Anyone,
}

/// The parameters on which both sides of a TLS connection agreed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TlsSession {
    /// The version: `TLSv1.3`.
    pub version: String,
    /// The cipher suite's name, as rustls writes it: `TLS13_AES_256_GCM_SHA384`.
    pub cipher: String,
    /// The protocol chosen by ALPN (RFC 7301); `None` if none was.
    pub protocol: Option<String>,
}
