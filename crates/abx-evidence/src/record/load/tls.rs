//! What is recorded of TLS.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How connections were encrypted, as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TlsSettings {
    /// Whose certificates were believed.
    pub trust: TlsTrustKind,
    /// The only version that was offered, such as `1.3`; `None` for several.
    pub version: Option<String>,
    /// Whether a connection might resume an earlier one's session.
    pub resumption: bool,
    /// Whether we showed a certificate where one was asked for.
    pub shows_certificate: bool,
}

/// Whose certificates were believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TlsTrustKind {
    /// Those that the machine believes.
    System,
    /// Given ones, and those that they signed.
    Given,
    /// All.
    Anyone,
}

/// What both sides of a TLS connection agreed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TlsSession {
    /// The version: `TLSv1.3`.
    pub version: String,
    /// The cipher suite's name, as rustls writes it: `TLS13_AES_256_GCM_SHA384`.
    pub cipher: String,
    /// The protocol chosen by ALPN (RFC 7301); `None` when none was.
    pub protocol: Option<String>,
}
