//! One request outside of any load: is it ready, and what does it answer?

mod head_fields;
mod http2;
mod line;
mod websocket;

use std::io;
use std::time::Duration;

use abx_evidence::record::TlsSession;
use abx_sys::ServerAddress;
use abx_wire::{http1, http2 as streams, websocket as wire};
use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::Xxh3;

use crate::io::{TlsPlanError, remedy};
use crate::plan::{BodyIdentity, HttpVersion, RequestPlan, TlsPlan};
use crate::stopper::Stopper;

pub use head_fields::HeadFields;
pub use websocket::{Echo, WebSocketAnswer, probe_websocket};

use line::ProbeConnection;

/// Bytes of an answer that are kept for a look at its headers.
const START_BYTES: usize = 16 * 1024;

/// The most bytes of a body that a probe keeps.
pub const BODY_START_BYTES: usize = 4 * 1024;

/// A whole answer, read to its end with every byte of its body hashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// What the load compares answers with.
    pub body: BodyIdentity,
    /// What its head says.
    pub said: HeadFields,
    /// The SHA-256 of the body in hexadecimal, which people can compare with `sha256sum`.
    pub sha256: String,
    /// The first bytes of the body, at most [`BODY_START_BYTES`], for messages.
    pub body_start: Vec<u8>,
    /// What was agreed on in the TLS handshake; `None` without one.
    pub tls: Option<TlsSession>,
}

/// How long a probe waits: until its time is over, or somebody stops it.
#[derive(Clone, Copy)]
pub struct Patience<'a> {
    /// From before the connect to the end of the answer.
    pub timeout: Duration,
    /// Who may stop it before that.
    pub stopper: Option<&'a Stopper>,
    /// Who hears now and then that it still waits, and for how long it has.
    pub on_wait: Option<&'a dyn Fn(Duration)>,
}

impl From<Duration> for Patience<'_> {
    fn from(timeout: Duration) -> Self {
        Patience {
            timeout,
            stopper: None,
            on_wait: None,
        }
    }
}

/// Why there was no whole answer.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// Nobody listens.
    #[error("the connection was refused")]
    Refused,
    /// No connection within the time.
    #[error(
        "no connection within {} ms: check the address, whether a firewall drops packets, and \
         whether the server accepts connections", .0.as_millis()
    )]
    Unconnected(Duration),
    /// No answer within the time.
    #[error("no whole answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// Somebody stopped it.
    #[error("stopped")]
    Stopped,
    /// The connection broke.
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
    /// The connection stood, and the request's stream had no right answer.
    #[error("the request was not answered: {0}")]
    Stream(streams::StreamFault),
    /// The connection was closed without a word of HTTP/2.
    #[error(
        "the server closed the connection instead of beginning HTTP/2: it may not speak it on \
         this port; without --http2 (`protocol` in a study file) HTTP/1.1 is spoken"
    )]
    NoHttp2,
    /// The connection was closed before the answer was whole.
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

/// Asks once on a fresh connection, which the server is asked to close, and reads the answer to its end.
/// The connection is encrypted as `tls` says.
///
/// # Errors
/// One [`ProbeError`] for each way in which no whole answer comes.
pub fn probe<'a>(
    address: impl Into<ServerAddress>,
    tls: Option<&TlsPlan>,
    request: &RequestPlan,
    patience: impl Into<Patience<'a>>,
) -> Result<Answer, ProbeError> {
    let address = address.into();
    if request.version == HttpVersion::Http2 {
        return http2::probe_http2(address, tls, request, patience.into());
    }
    let bytes = request.encode(false)?;
    let mut line = ProbeConnection::connect(address, tls, patience.into())?;
    line.send(&bytes)?;

    let mut client = http1::Client::new();
    client.expect(request.answer_kind());
    let (mut sha256, mut xxh3) = (Sha256::new(), Xxh3::new());
    let mut buffer = Vec::new();
    // The first bytes, which mostly hold the whole head.
    let mut start: Vec<u8> = Vec::new();
    let mut body_start = Vec::new();
    loop {
        line.receive(&mut buffer)?;
        let has_ended = buffer.is_empty();
        let mut input = &buffer[..];
        if start.len() < START_BYTES {
            start.extend_from_slice(input);
        }
        loop {
            let event = if has_ended {
                client.eof()
            } else {
                client.receive(&mut input)
            };
            match event {
                None if has_ended => return Err(ProbeError::Fault(http1::Fault::ClosedEarly)),
                None => break,
                Some(http1::Event::Interim | http1::Event::Head { .. }) => {}
                Some(http1::Event::Body(part)) => {
                    sha256.update(part);
                    xxh3.update(part);
                    keep_start(&mut body_start, part);
                }
                Some(http1::Event::Failed(fault)) => return Err(ProbeError::Fault(fault)),
                Some(http1::Event::Done(done)) => {
                    return Ok(Answer {
                        status: done.status,
                        body: BodyIdentity {
                            bytes: done.body_bytes,
                            xxh3: xxh3.digest(),
                        },
                        said: HeadFields::of(&start),
                        sha256: hex(&sha256.finalize()),
                        body_start,
                        tls: line.tls_session(),
                    });
                }
            }
        }
    }
}

/// Adds a part of a body to its first bytes, as far as they are kept.
fn keep_start(start: &mut Vec<u8>, part: &[u8]) {
    let room = BODY_START_BYTES - start.len();
    start.extend_from_slice(&part[..part.len().min(room)]);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
