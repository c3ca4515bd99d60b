//! A peer over TLS that counts its handshakes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread::JoinHandle;

use abx_engine::{TlsPlan, TlsTrust};
use rcgen::{CertifiedKey, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{HandshakeKind, RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::HELLO;

pub(crate) const BOTH: &[&rustls::SupportedProtocolVersion] = rustls::ALL_VERSIONS;

/// The name in the certificates of these tests.
const NAME: &str = "server.test";

static SERVER: LazyLock<CertifiedKey<KeyPair>> = LazyLock::new(certified);
pub(crate) static CLIENT: LazyLock<CertifiedKey<KeyPair>> = LazyLock::new(certified);

fn certified() -> CertifiedKey<KeyPair> {
    rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap()
}

fn key_of(certified: &CertifiedKey<KeyPair>) -> PrivateKeyDer<'static> {
    PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap()
}

/// Responds with `hello` to anything that ends with an empty line, again and again.
pub(crate) struct TlsPeer {
    pub(crate) address: SocketAddr,
    pub(crate) seen: Arc<Seen>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) requests: AtomicU64,
    full: AtomicU64,
    resumed: AtomicU64,
    /// Connections that sent a server name.
    pub(crate) named: AtomicU64,
    /// Responses of a connection before a record that cannot be decrypted; 0 for none.
    pub(crate) breaks_after: AtomicU64,
    stopping: AtomicBool,
}

/// A record of data that was encrypted with no key of the connection.
const BROKEN_RECORD: [u8; 37] = {
    let mut record = [0xaa; 37];
    (record[0], record[1], record[2], record[3], record[4]) = (0x17, 3, 3, 0, 32);
    record
};

impl TlsPeer {
    /// `wants_certificate` says whether it requests a certificate from the client.
    pub(crate) fn start(
        versions: &[&'static rustls::SupportedProtocolVersion],
        wants_certificate: bool,
    ) -> TlsPeer {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .unwrap();
        let builder = if wants_certificate {
            let mut clients = RootCertStore::empty();
            clients.add(CLIENT.cert.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(clients.into(), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        } else {
            builder.with_no_client_auth()
        };
        let chain = vec![SERVER.cert.der().clone()];
        let config = Arc::new(builder.with_single_cert(chain, key_of(&SERVER)).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let for_acceptor = Arc::clone(&seen);
        let acceptor = std::thread::spawn(move || {
            std::thread::scope(|scope| {
                for stream in listener.incoming() {
                    if for_acceptor.stopping.load(Ordering::SeqCst) {
                        return;
                    }
                    let session = ServerConnection::new(Arc::clone(&config)).unwrap();
                    let stream = StreamOwned::new(session, stream.unwrap());
                    let seen = &for_acceptor;
                    scope.spawn(move || serve(stream, seen));
                }
            });
        });
        TlsPeer {
            address,
            seen,
            acceptor: Some(acceptor),
        }
    }

    pub(crate) fn handshakes(&self) -> [u64; 2] {
        [&self.seen.full, &self.seen.resumed].map(|count| count.load(Ordering::SeqCst))
    }
}

impl Drop for TlsPeer {
    fn drop(&mut self) {
        self.seen.stopping.store(true, Ordering::SeqCst);
        // Only a connection wakes the acceptor.
        let _ = TcpStream::connect(self.address);
        let ended = self.acceptor.take().map(JoinHandle::join);
        assert!(ended.is_none_or(|ended| ended.is_ok()) || std::thread::panicking());
    }
}

/// `None` when the client has gone.
fn serve(mut stream: StreamOwned<ServerConnection, TcpStream>, seen: &Seen) -> Option<()> {
    let mut unread = Vec::new();
    let mut buffer = [0; 4096];
    stream.conn.complete_io(&mut stream.sock).ok()?;
    let kind = match stream.conn.handshake_kind()? {
        HandshakeKind::Resumed => &seen.resumed,
        _ => &seen.full,
    };
    kind.fetch_add(1, Ordering::SeqCst);
    let is_named = stream.conn.server_name().is_some();
    seen.named.fetch_add(u64::from(is_named), Ordering::SeqCst);
    let mut responded = 0;
    loop {
        let got = stream.read(&mut buffer).ok().filter(|got| *got > 0)?;
        unread.extend_from_slice(&buffer[..got]);
        while let Some(end) = unread.windows(4).position(|part| part == b"\r\n\r\n") {
            unread.drain(..end + 4);
            seen.requests.fetch_add(1, Ordering::SeqCst);
            responded += 1;
            stream.conn.writer().write_all(HELLO).ok()?;
            let mut records = Vec::new();
            stream.conn.write_tls(&mut records).ok()?;
            if responded == seen.breaks_after.load(Ordering::SeqCst) {
                // In the same segment as the response.
                records.extend(BROKEN_RECORD);
            }
            stream.sock.write_all(&records).ok()?;
        }
    }
}

/// A client that trusts the server's certificate.
pub(crate) fn trusting() -> TlsPlan {
    TlsPlan {
        server_name: NAME.to_owned(),
        hides_name: false,
        trust: TlsTrust::Given(vec![SERVER.cert.der().to_vec()]),
        version: None,
        suites: Vec::new(),
        resumption: false,
        protocols: Vec::new(),
        identity: None,
    }
}
