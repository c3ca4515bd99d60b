//! TLS as a person asks for it, before it is known of whom.

use abx_engine::{HttpVersion, TlsIdentity, TlsPlan, TlsTrust, TlsVersion};
use abx_evidence::record::{TlsSettings, TlsTrustKind};

/// How the connections of a load are encrypted to those subjects that speak TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSpec {
    pub trust: TlsTrust,
    /// The only version to be spoken; `None` for the newest that both sides know.
    pub version: Option<TlsVersion>,
    /// Whether a connection may resume an earlier one's session.
    pub resumption: bool,
    /// Who the client is, for servers that ask.
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
    /// What is asked of a server of this name, which is then spoken to in this version.
    #[must_use]
    pub fn plan(&self, server_name: &str, spoken: HttpVersion) -> TlsPlan {
        TlsPlan {
            server_name: server_name.to_owned(),
            hides_name: false,
            trust: self.trust.clone(),
            version: self.version,
            suites: Vec::new(),
            resumption: self.resumption,
            protocols: spoken.alpn(),
            identity: self.identity.clone(),
        }
    }

    /// What the record says of it.
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
