//! A certificate for tests, and both sides that use it.

use std::sync::{Arc, LazyLock};

use abx_engine::{TlsPlan, TlsTrust};
use rcgen::CertifiedKey;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;

/// The name that the certificate is for.
pub const NAME: &str = "server.test";

static CERTIFIED: LazyLock<CertifiedKey<rcgen::KeyPair>> =
    LazyLock::new(|| rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap());

/// A server that uses it, and sends no tickets unprompted.
pub fn server() -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::try_from(CERTIFIED.signing_key.serialize_der()).unwrap();
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(rustls::ALL_VERSIONS)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CERTIFIED.cert.der().clone()], key)
        .unwrap();
    config.send_tls13_tickets = 0;
    Arc::new(config)
}

/// The certificate, as DER.
pub fn der() -> Vec<u8> {
    CERTIFIED.cert.der().to_vec()
}

/// A client that trusts only this certificate.
pub fn plan() -> TlsPlan {
    TlsPlan {
        server_name: NAME.to_owned(),
        hides_name: false,
        trust: TlsTrust::Given(vec![der()]),
        version: None,
        suites: Vec::new(),
        resumption: false,
        protocols: Vec::new(),
        identity: None,
    }
}
