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
    /// No connection within the time.
    #[error(
        "no connection within {} ms: check the address, whether a firewall drops packets, and \
         whether the server accepts connections", .0.as_millis()
    )]
    Unconnected(Duration),
    /// No response within the time.
    #[error("no whole answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    #[error("stopped")]
    Stopped,
    #[error("the connection broke: {0}")]
    Broken(io::Error),
    /// It stands, and no TLS came of it.
    #[error("the TLS handshake failed: {0}{help}", help = remedy(.0))]
    Handshake(io::Error),
    /// Certificates, keys or names of TLS that do not serve.
    #[error("TLS cannot be spoken: {0}")]
    Tls(#[from] TlsPlanError),
    /// What came is no HTTP answer, or ended too early.
    #[error("the answer is not HTTP as it should be: {0}")]
    Fault(http1::Fault),
    /// What came breaks the rules of HTTP/2, or is none.
    #[error("the server does not speak HTTP/2 as it should: {0}")]
    Http2(streams::Fault),
    /// The connection stood, and the request's stream had no correct response.
    #[error("the request was not answered: {0}")]
    Stream(streams::StreamFault),
    /// The connection was closed without a word of HTTP/2.
    #[error(
        "the server closed the connection instead of beginning HTTP/2: it may not speak it on \
         this port; without --http2 (`protocol` in a study file) HTTP/1.1 is spoken"
    )]
    NoHttp2,
    /// The connection was closed before the response was whole.
    #[error("the connection was closed before the answer was whole")]
    EndedStream,
    /// The server allows not one request.
    #[error("the server allows no stream (SETTINGS_MAX_CONCURRENT_STREAMS is 0)")]
    NoStream,
    /// The request cannot be written.
    #[error("the request cannot be sent: {0}")]
    Request(#[from] http1::RequestError),
    /// The WebSocket was closed too early, or what came on it breaks its rules.
    #[error("the answer is not WebSocket as it should be: {0}")]
    WebSocket(wire::Fault),
    /// The WebSocket handshake cannot be written.
    #[error("the WebSocket handshake cannot be sent: {0}")]
    Opening(#[from] wire::OpeningError),
}
