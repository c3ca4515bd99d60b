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
    /// Whether the connection had opened.
    pub(crate) was_open: bool,
}

/// The client side of a protocol, over many connections.
pub trait Protocol: Sized + 'static {
    type Client;

    /// Whether a connection is open only after the response to a handshake.
    const HAS_HANDSHAKE: bool = false;

    /// Whether each request has a stream, so that responses come in any order.
    const HAS_STREAMS: bool = false;

    /// The client of a new connection, whose place in the pool is `index`.
    fn client(&mut self, index: usize) -> Self::Client;

    /// Notes that a connection is gone, or could not be made.
    fn lost(&mut self, _: Lost) {}

    /// Whether the handshake succeeded, and requests may be sent.
    fn is_open(_: &Self::Client) -> bool {
        true
    }

    /// The connection's output apart from requests, such as the handshake of a new connection.
    /// `None` if there never is any.
    fn outbox(_: &mut Self::Client) -> Option<&mut Vec<u8>> {
        None
    }

    /// Announces the close of a connection, if the protocol has a message for that.
    fn begin_close(_: &mut Self::Client) {}

    /// Notes that a request was handed over. Its response follows those already awaited.
    fn expect(client: &mut Self::Client, kind: ResponseKind);

    /// Writes this request of the load to the outbox, on a new stream, and returns the stream's
    /// number; `None` if the peer allows no further stream now.
    fn begin_stream(&mut self, _: &mut Self::Client, _: usize) -> Option<u32> {
        None
    }

    fn may_begin_stream(_: &Self::Client) -> bool {
        false
    }

    /// This request of the load as streams carry it, to be filled in.
    fn request_mut(&mut self, _: usize) -> Option<&mut EncodedRequest> {
        None
    }

    fn has_stream_begun(_: &Self::Client, _: u32) -> bool {
        false
    }

    /// Whether at least one byte of the first awaited response came.
    fn has_begun(client: &Self::Client) -> bool;

    /// How many of the next bytes need not be parsed.
    fn ahead(client: &Self::Client) -> u64;

    /// Notes that this many bytes were discarded unread.
    fn skip(client: &mut Self::Client, bytes: u64);

    fn take(intake: &mut Intake<'_, Self>, input: &[u8]) -> StreamState;

    fn end(intake: &mut Intake<'_, Self>) -> StreamState;
}
