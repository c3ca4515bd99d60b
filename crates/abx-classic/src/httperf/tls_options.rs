//! How TLS is used: `--ssl-ciphers`, which httperf 0.9.0 has, and what newer ones have.

use super::values::{HttperfRefusal, illegal, refusal};

/// How TLS is used, if `--ssl` requests it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttperfTlsOptions {
    /// The cipher suites of TLS 1.2 that are offered, as they were given; `None` for all.
    pub ciphers: Option<String>,
    /// The only version; `None` for the newest that both sides know.
    pub version: Option<HttperfTlsVersion>,
    /// The file of this client's certificate.
    pub certificate: Option<String>,
    /// The file of its key.
    pub key: Option<String>,
    /// Whether the server's certificate is verified.
    pub verifies: bool,
    /// The file of the certificates that are believed then; `None` for those of the machine.
    pub ca_file: Option<String>,
    /// The name sent to the server, and whose certificate it must show when that is verified.
    pub server_name: Option<String>,
    /// Never resume a session.
    pub no_reuse: bool,
}

/// A version of TLS to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttperfTlsVersion {
    Tls12,
    Tls13,
}

impl HttperfTlsVersion {
    /// Reads `--ssl-protocol`; `None` for any.
    pub(super) fn read(value: &str) -> Result<Option<HttperfTlsVersion>, HttperfRefusal> {
        let name = value.to_ascii_lowercase().replace('_', ".");
        match name.as_str() {
            "auto" => Ok(None),
            "tlsv1.2" => Ok(Some(HttperfTlsVersion::Tls12)),
            "tlsv1.3" => Ok(Some(HttperfTlsVersion::Tls13)),
            "sslv2" | "sslv3" | "tlsv1" | "tlsv1.0" | "tlsv1.1" => Err(HttperfRefusal(format!(
                "abx does not support --ssl-protocol {value}: it supports TLSv1.2 and TLSv1.3"
            ))),
            _ => Err(illegal("SSL protocol", value)),
        }
    }

    /// Its name, as `--ssl-protocol` has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            HttperfTlsVersion::Tls12 => "TLSv1.2",
            HttperfTlsVersion::Tls13 => "TLSv1.3",
        }
    }
}

impl HttperfTlsOptions {
    /// Names of the cipher suites that are offered, the best first; none for all.
    pub fn suites(&self) -> impl Iterator<Item = &str> {
        let list = self.ciphers.as_deref().unwrap_or_default();
        list.split([':', ',']).filter(|name| !name.is_empty())
    }

    /// Reads `--ssl-verify`, with its value or without.
    pub(super) fn verifies(value: Option<&str>) -> Result<bool, HttperfRefusal> {
        match value {
            None | Some("yes") => Ok(true),
            Some("no") => Ok(false),
            Some(other) => Err(illegal("choice of --ssl-verify (yes, no)", other)),
        }
    }

    /// Refuses what means nothing alone.
    pub(super) fn check(&self) -> Result<(), HttperfRefusal> {
        if self.certificate.is_some() != self.key.is_some() {
            return Err(refusal(
                "--ssl-certificate and --ssl-key: there must be both",
            ));
        }
        if self.ca_file.is_some() && !self.verifies {
            return Err(refusal(
                "--ssl-ca-file is for --ssl-verify, without which any certificate is accepted",
            ));
        }
        Ok(())
    }

    /// The same as options, in httperf's order and by the names that it gives them there.
    pub(super) fn echo(&self) -> Vec<String> {
        let with = |name: &str, value: Option<&str>| value.map(|value| format!("--{name}={value}"));
        let message = |name: &str, is_given: bool| is_given.then(|| format!("--{name}"));
        let version = self.version.map(HttperfTlsVersion::name);
        let texts = [
            with("ssl-ciphers", self.ciphers.as_deref()),
            with("tls-server-name", self.server_name.as_deref()),
            message("ssl-no-reuse", self.no_reuse),
            with("ssl-cert", self.certificate.as_deref()),
            with("ssl-key", self.key.as_deref()),
            with("ssl-ca-file", self.ca_file.as_deref()),
            message("ssl-verify", self.verifies),
            with("ssl-protocol", version),
        ];
        texts.into_iter().flatten().collect()
    }
}
