//! What helps when a handshake fails.

use std::io;

use rustls::{AlertDescription, CertificateError, Error};

/// Words to be put behind an error of a handshake; empty where nothing is known to help.
pub(crate) fn remedy(error: &io::Error) -> &'static str {
    let inner = error.get_ref();
    let Some(inner) = inner.and_then(|inner| inner.downcast_ref::<Error>()) else {
        return "";
    };
    match inner {
        Error::InvalidMessage(_) => "; it seems not to speak TLS: use http:// or ws://",
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "; use a name that the certificate is for, or take any by --insecure",
        Error::InvalidCertificate(_) => {
            "; believe it or whoever signed it by --ca FILE, or take any by --insecure"
        }
        Error::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            "; it speaks no HTTP/2: ask it in HTTP/1.1, without --http2"
        }
        _ => "",
    }
}
