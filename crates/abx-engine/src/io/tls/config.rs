//! A plan as rustls wants it.

use std::sync::{Arc, OnceLock};

use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, Error, RootCertStore, version};

use super::verifiers::{Given, Unverified};
use crate::plan::{TlsPlan, TlsTrust, TlsVersion};

/// Sessions that are kept to be resumed.
const SESSIONS_MAX: usize = 1024;

/// What all connections of a load have in common.
#[derive(Clone)]
pub(crate) struct TlsClient {
    pub(super) config: Arc<ClientConfig>,
    pub(super) name: ServerName<'static>,
}

/// Why a plan cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum TlsPlanError {
    /// No server can have this name.
    #[error("`{0}` is neither a name nor an address that a certificate can be for")]
    Name(String),
    /// The machine has no list of authorities.
    #[error("this machine has no list of certificate authorities ({0}): name one by --ca FILE")]
    System(String),
    /// A certificate or a key that does not serve.
    #[error("a certificate or key cannot be used: {0}")]
    Material(#[from] Error),
}

impl TlsClient {
    /// Reads certificates and keys of a plan.
    ///
    /// # Errors
    /// One [`TlsPlanError`] for each thing in it that cannot be used.
    pub(crate) fn of(plan: &TlsPlan) -> Result<TlsClient, TlsPlanError> {
        let name = ServerName::try_from(plan.server_name.clone())
            .map_err(|_| TlsPlanError::Name(plan.server_name.clone()))?;
        let provider = Arc::new(ring::default_provider());
        let versions = match plan.version {
            None => rustls::ALL_VERSIONS,
            Some(TlsVersion::Tls12) => &[&version::TLS12],
            Some(TlsVersion::Tls13) => &[&version::TLS13],
        };
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)?;
        let builder = match &plan.trust {
            TlsTrust::System => builder.with_root_certificates(system_authorities()?),
            TlsTrust::Given(given) => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Given::of(given, provider)?)),
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
        config.resumption = match plan.resumption {
            true => Resumption::in_memory_sessions(SESSIONS_MAX),
            false => Resumption::disabled(),
        };
        Ok(TlsClient {
            config: Arc::new(config),
            name,
        })
    }
}

/// Those of the machine, read once.
fn system_authorities() -> Result<Arc<RootCertStore>, TlsPlanError> {
    static STORE: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    if let Some(store) = STORE.get() {
        return Ok(Arc::clone(store));
    }
    let found = rustls_native_certs::load_native_certs();
    let mut store = RootCertStore::empty();
    let (used, _) = store.add_parsable_certificates(found.certs);
    if used == 0 {
        let why = found.errors.first().map(ToString::to_string);
        let why = why.unwrap_or_else(|| "none was found".to_owned());
        return Err(TlsPlanError::System(why));
    }
    Ok(Arc::clone(STORE.get_or_init(|| Arc::new(store))))
}
