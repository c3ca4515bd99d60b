//! What a pool asks of a protocol.

use abx_evidence::Outcome;
use abx_wire::http1::ResponseKind;
use abx_wire::http2::EncodedRequest;

use super::intake::{Intake, StreamState};

#[derive(Debug, Clone, Copy)]
pub struct Lost {
    /// Its place in the pool.
    pub index: usize,
    pub outcome: Outcome,
    /// Whether it stood before.
    pub(crate) has_stood: bool,
}

/// A protocol, as a client of it speaks over many connections.
pub trait Protocol: Sized + 'static {
    type Client;

    /// Whether a connection stands only when a handshake was answered.
    const HAS_HANDSHAKE: bool = false;

    /// Whether each request has a stream of its own, on which it is answered in any order.
    const HAS_STREAMS: bool = false;

    /// The end of a new connection, whose place in the pool is `index`.
    fn client(&mut self, index: usize) -> Self::Client;

    /// A connection is gone, or could not be made.
    fn lost(&mut self, _: Lost) {}

    /// Whether the handshake was answered rightly, and requests may be sent.
    fn is_open(_: &Self::Client) -> bool {
        true
    }

    /// What the connection has to say of its own, beside requests: the end of a new
    /// one has its handshake there. `None` when it never has anything.
    fn outbox(_: &mut Self::Client) -> Option<&mut Vec<u8>> {
        None
    }

    /// Has a connection that is about to be left say so, where the protocol has a
    /// word for it.
    fn begin_close(_: &mut Self::Client) {}

    /// A request was handed over: its response is awaited, behind those that already are.
    fn expect(client: &mut Self::Client, kind: ResponseKind);

    /// Begins a stream with this request of the load, which goes to the outbox, and
    /// answers its number; `None` when the peer allows no further one now.
    fn begin_stream(&mut self, _: &mut Self::Client, _: usize) -> Option<u32> {
        None
    }

    fn may_begin_stream(_: &Self::Client) -> bool {
        false
    }

    /// This request of the load as streams carry it, in order to put another one in its place.
    fn request_mut(&mut self, _: usize) -> Option<&mut EncodedRequest> {
        None
    }

    fn has_stream_begun(_: &Self::Client, _: u32) -> bool {
        false
    }

    /// Whether at least one byte of the first awaited answer came.
    fn has_begun(client: &Self::Client) -> bool;

    /// How many of the next bytes need not be looked at.
    fn ahead(client: &Self::Client) -> u64;

    /// So many of these bytes were thrown away unread.
    fn skip(client: &mut Self::Client, bytes: u64);

    fn take(intake: &mut Intake<'_, Self>, input: &[u8]) -> StreamState;

    fn end(intake: &mut Intake<'_, Self>) -> StreamState;
}
