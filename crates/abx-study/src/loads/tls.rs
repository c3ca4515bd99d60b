//! TLS as a user requests it, before the server is known.

use abx_engine::{HttpVersion, TlsIdentity, TlsPlan, TlsTrust, TlsVersion};
use abx_evidence::record::{TlsSettings, TlsTrustKind};

/// How the connections of a load are encrypted to those subjects that use TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSpec {
    pub trust: TlsTrust,
    /// The only version to use; `None` for the newest that both sides support.
    pub version: Option<TlsVersion>,
    /// Whether a connection may resume an earlier one's session.
    pub resumption: bool,
    /// The client's certificate, for servers that request one.
    pub identity: Option<TlsIdentity>,
}

impl Default for TlsSpec {
    /// The machine's authorities, any version, and a whole handshake for each connection.
    fn default() -> TlsSpec {
        TlsSpec {
            trust: TlsTrust::System,
            version: None,
            resumption: false,
            identity: None,
        }
    }
}

impl TlsSpec {
    /// The plan for a server of this name, in this HTTP version.
    #[must_use]
    pub fn plan(&self, server_name: &str, http_version: HttpVersion) -> TlsPlan {
        TlsPlan {
            server_name: server_name.to_owned(),
            hides_name: false,
            trust: self.trust.clone(),
            version: self.version,
            suites: Vec::new(),
            resumption: self.resumption,
            protocols: http_version.alpn(),
            identity: self.identity.clone(),
        }
    }

    /// Its settings in the record.
    #[must_use]
    pub fn settings(&self) -> TlsSettings {
        TlsSettings {
            trust: match self.trust {
                TlsTrust::System => TlsTrustKind::System,
                TlsTrust::Given(_) => TlsTrustKind::Given,
                TlsTrust::Anyone => TlsTrustKind::Anyone,
            },
            version: self.version.map(|version| version.name().to_owned()),
            resumption: self.resumption,
            shows_certificate: self.identity.is_some(),
        }
    }
}
