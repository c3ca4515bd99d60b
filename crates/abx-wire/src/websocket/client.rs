//! The client's side, which opens a connection.

use std::sync::Arc;

use super::bytes::Bytes;
use super::close::Close;
use super::endpoint::Endpoint;
use super::event::{Event, MessageKind};
use super::fault::Fault;
use super::handshake::{Awaited, EncodedOpening, NONCE_BYTES};
use super::inbound::SizeLimits;
use super::mask::Masking;
use super::outbound::{FragmentPlace, NotOpen};

/// The options of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientOptions {
    /// The most that is accepted from the server.
    pub limits: SizeLimits,
    pub masking: Masking,
}

/// One connection, from the handshake to the close.
///
/// Calls append the bytes to send to `out`, which belongs to the caller and may already hold bytes.
/// Once a connection is open, nothing is allocated except room in `out`.
#[derive(Debug)]
pub struct Client {
    stage: ClientStage,
    endpoint: Endpoint,
    protocols: Arc<[String]>,
    protocol: Option<usize>,
}

#[derive(Debug)]
enum ClientStage {
    Opening(Awaited),
    Open,
    Refused,
}

impl Client {
    /// Writes the handshake to `out` and awaits its response.
    ///
    /// `nonce` makes the key: any bytes, which should differ between connections.
    #[must_use]
    pub fn open(
        options: ClientOptions,
        opening: &EncodedOpening,
        nonce: [u8; NONCE_BYTES],
        out: &mut Vec<u8>,
    ) -> Client {
        let accept = opening.write(nonce, out);
        let protocols = Arc::clone(&opening.protocols);
        Client {
            stage: ClientStage::Opening(Awaited {
                accept,
                protocols: Arc::clone(&protocols),
                interim: 0,
                stash: Vec::new(),
            }),
            endpoint: Endpoint::client(options.limits, options.masking),
            protocols,
            protocol: None,
        }
    }

    /// Takes bytes from the front of `input` and returns the next event.
    ///
    /// Call it until it returns `None`; then `input` is empty. It may return an
    /// event for an empty `input`, so do not stop there.
    pub fn receive<'s, 'i: 's>(
        &'s mut self,
        input: &mut &'i [u8],
        out: &mut Vec<u8>,
    ) -> Option<Event<'s>> {
        match &mut self.stage {
            ClientStage::Opening(awaited) => match awaited.receive(input) {
                Ok(None) => None,
                Ok(Some(agreed)) => {
                    self.protocol = agreed.protocol;
                    self.stage = ClientStage::Open;
                    Some(Event::Open)
                }
                Err(fault) => {
                    self.stage = ClientStage::Refused;
                    Some(Event::Failed(fault))
                }
            },
            ClientStage::Open => {
                let mut bytes = Bytes::Shared(input);
                let event = self.endpoint.receive(&mut bytes, out);
                *input = bytes.into_shared();
                event
            }
            ClientStage::Refused => {
                *input = &[];
                None
            }
        }
    }

    /// The server ended the connection: fails, unless both sides have closed before.
    ///
    /// Bytes that arrived before the end must have gone through [`Client::receive`].
    pub fn eof(&mut self) -> Option<Event<'static>> {
        match self.stage {
            ClientStage::Opening(_) => {
                self.stage = ClientStage::Refused;
                Some(Event::Failed(Fault::ClosedEarly))
            }
            ClientStage::Open => self.endpoint.eof(),
            ClientStage::Refused => None,
        }
    }

    /// The subprotocol that the server chose.
    #[must_use]
    pub fn protocol(&self) -> Option<&str> {
        self.protocol.map(|index| self.protocols[index].as_str())
    }

    /// Whether messages may be sent: the handshake is done and neither side has closed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.stage, ClientStage::Open) && self.endpoint.is_open()
    }

    /// Whether both sides have closed. By the standard, the server then ends the connection.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.endpoint.is_closed()
    }

    /// How many bytes of a payload are still to come that may be discarded unread.
    ///
    /// Zero at any other place, inside texts, which must be checked, and before
    /// [`super::BEGINNING_BYTES`] of the message have been received.
    #[must_use]
    pub fn payload_ahead(&self) -> u64 {
        self.endpoint.payload_ahead()
    }

    /// Records that this many bytes of the payload arrived and were discarded unread.
    ///
    /// They count as [`super::Message::bytes`] and cause no event.
    ///
    /// # Panics
    /// If it is more than [`Client::payload_ahead`].
    pub fn skip(&mut self, bytes: u64) {
        self.endpoint.skip(bytes);
    }

    /// Writes a complete message in one frame. A text must be UTF-8, which is not checked.
    ///
    /// # Errors
    /// [`NotOpen`]; nothing is written then.
    pub fn send(
        &mut self,
        kind: MessageKind,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), NotOpen> {
        self.send_fragment(kind, payload, FragmentPlace::Last, out)
    }

    /// Writes one fragment of a message; pings may be sent between fragments.
    ///
    /// `kind` counts at the first fragment of a message. A character of a text may
    /// continue in the next fragment.
    ///
    /// # Errors
    /// [`NotOpen`]; nothing is written then.
    pub fn send_fragment(
        &mut self,
        kind: MessageKind,
        payload: &[u8],
        place: FragmentPlace,
        out: &mut Vec<u8>,
    ) -> Result<(), NotOpen> {
        self.check_stage()?;
        self.endpoint.send_fragment(kind, payload, place, out)
    }

    /// Writes a ping; its pong comes as [`Event::Pong`] with the same payload.
    ///
    /// # Errors
    /// [`NotOpen`]; nothing is written then.
    ///
    /// # Panics
    /// If the payload is longer than [`super::CONTROL_BYTES_MAX`].
    pub fn ping(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), NotOpen> {
        self.check_stage()?;
        self.endpoint.ping(payload, out)
    }

    /// Writes a close; the server's response comes as [`Event::Close`]. A close
    /// without a code has no reason either.
    ///
    /// # Errors
    /// [`NotOpen`]; nothing is written then.
    ///
    /// # Panics
    /// If the reason is longer than [`super::CONTROL_BYTES_MAX`] less two.
    pub fn close(&mut self, close: Close<'_>, out: &mut Vec<u8>) -> Result<(), NotOpen> {
        self.check_stage()?;
        self.endpoint.close(close, out)
    }

    fn check_stage(&self) -> Result<(), NotOpen> {
        match self.stage {
            ClientStage::Open => Ok(()),
            ClientStage::Opening(_) | ClientStage::Refused => Err(NotOpen),
        }
    }
}
