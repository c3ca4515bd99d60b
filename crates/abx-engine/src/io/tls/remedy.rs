//! Why TLS fails, and remedies for a failed handshake.

use std::fmt;
use std::io;

use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};

/// Why a handshake failed and how far it had come, or why a connection broke after it.
#[derive(Debug)]
pub(super) struct TlsFault {
    pub(super) error: Error,
    /// Whether the server had chosen a version, and with it a cipher.
    pub(super) had_chosen: bool,
}

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.error {
            Error::AlertReceived(alert) => write!(f, "the server refused with alert {alert:?}"),
            Error::InvalidCertificate(ref error) => match in_words(error) {
                Some(words) => f.write_str(words),
                None => write!(f, "the certificate cannot be verified ({error})"),
            },
            ref error => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for TlsFault {}

/// Text to append to an error of a handshake; empty if no remedy is known.
pub(crate) fn remedy(error: &io::Error) -> &'static str {
    let inner = error.get_ref();
    let Some(fault) = inner.and_then(|inner| inner.downcast_ref::<TlsFault>()) else {
        return NO_WORD;
    };
    match &fault.error {
        Error::InvalidMessage(_) if !fault.had_chosen => {
            "; it does not seem to support TLS: use http:// or ws://"
        }
        Error::InvalidCertificate(error) => of_certificate(error),
        Error::PeerIncompatible(
            PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
            | PeerIncompatible::ServerDoesNotSupportTls12Or13,
        ) => OTHER_VERSION,
        Error::AlertReceived(alert) => of_alert(*alert, fault.had_chosen),
        _ => "",
    }
}

/// Why certificates cannot be trusted although the user requires it.
pub(super) fn why_untrusted(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(error) => in_words(error).map(str::to_owned),
        _ => None,
    }
    .unwrap_or_else(|| error.to_string())
}

/// The fault of a certificate in words, if the error's own text is not meant for users.
fn in_words(error: &CertificateError) -> Option<&'static str> {
    Some(match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the certificate has expired"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the certificate is not valid yet"
        }
        CertificateError::NotValidForName => "the certificate is for another name",
        CertificateError::UnknownIssuer => "the certificate's issuer is not trusted",
        CertificateError::Revoked => "the certificate has been revoked",
        CertificateError::BadEncoding => "the certificate cannot be read",
        CertificateError::BadSignature => {
            "the certificate's signature does not match its issuer's key"
        }
        // The verifier passes on its other errors without a type of their own.
        CertificateError::Other(other) => match other.to_string().as_str() {
            "CaUsedAsEndEntity" => "the certificate is self-signed and not trusted",
            "EndEntityUsedAsCa" => "the certificate's issuer is not a certificate authority",
            _ => return None,
        },
        _ => return None,
    })
}

fn of_certificate(error: &CertificateError) -> &'static str {
    match error {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "; use a name that the certificate covers, or trust any certificate with --insecure"
        }
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => {
            "; renew the certificate, set this machine's clock, or trust any with --insecure"
        }
        _ => "; trust it or its issuer with --ca FILE, or trust any certificate with --insecure",
    }
}

fn of_alert(alert: AlertDescription, had_chosen: bool) -> &'static str {
    match alert {
        AlertDescription::ProtocolVersion => OTHER_VERSION,
        AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity => {
            if had_chosen {
                // TLS 1.2 has no alert for a missing certificate.
                WANTS_CERTIFICATE
            } else {
                NO_CIPHER
            }
        }
        AlertDescription::CertificateRequired
        | AlertDescription::NoCertificate
        | AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnknownCA
        | AlertDescription::AccessDenied => WANTS_CERTIFICATE,
        AlertDescription::UnrecognisedName => {
            "; it serves no site of this name: use a name that it knows"
        }
        AlertDescription::NoApplicationProtocol => {
            "; it does not support HTTP/2: use HTTP/1.1, without --http2"
        }
        _ => "; its own log may say why",
    }
}

/// The remedy for a connection that ended without any TLS record.
const NO_WORD: &str = "; if it does not use TLS on this port, use http:// or ws://; otherwise read \
 its log";
const OTHER_VERSION: &str = "; it does not support this version of TLS: omit --tls-version, or \
 enable TLS 1.2 or 1.3 there";
const NO_CIPHER: &str = "; no cipher in common: abx offers ECDHE with AES-GCM or ChaCha20-Poly1305, \
                         so enable one of them there, for the kind of key that its certificate has";
const WANTS_CERTIFICATE: &str = "; it requires a client certificate that it trusts: use --cert \
                                 FILE --key FILE";
