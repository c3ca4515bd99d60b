//! Why a probe has no response.

use std::io;
use std::time::Duration;

use abx_wire::{http1, http2 as streams, websocket as wire};

use crate::io::{TlsPlanError, remedy};

/// Why there was no whole response.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error("the connection was refused")]
    Refused,
    #[error(
        "no connection within {} ms: check the address, whether a firewall drops packets, and \
         whether the server accepts connections", .0.as_millis()
    )]
    Unconnected(Duration),
    #[error("no complete response within {} ms", .0.as_millis())]
    Timeout(Duration),
    #[error("stopped")]
    Stopped,
    #[error(
        "this user may not connect: a Unix socket needs write permission on its file and search \
         permission on its folders; for another address, check the firewall of this machine"
    )]
    Denied,
    #[error("the connection broke: {0}")]
    Broken(io::Error),
    #[error("the TLS handshake failed: {0}{help}", help = remedy(.0))]
    Handshake(io::Error),
    #[error("cannot use TLS: {0}")]
    Tls(#[from] TlsPlanError),
    #[error("the response is not correct HTTP: {0}")]
    Fault(http1::Fault),
    #[error("the server violates HTTP/2: {0}")]
    Http2(streams::Fault),
    #[error("the request had no response: {0}")]
    Stream(streams::StreamFault),
    #[error(
        "the server closed the connection instead of beginning HTTP/2: it may not support it on \
         this port; without --http2 (`protocol` in a study file), abx uses HTTP/1.1"
    )]
    NoHttp2,
    #[error("the connection was closed before the response was complete")]
    EndedStream,
    #[error("the server allows no stream (SETTINGS_MAX_CONCURRENT_STREAMS is 0)")]
    NoStream,
    #[error("the request cannot be sent: {0}")]
    Request(#[from] http1::RequestError),
    #[error("the response is not correct WebSocket: {0}")]
    WebSocket(wire::Fault),
    #[error("the WebSocket handshake cannot be sent: {0}")]
    Opening(#[from] wire::OpeningError),
}
