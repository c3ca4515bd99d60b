//! Trust in certificates other than those of the machine's authorities.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Trusts given certificates and those that they signed, except expired ones. A given certificate
/// needs no signature: it may be the server's own, such as a self-signed certificate for trials.
#[derive(Debug)]
pub(super) struct Given {
    certificates: Vec<CertificateDer<'static>>,
    signed: Arc<WebPkiServerVerifier>,
}

impl Given {
    /// # Errors
    /// A certificate cannot be parsed, or none is valid now: then the error of the first.
    pub(super) fn of(given: &[Vec<u8>], provider: Arc<CryptoProvider>) -> Result<Given, Error> {
        let mut certificates: Vec<CertificateDer> =
            given.iter().cloned().map(CertificateDer::from).collect();
        let verifier = signed_by(&certificates, &provider)?;
        let now = UnixTime::now();
        let outdated = |certificate: &CertificateDer| outdated(&verifier, certificate, now);
        let first = certificates.first().and_then(outdated);
        certificates.retain(|certificate| outdated(certificate).is_none());
        if let Some(error) = first.filter(|_| certificates.is_empty()) {
            return Err(error);
        }
        let signed = signed_by(&certificates, &provider)?;
        Ok(Given {
            certificates,
            signed,
        })
    }
}

/// Trusts certificates signed by the given ones, even if those have expired.
fn signed_by(
    certificates: &[CertificateDer<'static>],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, Error> {
    let mut store = RootCertStore::empty();
    for certificate in certificates {
        store.add(certificate.clone())?;
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider))
        .build()
        .map_err(|error| Error::General(error.to_string()))
}

/// Why a certificate is not valid now. SUBTLE: it is verified as a server's certificate, whose
/// dates are checked first; other errors do not matter for an authority.
fn outdated(
    verifier: &WebPkiServerVerifier,
    certificate: &CertificateDer<'_>,
    now: UnixTime,
) -> Option<Error> {
    use CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
    let name = ServerName::try_from("localhost").expect("a name");
    let verified = verifier.verify_server_cert(certificate, &[], &name, &[], now);
    let is_about_dates = |error: &Error| {
        matches!(
            error,
            Error::InvalidCertificate(
                Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. }
            )
        )
    };
    verified.err().filter(is_about_dates)
}

impl ServerCertVerifier for Given {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.certificates.contains(shown) {
            verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
            return Ok(ServerCertVerified::assertion());
        }
        self.signed
            .verify_server_cert(shown, between, name, stapled, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}

/// Trusts every certificate, but still verifies that the server has its key.
#[derive(Debug)]
pub(super) struct Unverified(pub(super) Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.0.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
    use rustls::crypto::ring::default_provider;

    use super::*;

    const NAME: &str = "server.test";

    fn params(last_year: i32) -> CertificateParams {
        let mut params = CertificateParams::new([NAME.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(last_year, 1, 1);
        params
    }

    /// A server's own certificate.
    fn own(last_year: i32) -> CertificateDer<'static> {
        let key = KeyPair::generate().unwrap();
        params(last_year).self_signed(&key).unwrap().der().clone()
    }

    /// An authority, and a server's certificate that it signed.
    fn signed(last_year: [i32; 2]) -> [CertificateDer<'static>; 2] {
        let (authority_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
        let mut authority = params(last_year[0]);
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = authority.self_signed(&authority_key).unwrap().der().clone();
        let issuer = Issuer::new(authority, authority_key);
        let shown = params(last_year[1]).signed_by(&key, &issuer).unwrap();
        [certificate, shown.der().clone()]
    }

    /// Whether a server that shows this certificate is trusted.
    fn is_trusted(trusted: &[&CertificateDer], shown: &CertificateDer<'_>) -> Result<(), String> {
        let trusted: Vec<Vec<u8>> = trusted.iter().map(|der| der.to_vec()).collect();
        let given = Given::of(&trusted, Arc::new(default_provider()));
        let given = given.map_err(|error| error.to_string())?;
        let name = ServerName::try_from(NAME).unwrap();
        let verified = given.verify_server_cert(shown, &[], &name, &[], UnixTime::now());
        verified.map(|_| ()).map_err(|error| error.to_string())
    }

    #[test]
    fn expired_certificates_are_not_trusted() {
        // Method: a server's own certificate, one signed by an authority, and a file with
        // several certificates, each before and after its last day.
        let [old, good] = [own(2021), own(2999)];
        assert_eq!(is_trusted(&[&good], &good), Ok(()));
        for trusted in [vec![&old], vec![&old, &good]] {
            assert!(
                is_trusted(&trusted, &old)
                    .unwrap_err()
                    .contains("certificate")
            );
        }
        assert!(is_trusted(&[&old], &old).unwrap_err().contains("expired"));
        assert_eq!(is_trusted(&[&old, &good], &good), Ok(()));
        let [authority, shown] = signed([2999, 2999]);
        assert_eq!(is_trusted(&[&authority], &shown), Ok(()));
        assert_eq!(is_trusted(&[&old, &authority], &shown), Ok(()));
        let [authority, shown] = signed([2999, 2021]);
        assert!(
            is_trusted(&[&authority], &shown)
                .unwrap_err()
                .contains("expired")
        );
        let [authority, shown] = signed([2021, 2999]);
        assert!(
            is_trusted(&[&authority], &shown)
                .unwrap_err()
                .contains("expired")
        );
    }
}
