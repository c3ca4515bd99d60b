//! TLS between a connection's socket and its protocol, by rustls: records on one side, plain
//! bytes on the other. Start at [`TlsAcceptor`], of which each connection has a [`TlsStream`].

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
    /// From PEM files, which may be one and the same.
    Files {
        /// The certificate, and those that lead from it to an authority.
        certificate: PathBuf,
        key: PathBuf,
    },
    /// Made by each process at its start, for `localhost`, the loopback addresses and the one
    /// that is listened on, and signed by itself.
    SelfSigned,
}

/// The names of protocols that clients may choose by ALPN (RFC 7301).
const HTTP1: &[u8] = b"http/1.1";
const HTTP2: &[u8] = b"h2";

/// What the TLS of all connections has in common.
#[derive(Debug, Clone)]
pub(crate) struct TlsAcceptor(Arc<rustls::ServerConfig>);

#[derive(Debug)]
pub(crate) struct TlsStream {
    session: ServerConnection,
    /// Whether the last receive took all that the socket had.
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
    /// Reads or makes what clients are shown, by a server at this address.
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
    /// Takes plain bytes, and returns how many; zero is the client's end. Continues the
    /// handshake on the way.
    fn receive(&mut self, socket: &Socket, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.session.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Many clients end without TLS' own goodbye; HTTP defines where a request ends.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
            let mut records = Records::of(socket);
            self.session.read_tls(&mut records)?;
            self.is_drained = records.is_drained;
            let taken = self.session.process_new_packets();
            let flushed = self.flush(socket);
            if let Err(error) = taken {
                // The client was notified, as far as there was room.
                return Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
            match flushed {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                // What is owed is sent before anything else.
                _ => {}
            }
        }
    }

    /// Encrypts plain bytes and sends them, and returns how many; of some the records may still
    /// be [owed](TlsStream::has_pending_records).
    pub(crate) fn send(&mut self, socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
        self.flush(socket)?;
        let taken = self.session.writer().write(bytes)?;
        match self.flush(socket) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(taken),
        }
    }

    /// Whether records wait for room in the socket.
    pub(crate) fn has_pending_records(&self) -> bool {
        self.session.wants_write()
    }

    /// Whether HTTP/2 was agreed on; `None` where nothing was.
    pub(crate) fn agreed_on_http2(&self) -> Option<bool> {
        let agreed = self.session.alpn_protocol()?;
        Some(agreed == HTTP2)
    }

    /// Sends records that wait.
    pub(crate) fn flush(&mut self, socket: &Socket) -> io::Result<()> {
        while self.session.wants_write() {
            self.session.write_tls(&mut Records::of(socket))?;
        }
        Ok(())
    }

    /// Notifies the client that nothing more comes, once; returns whether that is owed now.
    pub(crate) fn send_close_notify(&mut self) -> bool {
        if self.has_sent_close_notify {
            return false;
        }
        self.has_sent_close_notify = true;
        self.session.send_close_notify();
        self.session.wants_write()
    }
}

/// Receives bytes of the protocol, through TLS if it is used: how many, and whether the
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
            // A part of the buffer is left only when nothing decrypted is.
            Ok((received, received == buffer.len() || !tls.is_drained))
        }
    }
}

/// Sends bytes of the protocol in the same way, and returns how many; of some the records may
/// still be [owed](TlsStream::has_pending_records).
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

/// A socket that records come from and go to.
struct Records<'a> {
    socket: &'a Socket,
    /// Whether a receive took less than there was room for.
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
        let mut nothing_else = SendAncillaryBuffer::default();
        let flags = SendFlags::NOSIGNAL;
        Ok(sendmsg(self.socket, records, &mut nothing_else, flags)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

type Shown = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, CertificateFault> {
    let fault = |why| CertificateFault::File {
        path: path.to_owned(),
        why,
        what: "certificates",
    };
    let read_iter = CertificateDer::pem_file_iter(path).map_err(fault)?;
    let chain: Vec<_> = read_iter.collect::<Result<_, _>>().map_err(fault)?;
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

/// A certificate for this machine and the address, if any, that its own key has signed.
fn self_signed(address: Option<IpAddr>) -> Result<Shown, CertificateFault> {
    let mut names = vec![
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        "::1".to_owned(),
    ];
    let address = address.map(|address| address.to_string());
    let further = address.filter(|address| !names.contains(address));
    names.extend(further);
    let made = rcgen::generate_simple_self_signed(names)?;
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    Ok((vec![made.cert.der().clone()], key))
}
