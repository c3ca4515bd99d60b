//! TLS under a load's connections, as the user sets it.

use std::path::{Path, PathBuf};

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};

use crate::plan::input_file::read_up_to;

/// How connections are encrypted. Keys and certificates are DER, decoded from PEM files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsPlan {
    /// The identity that the server must prove: a name, which is also sent as SNI (RFC 6066,
    /// section 3), or an IP address, which is not.
    pub server_name: String,
    /// Whether the name is withheld from SNI.
    #[serde(default)]
    pub hides_name: bool,
    /// Which certificates are trusted as proof.
    pub trust: TlsTrust,
    /// The only version to use; `None` for the newest that both sides support.
    pub version: Option<TlsVersion>,
    /// Cipher suites that are offered for TLS 1.2, the best first; empty for all. Those of
    /// TLS 1.3 are always offered.
    #[serde(default)]
    pub suites: Vec<TlsSuite>,
    /// Whether a further connection may resume an earlier one's session (RFC 8446,
    /// section 2.2), so that most handshakes skip authentication.
    pub resumption: bool,
    /// Protocols offered by ALPN (RFC 7301), the best first; empty for no offer.
    pub protocols: Vec<String>,
    /// The client's identity, for servers that request one.
    pub identity: Option<TlsIdentity>,
}

/// Which certificates are trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TlsTrust {
    /// The certificates that the machine trusts.
    System,
    /// Only these certificates and those that they signed.
    Given(Vec<Vec<u8>>),
    /// All certificates: the connection is encrypted, and the server's identity is unknown.
    Anyone,
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TlsVersion {
    /// TLS 1.2 (RFC 5246).
    #[serde(rename = "1.2")]
    Tls12,
    /// TLS 1.3 (RFC 8446).
    #[serde(rename = "1.3")]
    Tls13,
}

/// A cipher suite of TLS 1.2 (RFC 5289, RFC 7905), by its key exchange's proof and its cipher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are those of the suites")]
pub enum TlsSuite {
    EcdsaAes128,
    EcdsaAes256,
    EcdsaChacha20,
    RsaAes128,
    RsaAes256,
    RsaChacha20,
}

/// A certificate and its key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsIdentity {
    /// The certificate, and those that lead from it to an authority.
    pub certificates: Vec<Vec<u8>>,
    /// Its private key: PKCS #8, PKCS #1 or SEC1.
    pub key: Vec<u8>,
}

/// Why a PEM file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsFileError {
    #[error("{}: {why}: give a PEM file with {what}", .path.display())]
    Broken {
        path: PathBuf,
        why: pem::Error,
        what: &'static str,
    },
    #[error("{} has no certificate: give a PEM file that begins `-----BEGIN CERTIFICATE-----`", .0.display())]
    Empty(PathBuf),
}

impl TlsTrust {
    /// Trusts the certificates of a PEM file.
    ///
    /// # Errors
    /// [`TlsFileError`] when it has none.
    pub fn read(path: &Path) -> Result<TlsTrust, TlsFileError> {
        certificates(path).map(TlsTrust::Given)
    }

    /// Trusts the certificates of a text in PEM; `None` if it has none, or is not PEM.
    #[must_use]
    pub fn parse(text: &str) -> Option<TlsTrust> {
        let certificates: Vec<Vec<u8>> = CertificateDer::pem_slice_iter(text.as_bytes())
            .map(|certificate| Some(certificate.ok()?.to_vec()))
            .collect::<Option<_>>()?;
        (!certificates.is_empty()).then_some(TlsTrust::Given(certificates))
    }
}

impl TlsIdentity {
    /// Reads a certificate and its key from PEM files, which may be the same file.
    ///
    /// # Errors
    /// [`TlsFileError`] if one of them is missing there.
    pub fn read(certificate: &Path, key: &Path) -> Result<TlsIdentity, TlsFileError> {
        let private_key = pem_bytes(key)
            .and_then(|bytes| PrivateKeyDer::from_pem_slice(&bytes))
            .map_err(|why| TlsFileError::Broken {
                path: key.to_owned(),
                why,
                what: "a private key",
            })?;
        Ok(TlsIdentity {
            certificates: certificates(certificate)?,
            key: private_key.secret_der().to_vec(),
        })
    }
}

/// The bytes of a PEM file.
fn pem_bytes(path: &Path) -> Result<Vec<u8>, pem::Error> {
    read_up_to(path, PEM_BYTES_MAX).map_err(pem::Error::Io)
}

/// The most bytes of a PEM file: a file of all public authorities has a fiftieth of them.
const PEM_BYTES_MAX: u64 = 16 << 20;

fn certificates(path: &Path) -> Result<Vec<Vec<u8>>, TlsFileError> {
    let broken = |why| TlsFileError::Broken {
        path: path.to_owned(),
        why,
        what: "certificates",
    };
    let text = pem_bytes(path).map_err(broken)?;
    let mut certificates = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        certificates.push(certificate.map_err(broken)?.to_vec());
    }
    if certificates.is_empty() {
        Err(TlsFileError::Empty(path.to_owned()))
    } else {
        Ok(certificates)
    }
}

impl TlsVersion {
    /// Its number.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TlsVersion::Tls12 => "1.2",
            TlsVersion::Tls13 => "1.3",
        }
    }
}

impl TlsSuite {
    /// All supported suites.
    pub const ALL: [TlsSuite; 6] = [
        TlsSuite::EcdsaAes128,
        TlsSuite::EcdsaAes256,
        TlsSuite::EcdsaChacha20,
        TlsSuite::RsaAes128,
        TlsSuite::RsaAes256,
        TlsSuite::RsaChacha20,
    ];

    /// Its name in OpenSSL.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TlsSuite::EcdsaAes128 => "ECDHE-ECDSA-AES128-GCM-SHA256",
            TlsSuite::EcdsaAes256 => "ECDHE-ECDSA-AES256-GCM-SHA384",
            TlsSuite::EcdsaChacha20 => "ECDHE-ECDSA-CHACHA20-POLY1305",
            TlsSuite::RsaAes128 => "ECDHE-RSA-AES128-GCM-SHA256",
            TlsSuite::RsaAes256 => "ECDHE-RSA-AES256-GCM-SHA384",
            TlsSuite::RsaChacha20 => "ECDHE-RSA-CHACHA20-POLY1305",
        }
    }
}

impl std::fmt::Debug for TlsIdentity {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsIdentity")
            .field("certificates", &self.certificates.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_and_keys_are_read_from_regular_files_only() {
        // Method: devices and a folder in place of each file.
        for path in ["/dev/zero", "/dev/null", "/"].map(Path::new) {
            let errors = [
                TlsTrust::read(path).unwrap_err(),
                TlsIdentity::read(path, path).unwrap_err(),
            ];
            for error in errors.map(|error| error.to_string()) {
                assert!(error.contains("not a regular file"), "{error}");
            }
        }
    }
}
