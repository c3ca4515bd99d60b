//! Flags for encrypted connections.

use std::path::PathBuf;

use abx_engine::{TlsIdentity, TlsTrust, TlsVersion};
use abx_lab::TlsSpec;
use clap::{Args, ValueEnum};

use crate::ui::end::Failure;

/// How connections to https:// and wss:// are encrypted.
#[derive(Debug, Clone, Args)]
pub struct TlsFlags {
    /// Trust the CA certificates in this PEM file instead of the system's.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    ca: Option<PathBuf>,
    /// Accept any server certificate (no verification).
    #[arg(long)]
    insecure: bool,
    /// Client certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// The private key of --cert (PEM).
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Use only this version of TLS [default: the newest that the server supports].
    #[arg(long, value_enum, value_name = "VERSION")]
    tls_version: Option<TlsVersionName>,
    /// Let connections resume earlier sessions, as browsers do [default: a full handshake each].
    #[arg(long)]
    tls_resume: bool,
}

/// Versions of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TlsVersionName {
    /// TLS 1.2.
    #[value(name = "1.2")]
    Tls12,
    /// TLS 1.3.
    #[value(name = "1.3")]
    Tls13,
}

impl TlsFlags {
    /// The TLS settings of the flags.
    ///
    /// # Errors
    /// A usage failure for files that cannot be used, or if nothing is encrypted.
    pub fn spec(&self, is_encrypted: bool) -> Result<TlsSpec, Failure> {
        let flags = self.given();
        let given = flags.iter().find(|(is_given, ..)| *is_given);
        if let (false, Some((_, flag, _))) = (is_encrypted, given) {
            return Err(Failure::usage(format!(
                "{flag} is for https:// and wss://, and no URL here is one: use https:// instead of \
                 http://, or leave it out"
            )));
        }
        let trust = match (&self.ca, self.insecure) {
            (Some(file), _) => TlsTrust::read(file).map_err(Failure::usage)?,
            (None, true) => TlsTrust::Anyone,
            (None, false) => TlsTrust::System,
        };
        let identity = self.cert.as_ref().zip(self.key.as_ref());
        let identity = identity.map(|(cert, key)| TlsIdentity::read(cert, key));
        Ok(TlsSpec {
            trust,
            version: self.tls_version.map(|version| match version {
                TlsVersionName::Tls12 => TlsVersion::Tls12,
                TlsVersionName::Tls13 => TlsVersion::Tls13,
            }),
            resumption: self.tls_resume,
            identity: identity.transpose().map_err(Failure::usage)?,
        })
    }

    /// Whether any certificate is trusted.
    pub fn trusts_any(&self) -> bool {
        self.insecure
    }

    /// Each flag: whether it was given, its name, and its key in a study file.
    pub fn given(&self) -> [(bool, &'static str, &'static str); 6] {
        [
            (self.ca.is_some(), "--ca", "tls"),
            (self.insecure, "--insecure", "tls"),
            (self.cert.is_some(), "--cert", "tls"),
            (self.key.is_some(), "--key", "tls"),
            (self.tls_version.is_some(), "--tls-version", "tls"),
            (self.tls_resume, "--tls-resume", "tls"),
        ]
    }
}
