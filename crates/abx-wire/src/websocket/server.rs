//! The server's end of one connection.

use super::bytes::Bytes;
use super::close::Close;
use super::endpoint::Endpoint;
use super::event::{Event, MessageKind};
use super::handshake::{Offer, accept_of};
use super::inbound::SizeLimits;
use super::outbound::{FragmentPlace, NotOpen};

/// One connection, from the accepted handshake to the close.
///
/// Calls append the bytes to send to `out`, and allocate nothing but room in it.
#[derive(Debug)]
pub struct Server {
    endpoint: Endpoint,
}

impl Server {
    /// Accepts a client's offer, with its first subprotocol, and writes the response.
    ///
    /// The bytes behind the request's head are for [`Server::receive`].
    #[must_use]
    pub fn accept(offer: &Offer<'_>, limits: SizeLimits, out: &mut Vec<u8>) -> Server {
        out.extend_from_slice(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
              Connection: Upgrade\r\nSec-WebSocket-Accept: ",
        );
        out.extend_from_slice(&accept_of(offer.key.as_bytes()));
        if let Some(protocol) = offer.protocol {
            out.extend_from_slice(b"\r\nSec-WebSocket-Protocol: ");
            out.extend_from_slice(protocol.as_bytes());
        }
        out.extend_from_slice(b"\r\n\r\n");
        Server {
            endpoint: Endpoint::server(limits),
        }
    }

    /// Takes bytes from the front of `input`, unmasks them there, and returns the next event.
    ///
    /// Call it until it returns `None`; then `input` is empty. It may return an
    /// event for an empty `input`, so do not stop there. What is left in `input`
    /// may wait, untouched, until the response is sent.
    pub fn receive<'s, 'i: 's>(
        &'s mut self,
        input: &mut &'i mut [u8],
        out: &mut Vec<u8>,
    ) -> Option<Event<'s>> {
        let mut bytes = Bytes::Mutable(std::mem::take(input));
        let event = self.endpoint.receive(&mut bytes, out);
        *input = bytes.into_mutable();
        event
    }

    /// The client ended the connection, which is a fault unless both sides have closed before.
    pub fn eof(&mut self) -> Option<Event<'static>> {
        self.endpoint.eof()
    }

    /// Whether messages may be sent: neither side has closed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.endpoint.is_open()
    }

    /// Whether both sides have closed; end the connection when everything is sent.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.endpoint.is_closed()
    }

    /// As [`super::Client::send`].
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

    /// As [`super::Client::send_fragment`].
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
        self.endpoint.send_fragment(kind, payload, place, out)
    }

    /// As [`super::Client::ping`].
    ///
    /// # Errors
    /// [`NotOpen`]; nothing is written then.
    ///
    /// # Panics
    /// If the payload is longer than [`super::CONTROL_BYTES_MAX`].
    pub fn ping(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), NotOpen> {
        self.endpoint.ping(payload, out)
    }

    /// Writes a close; the client's response comes as [`Event::Close`]. A close
    /// without a code has no reason either.
    ///
    /// # Errors
    /// [`NotOpen`]; nothing is written then.
    ///
    /// # Panics
    /// If the reason is longer than [`super::CONTROL_BYTES_MAX`] less two.
    pub fn close(&mut self, close: Close<'_>, out: &mut Vec<u8>) -> Result<(), NotOpen> {
        self.endpoint.close(close, out)
    }
}
