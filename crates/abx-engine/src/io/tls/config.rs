//! A TLS plan as a rustls configuration.

use std::sync::{Arc, OnceLock};

use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{CipherSuite, ClientConfig, Error, RootCertStore, SupportedCipherSuite, version};

use super::remedy::why_untrusted;
use super::tickets::Tickets;
use super::verifiers::{Given, Unverified};
use crate::plan::{TlsPlan, TlsSuite, TlsTrust, TlsVersion};

/// The configuration that all connections of a load share.
#[derive(Clone)]
pub struct TlsClient {
    pub(super) config: Arc<ClientConfig>,
    pub(super) name: ServerName<'static>,
}

/// Why a plan cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum TlsPlanError {
    #[error("`{0}` is not a name or address that a certificate can cover")]
    Name(String),
    #[error("this machine has no list of certificate authorities ({0}): give one with --ca FILE")]
    System(String),
    #[error(
        "the certificates to trust (--ca) cannot be used: {0}: renew them, or accept any with --insecure"
    )]
    Trust(String),
    #[error("a certificate or key cannot be used: {0}")]
    Material(#[from] Error),
}

impl TlsClient {
    /// Reads certificates and keys of a plan, for a load of this many connections.
    ///
    /// # Errors
    /// [`TlsPlanError`] for the first part that cannot be used.
    pub fn of(plan: &TlsPlan, connections: usize) -> Result<TlsClient, TlsPlanError> {
        let name = ServerName::try_from(plan.server_name.clone())
            .map_err(|_| TlsPlanError::Name(plan.server_name.clone()))?;
        let provider = Arc::new(offering(&plan.suites));
        let versions = match plan.version {
            None => rustls::ALL_VERSIONS,
            Some(TlsVersion::Tls12) => &[&version::TLS12],
            Some(TlsVersion::Tls13) => &[&version::TLS13],
        };
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)?;
        let builder = match &plan.trust {
            TlsTrust::System => builder.with_root_certificates(system_authorities()?),
            TlsTrust::Given(given) => {
                let given = Given::of(given, provider)
                    .map_err(|error| TlsPlanError::Trust(why_untrusted(&error)))?;
                builder
                    .dangerous()
                    .with_custom_certificate_verifier(Arc::new(given))
            }
            TlsTrust::Anyone => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Unverified(provider))),
        };
        let mut config = match &plan.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let chain = identity.certificates.iter().cloned();
                let chain = chain.map(CertificateDer::from).collect();
                let key = PrivateKeyDer::try_from(identity.key.clone())
                    .map_err(|why| TlsPlanError::Material(Error::General(why.to_owned())))?;
                builder.with_client_auth_cert(chain, key)?
            }
        };
        config.enable_sni = !plan.hides_name;
        let protocols = plan.protocols.iter();
        config.alpn_protocols = protocols.map(|name| name.clone().into_bytes()).collect();
        config.resumption = if plan.resumption {
            Resumption::store(Arc::new(Tickets::for_connections(connections)))
        } else {
            Resumption::disabled()
        };
        Ok(TlsClient {
            config: Arc::new(config),
            name,
        })
    }
}

/// A provider that offers these suites of TLS 1.2, or all if the list is empty, and all of TLS 1.3.
fn offering(suites: &[TlsSuite]) -> CryptoProvider {
    let mut provider = ring::default_provider();
    if suites.is_empty() {
        return provider;
    }
    let place = |offered: &SupportedCipherSuite| {
        suites
            .iter()
            .position(|suite| number(*suite) == offered.suite())
    };
    let offers = &mut provider.cipher_suites;
    offers.retain(|suite| suite.tls13().is_some() || place(suite).is_some());
    offers.sort_by_key(place);
    provider
}

fn number(suite: TlsSuite) -> CipherSuite {
    use CipherSuite as Number;
    match suite {
        TlsSuite::EcdsaAes128 => Number::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        TlsSuite::EcdsaAes256 => Number::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        TlsSuite::EcdsaChacha20 => Number::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        TlsSuite::RsaAes128 => Number::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        TlsSuite::RsaAes256 => Number::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        TlsSuite::RsaChacha20 => Number::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    }
}

/// The machine's certificate authorities, read once.
fn system_authorities() -> Result<Arc<RootCertStore>, TlsPlanError> {
    static STORE: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    if let Some(store) = STORE.get() {
        return Ok(Arc::clone(store));
    }
    let loaded = rustls_native_certs::load_native_certs();
    let mut store = RootCertStore::empty();
    let (used, _) = store.add_parsable_certificates(loaded.certs);
    if used == 0 {
        let why = loaded.errors.first().map(ToString::to_string);
        let why = why.unwrap_or_else(|| "none was found".to_owned());
        return Err(TlsPlanError::System(why));
    }
    Ok(Arc::clone(STORE.get_or_init(|| Arc::new(store))))
}
