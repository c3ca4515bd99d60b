//! One TLS connection: records in, records out, without a socket.

use std::io;

use abx_evidence::TlsOptions;
use abx_evidence::record::TlsSession;
use abx_sys::Nanos;
use rustls::HandshakeKind;
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, EncryptError};

use super::config::TlsClient;
use super::key_bits::key_bits;
use super::remedy::TlsFault;
use crate::io::{Handshake, Io, Token};

/// The most that a record's head, tag and padding take (RFC 8446, section 5.2, and
/// RFC 5246, section 6.2.3).
const RECORD_OVERHEAD: usize = 256;
/// The plain bytes of one record, at most.
const RECORD_BYTES: usize = 16 * 1024;

/// One connection's keys, and its records on their way.
pub(super) struct TlsConnection {
    session: UnbufferedClientConnection,
    /// Received bytes of incomplete records.
    incoming: Vec<u8>,
    /// Records that the back end below has not taken yet.
    pub(super) outgoing: Vec<u8>,
    /// When its socket was connected.
    pub(super) connected: Nanos,
    /// The handshake's result; `None` before its end.
    pub(super) handshake: Option<Handshake>,
    /// Whether the handshake is over.
    pub(super) is_open: bool,
    /// Whether it is unusable: the session is not used any more.
    pub(super) has_failed: bool,
    /// Why, if received bytes broke a rule of TLS.
    pub(super) fault: Option<TlsFault>,
    /// Whether the peer has announced that it will send no more.
    pub(super) has_ended: bool,
    /// Whether the engine waits for room.
    pub(super) awaits_room: bool,
    /// This many of the next plain bytes are to be discarded.
    pub(super) skipping: u64,
    /// Plain bytes after those, which the engine has not taken yet.
    pub(super) behind: Vec<u8>,
}

impl TlsConnection {
    pub(super) fn new(client: &TlsClient) -> Result<TlsConnection, rustls::Error> {
        Ok(TlsConnection {
            session: UnbufferedClientConnection::new(client.config.clone(), client.name.clone())?,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            connected: Nanos(0),
            handshake: None,
            is_open: false,
            has_failed: false,
            fault: None,
            has_ended: false,
            awaits_room: false,
            skipping: 0,
            behind: Vec::new(),
        })
    }

    /// Takes received bytes, and appends their plain text to `plain`. The handshake advances
    /// with it; bytes to send for that wait for [`TlsConnection::flush`].
    ///
    /// # Errors
    /// The peer refused, broke a rule, or has the wrong identity. An alert about that
    /// waits to be sent, and nothing more may be taken.
    pub(super) fn take(&mut self, bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), TlsFault> {
        self.incoming.extend_from_slice(bytes);
        let mut done = 0;
        let end = loop {
            let status = self.session.process_tls_records(&mut self.incoming[done..]);
            done += status.discard;
            match status.state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(fault_behind)?;
                        done += record.discard;
                        plain.extend_from_slice(record.payload);
                    }
                }
                Ok(ConnectionState::EncodeTlsData(data)) => encode(data, &mut self.outgoing),
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::PeerClosed) => self.has_ended = true,
                Ok(ConnectionState::WriteTraffic(_)) => {
                    self.is_open = true;
                    break Ok(());
                }
                Ok(_) => break Ok(()),
                Err(error) => {
                    let had_chosen = self.session.protocol_version().is_some();
                    self.encode_alert(done);
                    self.has_failed = true;
                    break Err(TlsFault { error, had_chosen });
                }
            }
        };
        self.incoming.drain(..done);
        end
    }

    pub(super) fn shaken(&mut self, now: Nanos) {
        self.handshake = Some(Handshake {
            span: now.since(self.connected),
            is_resumed: self.session.handshake_kind() == Some(HandshakeKind::Resumed),
        });
    }

    /// Encodes the alert of an error. SUBTLE: the session remembers where in these bytes an
    /// incomplete message continues, so it has to see again the bytes that are not done.
    fn encode_alert(&mut self, done: usize) {
        let status = self.session.process_tls_records(&mut self.incoming[done..]);
        if let Ok(ConnectionState::EncodeTlsData(data)) = status.state {
            encode(data, &mut self.outgoing);
        }
    }

    /// Sends as many plain bytes as there is room for. Returns how many.
    pub(super) fn send<I: Io>(
        &mut self,
        under: &mut I,
        token: Token,
        bytes: &[u8],
    ) -> io::Result<usize> {
        let mut taken = 0;
        for part in bytes.chunks(RECORD_BYTES) {
            if !self.outgoing.is_empty() {
                self.awaits_room = true;
                break;
            }
            self.encrypt(part)?;
            self.flush(under, token)?;
            taken += part.len();
        }
        Ok(taken)
    }

    pub(super) fn encrypt(&mut self, plain: &[u8]) -> io::Result<()> {
        if self.has_failed {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let status = self.session.process_tls_records(&mut self.incoming);
        let Ok(ConnectionState::WriteTraffic(mut traffic)) = status.state else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let from = self.outgoing.len();
        let mut room = plain.len() + RECORD_OVERHEAD;
        loop {
            self.outgoing.resize(from + room, 0);
            match traffic.encrypt(plain, &mut self.outgoing[from..]) {
                Ok(count) => {
                    self.outgoing.truncate(from + count);
                    return Ok(());
                }
                Err(EncryptError::InsufficientSize(needed)) => room = needed.required_size,
                // The key has encrypted as many records as it may.
                Err(EncryptError::EncryptExhausted) => {
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
            }
        }
    }

    /// Hands over records as far as they are taken. Returns whether all of them are.
    pub(super) fn flush<I: Io>(&mut self, under: &mut I, token: Token) -> io::Result<bool> {
        if !self.outgoing.is_empty() {
            let taken = under.send(token, &self.outgoing)?;
            self.outgoing.drain(..taken);
        }
        Ok(self.outgoing.is_empty())
    }

    /// Sends a close alert to the peer, if there is room for it now.
    pub(super) fn send_close_notify<I: Io>(&mut self, under: &mut I, token: Token) {
        if !self.is_open || self.has_failed || !self.outgoing.is_empty() {
            return;
        }
        let status = self.session.process_tls_records(&mut self.incoming);
        let Ok(ConnectionState::WriteTraffic(mut traffic)) = status.state else {
            return;
        };
        let mut alert = [0; RECORD_OVERHEAD];
        if let Ok(count) = traffic.queue_close_notify(&mut alert) {
            // Whether it arrives does not matter any more.
            let _ = under.send(token, &alert[..count]);
        }
    }

    /// The parameters agreed on; `None` before that.
    pub(super) fn agreed(&self) -> Option<TlsSession> {
        let version = self.session.protocol_version()?;
        let cipher = self.session.negotiated_cipher_suite()?;
        let protocol = self.session.alpn_protocol();
        Some(TlsSession {
            version: version.as_str()?.replace('_', "."),
            cipher: cipher.suite().as_str()?.to_owned(),
            protocol: protocol.map(|name| String::from_utf8_lossy(name).into_owned()),
        })
    }

    pub(super) fn terms(&self) -> Option<TlsOptions> {
        let TlsSession {
            version, cipher, ..
        } = self.agreed()?;
        let group = self.session.negotiated_key_exchange_group();
        let certificate = self.session.peer_certificates().and_then(<[_]>::first);
        Some(TlsOptions {
            version,
            cipher,
            group: group.and_then(|group| Some(group.name().as_str()?.to_owned())),
            server_key_bits: certificate.and_then(|der| key_bits(der)),
        })
    }
}

/// An error after the handshake.
fn fault_behind(error: rustls::Error) -> TlsFault {
    TlsFault {
        error,
        had_chosen: true,
    }
}

/// Appends a handshake record to those that wait to be sent.
fn encode(mut data: EncodeTlsData<'_, ClientConnectionData>, outgoing: &mut Vec<u8>) {
    let from = outgoing.len();
    loop {
        match data.encode(&mut outgoing[from..]) {
            Ok(count) => return outgoing.truncate(from + count),
            Err(EncodeError::InsufficientSize(needed)) => {
                outgoing.resize(from + needed.required_size, 0);
            }
            Err(EncodeError::AlreadyEncoded) => return,
        }
    }
}
