//! One WebSocket outside of any load: does it open, and which message comes back?

use std::time::Duration;

use abx_evidence::Message;
use abx_evidence::record::TlsSession;
use abx_sys::ServerAddress;
use abx_wire::websocket::{
    Client, ClientOptions, Close, CloseCode, Event, Fault, Masking, MessageKind, NONCE_BYTES,
    SizeLimits,
};
use xxhash_rust::xxh3::Xxh3;

use super::error::ProbeError;
use super::head_fields::{HeadFields, START_BYTES};
use super::line::{Patience, ProbeConnection};
use crate::plan::{BodyIdentity, RequestPlan, TlsPlan};
use crate::protocol::message::{frame_kind, payload};
use crate::random::Random;

/// The response of a WebSocket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSocketResponse {
    /// The status of the handshake's response: 101 if it succeeded, and any other if it was
    /// refused.
    pub status: u16,
    /// Fields of the head of the handshake's response.
    pub head_fields: HeadFields,
    /// The first message that came after the probe's own; `None` if none was sent.
    pub echo: Option<Echo>,
    /// From before the connect to the last awaited byte.
    pub elapsed: Duration,
    /// The parameters agreed on in the TLS handshake; `None` without one.
    pub tls: Option<TlsSession>,
}

/// A message that came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo {
    pub is_text: bool,
    /// The identity with which loads compare echoes. A correct echo has that of [`payload`].
    pub body: BodyIdentity,
}

/// Opens a WebSocket with the path, host and headers of `request`, sends `message` with the payload
/// that `seed` determines, awaits the echo, and closes.
///
/// A handshake with another response status is a response, without an echo.
///
/// # Errors
/// One [`ProbeError`] for each way in which no whole response comes.
pub fn probe_websocket<'a>(
    address: impl Into<ServerAddress>,
    tls: Option<&TlsPlan>,
    request: &RequestPlan,
    message: Option<Message>,
    seed: u64,
    patience: impl Into<Patience<'a>>,
) -> Result<WebSocketResponse, ProbeError> {
    let opening = request.opening().encode()?;
    let longest = message.map_or(0, |message| u64::from(message.bytes));
    let usual = SizeLimits::default();
    let options = ClientOptions {
        limits: SizeLimits {
            frame_bytes: usual.frame_bytes.max(longest),
            message_bytes: usual.message_bytes.max(longest),
        },
        masking: Masking::Seeded(seed),
    };
    let mut random = Random::new(seed);
    let nonce = [(); NONCE_BYTES].map(|()| u8::try_from(random.below(256)).expect("below 256"));
    let mut out = Vec::new();
    let client = Client::open(options, &opening, nonce, &mut out);
    let connection = ProbeConnection::connect(address.into(), tls, patience.into())?;
    WebSocketProbe {
        connection,
        client,
        out,
        start: Vec::new(),
        hasher: Xxh3::new(),
    }
    .run(message.map(|message| (message, payload(message, seed))))
}

struct WebSocketProbe<'a> {
    connection: ProbeConnection<'a>,
    client: Client,
    out: Vec<u8>,
    /// The first bytes, which usually hold the whole head.
    start: Vec<u8>,
    hasher: Xxh3,
}

impl WebSocketProbe<'_> {
    fn run(mut self, message: Option<(Message, Vec<u8>)>) -> Result<WebSocketResponse, ProbeError> {
        let mut buffer = Vec::new();
        loop {
            self.connection.send(&std::mem::take(&mut self.out))?;
            self.connection.receive(&mut buffer)?;
            if self.start.len() < START_BYTES {
                self.start.extend_from_slice(&buffer);
            }
            if let Some((status, echo)) = self.take(&buffer, message.as_ref())? {
                return self.response(status, echo);
            }
            if buffer.is_empty() {
                return Err(ProbeError::WebSocket(Fault::ClosedEarly));
            }
        }
    }

    /// Takes received bytes. Returns the status and the echo once they are complete.
    fn take(
        &mut self,
        mut input: &[u8],
        message: Option<&(Message, Vec<u8>)>,
    ) -> Result<Option<(u16, Option<Echo>)>, ProbeError> {
        while let Some(event) = self.client.receive(&mut input, &mut self.out) {
            match event {
                Event::Open => match message {
                    None => return Ok(Some((SWITCHED, None))),
                    Some((message, payload)) => {
                        let sent = self
                            .client
                            .send(frame_kind(*message), payload, &mut self.out);
                        sent.expect("it has just opened");
                    }
                },
                Event::Data { bytes, .. } => self.hasher.update(bytes),
                Event::Message(received) => {
                    let echo = Echo {
                        is_text: received.kind == MessageKind::Text,
                        body: BodyIdentity {
                            bytes: received.bytes,
                            xxh3: self.hasher.digest(),
                        },
                    };
                    return Ok(Some((SWITCHED, Some(echo))));
                }
                Event::Ping(_) | Event::Pong(_) => {}
                Event::Failed(Fault::Refused(status)) => return Ok(Some((status, None))),
                Event::Failed(fault) => return Err(ProbeError::WebSocket(fault)),
                Event::Close(_) => return Err(ProbeError::WebSocket(Fault::ClosedEarly)),
            }
        }
        Ok(None)
    }

    /// Announces the close, without waiting for it, and returns the response.
    fn response(
        mut self,
        status: u16,
        echo: Option<Echo>,
    ) -> Result<WebSocketResponse, ProbeError> {
        let elapsed = self.connection.elapsed();
        let normal = Close {
            code: Some(CloseCode::NORMAL),
            reason: "",
        };
        if self.client.close(normal, &mut self.out).is_ok() {
            // The server has responded; it does not matter whether it receives the close.
            let _ = self.connection.send(&self.out);
        }
        Ok(WebSocketResponse {
            status,
            head_fields: HeadFields::of(&self.start),
            echo,
            elapsed,
            tls: self.connection.tls_session(),
        })
    }
}

const SWITCHED: u16 = 101;
