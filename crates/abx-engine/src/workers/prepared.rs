//! A load as workers receive it: its bytes are encoded once for all workers.

use abx_evidence::Shape;
use abx_wire::http2;
use abx_wire::websocket::{EncodedOpening, Opening};

use crate::connection::template::{RequestTemplate, ValuesToFill};
use crate::io::TlsClient;
use crate::plan::{LoadPlan, RequestPlan};
use crate::protocol::message::{NUMBER_BYTES, frame, identity};
use crate::schedule::{Arrivals, Replay};
use crate::workers::error::EngineError;

/// A plan that can be run, and its bytes.
#[derive(Clone)]
pub struct Prepared {
    pub plan: LoadPlan,
    /// The bytes of each request of the plan, or of its message.
    pub encoded: Vec<Vec<u8>>,
    /// The same requests encoded for streams, if the protocol has them; `encoded` is empty then.
    pub(crate) streamed: Vec<http2::EncodedRequest>,
    /// The opening of a connection, if that takes more than a socket.
    pub opening: Option<EncodedOpening>,
    /// Encrypts connections, if the load uses TLS.
    pub tls: Option<TlsClient>,
}

impl Prepared {
    /// Encodes a load.
    ///
    /// # Errors
    /// [`EngineError::Zero`], [`EngineError::Request`], [`EngineError::Opening`],
    /// [`EngineError::Placeholders`], [`EngineError::Tls`], [`EngineError::Shape`] and
    /// [`EngineError::Replay`], each for a plan that cannot be run.
    pub fn of(plan: &LoadPlan) -> Result<Prepared, EngineError> {
        // A scenario has its own list of steps.
        let requests = match &plan.scenario {
            Some(scenario) => scenario.script.steps.len(),
            None => plan.requests.len(),
        };
        for (count, what) in [
            (plan.connections as usize, "connections"),
            (requests, "requests"),
            (plan.pipeline as usize, "requests in flight"),
        ] {
            if count == 0 {
                return Err(EngineError::Zero { what });
            }
        }
        if plan.has_placeholders() && plan.shape != Shape::Request {
            return Err(EngineError::Placeholders);
        }
        if let Arrivals::Replay(replay) = &plan.pacing.arrivals {
            check_replay(plan, replay)?;
        }
        match plan.shape {
            Shape::Scenario if plan.scenario.is_none() => Err(EngineError::Shape {
                load: "sessions",
                needs: "their steps",
            }),
            Shape::Scenario => Ok(Prepared {
                encoded: Vec::new(),
                streamed: Vec::new(),
                tls: tls_of(plan)?,
                plan: plan.clone(),
                opening: None,
            }),
            Shape::Request => of_requests(plan),
            Shape::Echo(_) | Shape::Broadcast(_) | Shape::Connections { .. } => of_messages(plan),
        }
    }
}

/// Checks that a load has the requests that are replayed, and sends them when they are due.
fn check_replay(plan: &LoadPlan, replay: &Replay) -> Result<(), EngineError> {
    let mut requests = replay.requests().iter();
    let pacing = &plan.pacing;
    if plan.shape != Shape::Request
        || pacing.think_ns > 0
        || pacing.session_calls.is_some()
        || pacing.connections_over_time.is_some()
    {
        return Err(EngineError::Replay("requests alone, without think time"));
    }
    if requests.all(|request| (request.request as usize) < plan.requests.len()) {
        Ok(())
    } else {
        Err(EngineError::Replay("all the requests that it names"))
    }
}

fn of_requests(plan: &LoadPlan) -> Result<Prepared, EngineError> {
    let is_encrypted = plan.tls.is_some();
    let requests = plan.requests.iter().map(|weighted| &weighted.request);
    let has_placeholders = |request: &&RequestPlan| !request.placeholders.is_empty();
    for request in requests.clone().filter(has_placeholders) {
        let values = &mut ValuesToFill::new(0);
        if plan.is_http2() {
            RequestTemplate::of_stream(request, is_encrypted, values)?
        } else {
            RequestTemplate::of(request, plan.keep_alive, values)?
        };
    }
    let (encoded, streamed) = if plan.is_http2() {
        let streamed = requests.map(|request| request.encode_stream(is_encrypted));
        let streamed = streamed.collect::<Result<_, _>>()?;
        (vec![Vec::new(); plan.requests.len()], streamed)
    } else {
        let encoded = requests.map(|request| request.encode(plan.keep_alive));
        (encoded.collect::<Result<_, _>>()?, Vec::new())
    };
    Ok(Prepared {
        encoded,
        streamed,
        tls: tls_of(plan)?,
        plan: plan.clone(),
        opening: None,
    })
}

/// Prepares a load in which a message takes the place of a request, and its echo that of the
/// response.
fn of_messages(plan: &LoadPlan) -> Result<Prepared, EngineError> {
    let needs = |needs| EngineError::Shape {
        load: "WebSocket messages",
        needs,
    };
    let [weighted] = &plan.requests[..] else {
        return Err(needs("one request, which opens a connection"));
    };
    if !plan.keep_alive {
        return Err(needs("connections that are kept"));
    }
    if let Shape::Broadcast(message) = plan.shape {
        if (message.bytes as usize) < NUMBER_BYTES {
            return Err(needs("16 bytes or more, for their numbers"));
        }
        if plan.pacing.think_ns > 0
            || plan.pacing.session_calls.is_some()
            || plan.pacing.connections_over_time.is_some()
        {
            return Err(needs("one speaker without think time"));
        }
    }
    let opening = weighted.request.opening().encode()?;
    let mut plan = plan.clone();
    let message = plan.shape.message();
    plan.requests[0].expect.body = message.map(|message| identity(message, plan.seed));
    Ok(Prepared {
        encoded: vec![message.map_or_else(Vec::new, |message| frame(message, plan.seed))],
        tls: tls_of(&plan)?,
        plan,
        streamed: Vec::new(),
        opening: Some(opening),
    })
}

fn tls_of(plan: &LoadPlan) -> Result<Option<TlsClient>, EngineError> {
    let connections = plan.connections as usize;
    let tls = plan.tls.as_ref();
    Ok(tls.map(|tls| TlsClient::of(tls, connections)).transpose()?)
}

/// The header by which a client offers subprotocols (RFC 6455, section 11.3.4).
const SUBPROTOCOLS: &str = "Sec-WebSocket-Protocol";

impl RequestPlan {
    /// The WebSocket handshake that it describes: its path, host, headers, and the offered
    /// subprotocols, one of which the server has to choose.
    pub fn opening(&self) -> Opening {
        let is_offer = |(name, _): &&(String, String)| name.eq_ignore_ascii_case(SUBPROTOCOLS);
        let (offers, headers): (Vec<_>, Vec<_>) = self.headers.iter().partition(is_offer);
        let protocols = offers.iter().flat_map(|(_, value)| value.split(','));
        Opening {
            target: self.path.clone(),
            host: self.host.clone(),
            headers: headers.into_iter().cloned().collect(),
            protocols: protocols
                .map(|protocol| protocol.trim().to_owned())
                .collect(),
        }
    }
}
