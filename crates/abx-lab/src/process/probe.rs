//! Probes: requests to a subject outside of any load. A probe is a request, or the opening
//! handshake of a WebSocket and one message.

use std::borrow::Cow;

use abx_engine::{
    BodyIdentity, Patience, ProbeError, RequestPlan, Response, TlsPlan, WebSocketResponse, payload,
    probe, probe_websocket,
};
use abx_evidence::{ExpectedStatus, Message, Shape};
use abx_sys::ServerAddress;
use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_64;

use abx_model::hex;
use abx_study::subject::{Source, Subject};
use abx_study::{Load, RequestSpec};

/// The request of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The request, or the one that opens a WebSocket.
    pub request: RequestPlan,
    /// The correct status.
    pub status: ExpectedStatus,
    /// Whether another status is a wrong response, but no reason to stop; see
    /// [`RequestSpec::is_logged`].
    pub is_logged: bool,
    /// The shape of the load's connections.
    pub shape: Shape,
    /// The seed of the load's messages, and of random placeholders.
    pub seed: u64,
    /// How the connection is encrypted; `None` without encryption.
    pub tls: Option<TlsPlan>,
}

/// The reply to a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeReply {
    /// A response. The response of an echo has the message as its body; any other WebSocket's has
    /// no body.
    Response(Response),
    /// A message that differs from the sent one.
    OtherMessage {
        /// The length of the sent message.
        sent_bytes: u64,
        /// The length of the received message.
        got_bytes: u64,
    },
}

impl Probe {
    /// The probe for one request of a load.
    #[must_use]
    pub fn of_load(
        load: &Load,
        request: &RequestSpec,
        subject: &Subject,
        address: ServerAddress,
        seed: u64,
    ) -> Probe {
        Probe {
            request: request.plan(
                load.version_for(subject),
                &host(subject, address),
                path(subject),
            ),
            status: request.status.unwrap_or(load.status),
            is_logged: request.is_logged,
            shape: match load.shape {
                // A probe is no step of the scenario.
                Shape::Scenario => Shape::Request,
                shape => shape,
            },
            seed,
            tls: subject
                .tls_name()
                .map(|name| load.tls.plan(name, load.version_for(subject))),
        }
    }

    /// The probe that shows that a subject is ready: a plain request to its readiness path if it
    /// has one, and otherwise this probe, the load's first.
    #[must_use]
    pub fn readiness(self, subject: &Subject) -> Probe {
        let Source::Command(launch) = &subject.source else {
            return self;
        };
        let status = match (launch.ready.status, &launch.ready.path) {
            (Some(status), _) => status.into(),
            (None, Some(_)) if self.is_websocket() || self.is_logged => ExpectedStatus::default(),
            (None, _) => self.status,
        };
        let Some(path) = &launch.ready.path else {
            let is_logged = self.is_logged && launch.ready.status.is_none();
            return Probe {
                status,
                is_logged,
                ..self
            };
        };
        let request = RequestPlan {
            method: "GET".to_owned(),
            path: path.clone(),
            headers: Vec::new(),
            body: Vec::new(),
            placeholders: Vec::new(),
            ..self.request
        };
        Probe {
            request,
            status,
            is_logged: false,
            shape: Shape::Request,
            ..self
        }
    }

    /// Sends one request on a fresh connection. The values of placeholders depend on `time`, which
    /// is counted from 0.
    pub fn send(
        &self,
        time: u64,
        address: ServerAddress,
        patience: Patience,
    ) -> Result<ProbeReply, ProbeError> {
        let message = match self.shape {
            Shape::Request | Shape::Scenario => {
                let request = if self.request.placeholders.is_empty() {
                    Cow::Borrowed(&self.request)
                } else {
                    Cow::Owned(self.request.example(time, self.seed))
                };
                let response = probe(address, self.tls.as_ref(), &request, patience);
                return response.map(ProbeReply::Response);
            }
            Shape::Echo(message) => Some(message),
            Shape::Broadcast(_) | Shape::Connections { .. } => None,
        };
        let tls = self.tls.as_ref();
        let response = probe_websocket(address, tls, &self.request, message, self.seed, patience)?;
        Ok(reply(
            response,
            message.map(|message| (message, payload(message, self.seed))),
        ))
    }

    /// Whether it opens a WebSocket.
    #[must_use]
    pub fn is_websocket(&self) -> bool {
        self.shape.is_websocket()
    }
}

/// The host by which a subject is addressed.
pub fn host(subject: &Subject, address: ServerAddress) -> String {
    match &subject.source {
        Source::Address(target) => target.host.clone(),
        Source::Command(_) => address.to_string(),
    }
}

fn path(subject: &Subject) -> Option<&str> {
    match &subject.source {
        Source::Address(target) => Some(&target.path),
        Source::Command(_) => None,
    }
}

/// Compares the returned message with the message that was sent.
fn reply(received: WebSocketResponse, sent: Option<(Message, Vec<u8>)>) -> ProbeReply {
    let mut body: &[u8] = &[];
    if let (Some(echo), Some((message, payload))) = (received.echo, &sent) {
        if (echo.is_text, echo.body) != (message.is_text(), identity(payload)) {
            return ProbeReply::OtherMessage {
                sent_bytes: payload.len() as u64,
                got_bytes: echo.body.bytes,
            };
        }
        body = payload;
    }
    ProbeReply::Response(Response {
        status: received.status,
        body: identity(body),
        head_fields: received.head_fields,
        tls: received.tls,
        sha256: hex(&Sha256::digest(body)),
        body_start: Vec::new(),
    })
}

fn identity(body: &[u8]) -> BodyIdentity {
    BodyIdentity {
        bytes: body.len() as u64,
        xxh3: xxh3_64(body),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use abx_engine::{Echo, HeadFields};

    use super::*;

    #[test]
    fn only_the_message_itself_is_its_echo() {
        // Method: the message itself, the message with one byte changed, and the message as binary
        // instead of text.
        let message = Message::text(5);
        let received = |is_text, body: &[u8]| WebSocketResponse {
            status: 101,
            head_fields: HeadFields::default(),
            echo: Some(Echo {
                is_text,
                body: identity(body),
            }),
            elapsed: Duration::ZERO,
            tls: None,
        };
        let reply_to = |received| reply(received, Some((message, b"hello".to_vec())));
        let ProbeReply::Response(response) = reply_to(received(true, b"hello")) else {
            panic!("it is the echo");
        };
        assert_eq!((response.status, response.body), (101, identity(b"hello")));
        let other = ProbeReply::OtherMessage {
            sent_bytes: 5,
            got_bytes: 5,
        };
        assert_eq!(reply_to(received(true, b"hallo")), other);
        assert_eq!(reply_to(received(false, b"hello")), other);
    }

    #[test]
    fn a_handshake_alone_has_no_body() {
        // Method: a handshake without a message, and one that was refused.
        for status in [101, 404] {
            let received = WebSocketResponse {
                status,
                head_fields: HeadFields::default(),
                echo: None,
                elapsed: Duration::ZERO,
                tls: None,
            };
            let ProbeReply::Response(response) = reply(received, None) else {
                panic!("nothing was sent");
            };
            assert_eq!((response.status, response.body.bytes), (status, 0));
        }
    }
}
