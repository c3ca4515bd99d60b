//! Events of a connection.

use super::close::Close;
use super::fault::Fault;

/// One step of a connection.
///
/// In whatever pieces the bytes arrive, the events are the same, except for the pieces of
/// [`Event::Data`], and for how much of a text precedes [`Fault::InvalidUtf8`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// The opening handshake is done: messages may be sent. Only clients have this event.
    Open,
    /// A part of a message, unmasked, never empty.
    Data {
        kind: MessageKind,
        /// Its next bytes, where they were received.
        bytes: &'a [u8],
    },
    Message(Message),
    /// A ping with its payload; the pong is written already.
    Ping(&'a [u8]),
    /// A pong with its payload, requested or not.
    Pong(&'a [u8]),
    /// The peer closes, or responds to our close. The response is written already;
    /// no more events follow, and the server's side ends the connection.
    Close(Close<'a>),
    /// The connection is of no further use. Any close for the peer is written already.
    Failed(Fault),
}

/// The kind of a message's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageKind {
    /// UTF-8, checked as it arrives.
    Text,
    Binary,
}

/// A complete message that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    pub kind: MessageKind,
    /// Length of its payload, in bytes, of all fragments together.
    pub bytes: u64,
    /// The number of its frames: 1 for a message that is not fragmented.
    pub fragments: u64,
    pub(super) beginning: [u8; BEGINNING_BYTES],
}

/// How many bytes of a message are kept until it is complete: room for a number
/// and a time stamp.
pub const BEGINNING_BYTES: usize = 16;

impl Message {
    pub(super) fn new(kind: MessageKind) -> Message {
        Message {
            kind,
            bytes: 0,
            fragments: 0,
            beginning: [0; BEGINNING_BYTES],
        }
    }

    /// The first bytes of the payload: [`BEGINNING_BYTES`], or all of a shorter message.
    #[must_use]
    pub fn beginning(&self) -> &[u8] {
        &self.beginning[..self.beginning_bytes()]
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        let known = self.beginning_bytes();
        let missing = (BEGINNING_BYTES - known).min(bytes.len());
        self.beginning[known..known + missing].copy_from_slice(&bytes[..missing]);
        self.bytes += bytes.len() as u64;
    }

    pub(super) fn beginning_bytes(&self) -> usize {
        usize::try_from(self.bytes).map_or(BEGINNING_BYTES, |bytes| bytes.min(BEGINNING_BYTES))
    }
}
