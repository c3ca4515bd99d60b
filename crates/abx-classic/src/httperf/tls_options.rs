//! TLS options: `--ssl-ciphers` of httperf 0.9.0, and those of newer versions.

use super::values::{HttperfRefusal, illegal, refusal};

/// The TLS options, which apply with `--ssl`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttperfTlsOptions {
    /// The offered cipher suites of TLS 1.2, as written on the command line; `None` for all.
    pub ciphers: Option<String>,
    /// The only version; `None` for the newest that both sides support.
    pub version: Option<HttperfTlsVersion>,
    /// The file of this client's certificate.
    pub certificate: Option<String>,
    /// The file of the certificate's key.
    pub key: Option<String>,
    /// Whether the server's certificate is verified.
    pub verifies: bool,
    /// The file of the trusted certificates; `None` for those of the machine.
    pub ca_file: Option<String>,
    /// The name that is sent to the server, and that a verified certificate must contain.
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

    /// The name for `--ssl-protocol`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            HttperfTlsVersion::Tls12 => "TLSv1.2",
            HttperfTlsVersion::Tls13 => "TLSv1.3",
        }
    }
}

impl HttperfTlsOptions {
    /// The names of the offered cipher suites, in order of preference; empty for all.
    pub fn suites(&self) -> impl Iterator<Item = &str> {
        let list = self.ciphers.as_deref().unwrap_or_default();
        list.split([':', ',']).filter(|name| !name.is_empty())
    }

    /// Reads `--ssl-verify`, with or without a value.
    pub(super) fn verifies(value: Option<&str>) -> Result<bool, HttperfRefusal> {
        match value {
            None | Some("yes") => Ok(true),
            Some("no") => Ok(false),
            Some(other) => Err(illegal("choice of --ssl-verify (yes, no)", other)),
        }
    }

    /// Refuses options that have no effect alone.
    pub(super) fn check(&self) -> Result<(), HttperfRefusal> {
        if self.certificate.is_some() != self.key.is_some() {
            return Err(refusal(
                "--ssl-certificate and --ssl-key belong together: give both",
            ));
        }
        if self.ca_file.is_some() && !self.verifies {
            return Err(refusal(
                "--ssl-ca-file is for --ssl-verify, without which any certificate is accepted",
            ));
        }
        Ok(())
    }

    /// The options as httperf echoes them: in its order, and with its names.
    pub(super) fn echo(&self) -> Vec<String> {
        let with = |name: &str, value: Option<&str>| value.map(|value| format!("--{name}={value}"));
        let switch = |name: &str, is_set: bool| is_set.then(|| format!("--{name}"));
        let version = self.version.map(HttperfTlsVersion::name);
        let words = [
            with("ssl-ciphers", self.ciphers.as_deref()),
            with("tls-server-name", self.server_name.as_deref()),
            switch("ssl-no-reuse", self.no_reuse),
            with("ssl-cert", self.certificate.as_deref()),
            with("ssl-key", self.key.as_deref()),
            with("ssl-ca-file", self.ca_file.as_deref()),
            switch("ssl-verify", self.verifies),
            with("ssl-protocol", version),
        ];
        words.into_iter().flatten().collect()
    }
}
