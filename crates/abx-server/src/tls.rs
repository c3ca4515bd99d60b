//! TLS between a connection's socket and its protocol, by rustls: records on one side, plain
//! bytes on the other. Start at [`TlsAcceptor`], which creates the [`TlsStream`] of a connection.

use std::io::{self, IoSlice, Read, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use abx_sys::Socket;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use rustls::ServerConnection;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Where a certificate and its key come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerCertificate {
    /// From PEM files, which may be the same file.
    Files {
        /// The certificate, and the chain from it to an authority.
        certificate: PathBuf,
        key: PathBuf,
    },
    /// Created by each process at its start, self-signed, for `localhost`, the loopback addresses
    /// and the listening address.
    SelfSigned,
}

/// The names of protocols that clients may choose by ALPN (RFC 7301).
const HTTP1: &[u8] = b"http/1.1";
const HTTP2: &[u8] = b"h2";

/// The shared TLS configuration of all connections.
#[derive(Debug, Clone)]
pub(crate) struct TlsAcceptor(Arc<rustls::ServerConfig>);

#[derive(Debug)]
pub(crate) struct TlsStream {
    session: ServerConnection,
    /// Whether the last receive emptied the socket.
    is_drained: bool,
    has_sent_close_notify: bool,
}

/// Why TLS cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateFault {
    #[error("{}: {why}: give a PEM file with {what}", .path.display())]
    File {
        path: PathBuf,
        why: pem::Error,
        what: &'static str,
    },
    #[error("{} has no certificate: give a PEM file that begins `-----BEGIN CERTIFICATE-----`", .0.display())]
    Empty(PathBuf),
    #[error("the certificate and key are not usable: {0}")]
    Unusable(#[from] rustls::Error),
    #[error("no certificate can be made: {0}")]
    Unmade(#[from] rcgen::Error),
}

impl TlsAcceptor {
    /// Reads or creates the certificate of a server at this address.
    ///
    /// Both versions are supported, and clients may resume sessions by tickets.
    pub(crate) fn of(
        certificate: &ServerCertificate,
        address: Option<IpAddr>,
    ) -> Result<TlsAcceptor, CertificateFault> {
        let (chain, key) = match certificate {
            ServerCertificate::Files { certificate, key } => {
                (read_chain(certificate)?, read_key(key)?)
            }
            ServerCertificate::SelfSigned => self_signed(address)?,
        };
        let builder =
            rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_protocol_versions(rustls::ALL_VERSIONS)?
                .with_no_client_auth();
        let mut config = builder.with_single_cert(chain, key)?;
        config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
        config.ticketer = ring::Ticketer::new()?;
        Ok(TlsAcceptor(Arc::new(config)))
    }

    /// The TLS of one more connection.
    pub(crate) fn accept(&self) -> Box<TlsStream> {
        let session = ServerConnection::new(Arc::clone(&self.0));
        Box::new(TlsStream {
            session: session.expect("only sizes of fragments are refused, and none is set"),
            is_drained: false,
            has_sent_close_notify: false,
        })
    }
}

impl TlsStream {
    /// Receives plain bytes, and returns their number; zero is the client's end. Continues the
    /// handshake if necessary.
    fn receive(&mut self, socket: &Socket, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.session.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Many clients end without a close_notify; HTTP defines where a request ends.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
            let mut records = Records::of(socket);
            self.session.read_tls(&mut records)?;
            self.is_drained = records.is_drained;
            let processed = self.session.process_new_packets();
            let flushed = self.flush(socket);
            if let Err(error) = processed {
                // The client was notified, as far as there was room.
                return Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
            match flushed {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                // Pending records are sent before anything else.
                _ => {}
            }
        }
    }

    /// Encrypts and sends plain bytes, and returns their number; some of their records may still
    /// be [pending](TlsStream::has_pending_records).
    pub(crate) fn send(&mut self, socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
        self.flush(socket)?;
        let written = self.session.writer().write(bytes)?;
        match self.flush(socket) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(written),
        }
    }

    /// Whether records wait for room in the socket.
    pub(crate) fn has_pending_records(&self) -> bool {
        self.session.wants_write()
    }

    /// Whether HTTP/2 was negotiated; `None` without a negotiated protocol.
    pub(crate) fn agreed_on_http2(&self) -> Option<bool> {
        self.session.alpn_protocol().map(|name| name == HTTP2)
    }

    /// Sends pending records.
    pub(crate) fn flush(&mut self, socket: &Socket) -> io::Result<()> {
        while self.session.wants_write() {
            self.session.write_tls(&mut Records::of(socket))?;
        }
        Ok(())
    }

    /// Queues a close_notify, once; returns whether records are now pending.
    pub(crate) fn send_close_notify(&mut self) -> bool {
        if self.has_sent_close_notify {
            return false;
        }
        self.has_sent_close_notify = true;
        self.session.send_close_notify();
        self.session.wants_write()
    }
}

/// Receives bytes of the protocol, through TLS if it is used: their number, and whether the
/// socket may have more.
pub(crate) fn receive(
    socket: &Socket,
    tls: Option<&mut TlsStream>,
    buffer: &mut [u8],
) -> io::Result<(usize, bool)> {
    match tls {
        None => {
            let received = socket.receive(buffer)?;
            Ok((received, received == buffer.len()))
        }
        Some(tls) => {
            let received = tls.receive(socket, buffer)?;
            // A part of the buffer is only left if no decrypted bytes are.
            Ok((received, received == buffer.len() || !tls.is_drained))
        }
    }
}

/// Sends bytes of the protocol, through TLS if it is used, and returns their number; some of their
/// records may still be [pending](TlsStream::has_pending_records).
pub(crate) fn send(
    socket: &Socket,
    tls: Option<&mut TlsStream>,
    bytes: &[u8],
) -> io::Result<usize> {
    match tls {
        None => socket.send(bytes),
        Some(tls) => tls.send(socket, bytes),
    }
}

/// A socket for reading and writing records.
struct Records<'a> {
    socket: &'a Socket,
    /// Whether a receive returned less than the buffer could take.
    is_drained: bool,
}

impl Records<'_> {
    fn of(socket: &Socket) -> Records<'_> {
        Records {
            socket,
            is_drained: false,
        }
    }
}

impl Read for Records<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let received = self.socket.receive(buffer)?;
        self.is_drained = received < buffer.len();
        Ok(received)
    }
}

impl Write for Records<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.send(bytes)
    }

    fn write_vectored(&mut self, records: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut no_ancillary_data = SendAncillaryBuffer::default();
        let flags = SendFlags::NOSIGNAL;
        Ok(sendmsg(
            self.socket,
            records,
            &mut no_ancillary_data,
            flags,
        )?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

type ChainAndKey = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, CertificateFault> {
    let fault = |why| CertificateFault::File {
        path: path.to_owned(),
        why,
        what: "certificates",
    };
    let certificates = CertificateDer::pem_file_iter(path).map_err(fault)?;
    let chain: Vec<_> = certificates.collect::<Result<_, _>>().map_err(fault)?;
    if chain.is_empty() {
        Err(CertificateFault::Empty(path.to_owned()))
    } else {
        Ok(chain)
    }
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, CertificateFault> {
    PrivateKeyDer::from_pem_file(path).map_err(|why| CertificateFault::File {
        path: path.to_owned(),
        why,
        what: "a private key",
    })
}

/// A self-signed certificate for this machine and the address, if any.
fn self_signed(address: Option<IpAddr>) -> Result<ChainAndKey, CertificateFault> {
    let mut names = vec![
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        "::1".to_owned(),
    ];
    let address = address.map(|address| address.to_string());
    let other = address.filter(|address| !names.contains(address));
    names.extend(other);
    let certified = rcgen::generate_simple_self_signed(names)?;
    let key = PrivateKeyDer::Pkcs8(certified.signing_key.serialize_der().into());
    Ok((vec![certified.cert.der().clone()], key))
}
