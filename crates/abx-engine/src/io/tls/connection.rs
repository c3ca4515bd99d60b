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

/// One connection's keys and pending records.
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
    /// Whether it has failed, so that the session is not used any more.
    pub(super) has_failed: bool,
    /// Why it has failed, if received bytes broke a rule of TLS.
    pub(super) fault: Option<TlsFault>,
    /// Whether the peer has announced that it will send no more.
    pub(super) has_ended: bool,
    /// Whether the engine waits for room.
    pub(super) awaits_room: bool,
    /// How many of the next plain bytes are to be discarded.
    pub(super) to_skip: u64,
    /// Decrypted bytes that the engine has not taken yet.
    pub(super) undelivered: Vec<u8>,
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
            to_skip: 0,
            undelivered: Vec::new(),
        })
    }

    /// Takes received bytes, appends their plain text to `plain`, and advances the handshake.
    /// Bytes to be sent wait for [`TlsConnection::flush`].
    ///
    /// # Errors
    /// The peer refused, broke a rule, or has the wrong identity. An alert about the fault
    /// waits to be sent, and no more bytes may be taken.
    pub(super) fn take(&mut self, bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), TlsFault> {
        self.incoming.extend_from_slice(bytes);
        let mut done = 0;
        let end = loop {
            let status = self.session.process_tls_records(&mut self.incoming[done..]);
            done += status.discard;
            match status.state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(fault_after_handshake)?;
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

    pub(super) fn end_handshake(&mut self, now: Nanos) {
        self.handshake = Some(Handshake {
            span: now.since(self.connected),
            is_resumed: self.session.handshake_kind() == Some(HandshakeKind::Resumed),
        });
    }

    /// Encodes the alert of an error. SUBTLE: the session remembers where in these bytes an
    /// incomplete message continues, so it has to see the unprocessed bytes again.
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

    /// Sends pending records as far as there is room. Returns whether none are left.
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
            // It does not matter whether the alert arrives.
            let _ = under.send(token, &alert[..count]);
        }
    }

    /// The parameters agreed on; `None` before the handshake has chosen them.
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

fn fault_after_handshake(error: rustls::Error) -> TlsFault {
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
