//! Events of a connection.

use super::fault::{Fault, StreamFault};
use crate::http1::Done;

/// An event of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// The server's settings: it uses HTTP/2, and requests may be sent.
    Open,
    /// The head of a response, except interim ones (1xx).
    Head {
        stream: u32,
        status: u16,
        /// `content-length`, if there is one.
        content_length: Option<u64>,
    },
    /// The next bytes of a body, at least one.
    Body {
        stream: u32,
        bytes: &'a [u8],
    },
    Done {
        stream: u32,
        done: Done,
    },
    /// A stream has no correct response, and no more events.
    StreamFailed {
        stream: u32,
        fault: StreamFault,
    },
    /// The server takes no more streams on this connection. Requests on later streams than the last
    /// one were not processed, and may be sent again.
    GoAway {
        /// The number of the last stream that gets a response, if that is still to arrive.
        last_stream: u32,
        /// Why (RFC 9113, section 7).
        code: u32,
    },
    /// The connection is of no further use.
    Failed(Fault),
}
