//! The interface between a pool and a protocol.

use abx_evidence::Outcome;
use abx_wire::http1::ResponseKind;
use abx_wire::http2::EncodedRequest;

use super::intake::{Intake, StreamState};

#[derive(Debug, Clone, Copy)]
pub struct Lost {
    /// Its place in the pool.
    pub index: usize,
    pub outcome: Outcome,
    /// Whether it was open before.
    pub(crate) was_open: bool,
}

/// The client side of a protocol, over many connections.
pub trait Protocol: Sized + 'static {
    type Client;

    /// Whether a connection is open only after the response to a handshake.
    const HAS_HANDSHAKE: bool = false;

    /// Whether each request has a stream of its own, on which responses come in any order.
    const HAS_STREAMS: bool = false;

    /// The end of a new connection, whose place in the pool is `index`.
    fn client(&mut self, index: usize) -> Self::Client;

    /// A connection is gone, or could not be made.
    fn lost(&mut self, _: Lost) {}

    /// Whether the handshake succeeded, and requests may be sent.
    fn is_open(_: &Self::Client) -> bool {
        true
    }

    /// The connection's own output, apart from requests: a new connection has its
    /// handshake there. `None` if it never has any.
    fn outbox(_: &mut Self::Client) -> Option<&mut Vec<u8>> {
        None
    }

    /// Announces the close of a connection, if the protocol has a message for that.
    fn begin_close(_: &mut Self::Client) {}

    /// A request was handed over: its response is awaited, after those already awaited.
    fn expect(client: &mut Self::Client, kind: ResponseKind);

    /// Begins a stream with this request of the load, which goes to the outbox, and
    /// returns its number; `None` if the peer allows no further one now.
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

    /// Whether at least one byte of the first awaited response came.
    fn has_begun(client: &Self::Client) -> bool;

    /// How many of the next bytes need not be looked at.
    fn ahead(client: &Self::Client) -> u64;

    /// This many bytes were discarded unread.
    fn skip(client: &mut Self::Client, bytes: u64);

    fn take(intake: &mut Intake<'_, Self>, input: &[u8]) -> StreamState;

    fn end(intake: &mut Intake<'_, Self>) -> StreamState;
}
