//! What an engine is asked to do. Plain data: it could come over a wire.

mod extraction;
mod placeholders;
mod scenario;
mod text_template;
mod tls;

use std::net::IpAddr;

use abx_evidence::{CoursePlan, ExpectedStatus, RequestLogPlan, Shape, TimelinePlan, Wait};
use abx_model::LoadOptions;
use abx_sys::ServerAddress;
use abx_wire::{http1, http2};
use serde::{Deserialize, Serialize};

use crate::schedule::{Amount, Arrivals, PerSecond, StageList};

pub use extraction::{Extraction, ValueSource};
pub use placeholders::{
    ASKED_BEFORE_LOAD, LineList, PlaceholderKind, PlaceholderPart, RequestPlaceholder,
};
pub(crate) use placeholders::{push_decimal, push_uuid};
pub use scenario::{OWN_VALUES, ScenarioScript, ScenarioStep, ScenarioUsers, ThinkTime};
pub(crate) use scenario::{SESSION, USER};
pub use text_template::{TextTemplate, is_value_name};
pub use tls::{TlsFileError, TlsIdentity, TlsPlan, TlsSuite, TlsTrust, TlsVersion};

/// The threads that make load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnginePlan {
    /// How many worker threads, at least one.
    pub threads: usize,
    /// Processors that the workers are pinned to, each to one in turn; empty
    /// leaves them where the kernel puts them.
    pub cpus: Vec<usize>,
    /// How a worker waits for responses. SUBTLE: awake only where each worker has a
    /// processor that nobody else needs, before all the server.
    #[serde(default)]
    pub wait: Wait,
}

/// Which protocol version a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HttpVersion {
    /// HTTP/1.0 as `ab` speaks it: a connection is for one request, unless
    /// keep-alive is asked for and the response agrees, by `Connection: keep-alive`
    /// or by being one of HTTP/1.1, and says where it ends.
    #[serde(rename = "http/1.0")]
    Http10,
    /// HTTP/1.1.
    #[serde(rename = "http/1.1")]
    Http11,
    /// HTTP/2: with prior knowledge, or over TLS as ALPN agrees on it.
    #[serde(rename = "http/2")]
    Http2,
}

impl HttpVersion {
    /// What TLS is told beforehand that will be spoken (RFC 7301), the best first; nothing
    /// where every server takes it for granted.
    #[must_use]
    pub fn alpn(self) -> Vec<String> {
        match self {
            HttpVersion::Http10 | HttpVersion::Http11 => Vec::new(),
            HttpVersion::Http2 => vec!["h2".to_owned()],
        }
    }
}

/// One request, as a person writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPlan {
    pub version: HttpVersion,
    /// The method, `GET` before all.
    pub method: String,
    pub path: String,
    /// The `Host` header: name and, when it is not 80, port.
    pub host: String,
    /// Further headers in order.
    pub headers: Vec<(String, String)>,
    /// The body, mostly empty.
    pub body: Vec<u8>,
    /// What is filled in there anew each time. Those of each part are in order.
    #[serde(default)]
    pub placeholders: Vec<RequestPlaceholder>,
}

impl RequestPlan {
    pub(crate) fn encode(&self, keep_alive: bool) -> Result<Vec<u8>, http1::RequestError> {
        self.written(keep_alive).encode()
    }

    /// The same as a stream of HTTP/2 carries it.
    pub(crate) fn encode_stream(
        &self,
        is_encrypted: bool,
    ) -> Result<http2::EncodedRequest, http1::RequestError> {
        http2::EncodedRequest::of(&self.written(true), scheme(is_encrypted))
    }

    pub(crate) fn stream_fields(
        &self,
        is_encrypted: bool,
    ) -> Result<Vec<http2::RequestField>, http1::RequestError> {
        http2::request_fields(&self.written(true), scheme(is_encrypted))
    }

    pub(crate) fn written(&self, keep_alive: bool) -> http1::Request {
        http1::Request {
            method: self.method.clone(),
            target: self.path.clone(),
            host: self.host.clone(),
            headers: self.headers.clone(),
            body: self.body.clone(),
            version: match self.version {
                HttpVersion::Http10 => http1::Version::Http10,
                // HTTP/2 has no place for it.
                HttpVersion::Http11 | HttpVersion::Http2 => http1::Version::Http11,
            },
            connection: if keep_alive {
                http1::Persistence::KeepAlive
            } else {
                http1::Persistence::Close
            },
        }
    }

    /// Whether to send it twice is the same as to send it once (RFC 9110, section 9.2.2).
    pub(crate) fn is_idempotent(&self) -> bool {
        let idempotent = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"];
        idempotent.contains(&self.method.as_str())
    }

    pub(crate) fn response_kind(&self) -> http1::ResponseKind {
        if self.method == "HEAD" {
            http1::ResponseKind::HeadOnly
        } else {
            http1::ResponseKind::WithBody
        }
    }
}

fn scheme(is_encrypted: bool) -> &'static str {
    if is_encrypted { "https" } else { "http" }
}

/// What a right body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyIdentity {
    pub bytes: u64,
    /// Its XXH3-64 hash, compared on a sample of the responses.
    pub xxh3: u64,
}

/// What a correct response is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectedResponse {
    pub status: ExpectedStatus,
    /// Its body; `None` when bodies vary and only the status is checked.
    pub body: Option<BodyIdentity>,
}

/// One request of a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightedRequest {
    pub request: RequestPlan,
    /// What a correct response is.
    pub expect: ExpectedResponse,
    /// How often it is asked, beside the weights of the others; at least 1.
    pub weight: u32,
}

/// The load that one pool of connections makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadPlan {
    pub address: ServerAddress,
    /// How connections are encrypted; `None` for not at all.
    #[serde(default)]
    pub tls: Option<TlsPlan>,
    /// How large the buffers of each socket are, for what is sent and for what is received;
    /// `None` lets the kernel choose.
    #[serde(default)]
    pub buffer_bytes: Option<u32>,
    /// Local addresses that the connections come from, in turn; empty lets the kernel choose.
    /// A Unix socket has none.
    pub sources: Vec<IpAddr>,
    #[serde(flatten)]
    pub options: LoadOptions,
    /// Requests that a connection has in flight at most, at least one, which are its streams
    /// in HTTP/2; see [`LoadPlan::window`].
    #[serde(default = "one")]
    pub pipeline: u32,
    /// What is asked, at least one request; each next one is drawn by its weight, or named by
    /// the replay.
    pub requests: Vec<WeightedRequest>,
    /// The most connections that this machine opens per second before a slice, whatever the
    /// load says.
    #[serde(default)]
    pub opening_limit: Option<PerSecond>,
    /// How long the opening of all connections may take; `None` for as long as it goes on.
    #[serde(default)]
    pub open_within_ns: Option<u64>,
    /// How requests are told apart by when they were due and answered; `None` for not at
    /// all. Where the subject is expected to fail meanwhile, nothing that it does ends a
    /// slice early, and a refused connection is tried again as soon as the next request is
    /// due.
    #[serde(default)]
    pub timeline: Option<TimelinePlan>,
    /// What is kept of each request, of HTTP/1.x; `None` for nothing. It takes a body hash of
    /// every response.
    #[serde(default)]
    pub log: Option<RequestLogPlan>,
    /// Draws which requests are sent and which answers are hashed.
    pub seed: u64,
    /// When a connection that is free sends its next request.
    #[serde(default)]
    pub pacing: Pacing,
    /// What connections carry. Of WebSocket, `requests` has the one request that
    /// opens each connection, and its response's status is the handshake's, 101;
    /// a message takes a request's place everywhere else.
    #[serde(default)]
    pub shape: Shape,
    /// What its users do, where they make sessions; `requests` is empty then. It does not leave
    /// this process.
    #[serde(skip)]
    pub scenario: Option<ScenarioUsers>,
}

abx_model::has_options!(LoadPlan);

impl LoadPlan {
    /// How many connections are opened per second before a slice; `None` for as fast as the
    /// subject takes them, few at a time.
    #[must_use]
    pub fn opening_pace(&self) -> Option<PerSecond> {
        let asked = self.open_rate.map(u64::from).and_then(|per_s| {
            let amount = Amount::from_thousandths(per_s * 1_000)?;
            PerSecond::try_from(amount).ok()
        });
        asked.into_iter().chain(self.opening_limit).min()
    }

    /// Whether anything in its requests is filled in anew each time.
    #[must_use]
    pub fn has_placeholders(&self) -> bool {
        let mut requests = self.requests.iter();
        requests.any(|asked| !asked.request.placeholders.is_empty())
    }

    /// How many of its connections send.
    #[must_use]
    pub fn senders(&self) -> u32 {
        self.shape.kind().senders(self.connections)
    }

    /// Whether its requests are streams of HTTP/2.
    #[must_use]
    pub fn is_http2(&self) -> bool {
        let mut requests = self.requests.iter();
        requests.any(|asked| asked.request.version == HttpVersion::Http2)
    }

    /// Whether the subject is expected to fail under it.
    #[must_use]
    pub fn is_to_fail(&self) -> bool {
        let kept = self.timeline;
        kept.is_some_and(|kept| kept.delayed_after_ns.is_some())
    }

    /// How many requests a connection really has in flight at most.
    #[must_use]
    pub fn window(&self) -> u32 {
        self.pacing.window(self.pipeline, self.keep_alive)
    }
}

/// Which part of a load one of several generators makes: its connections, and of every
/// `of` requests of a schedule one. All parts together are exactly the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LoadPart {
    /// Its number, from 0 and below `of`.
    pub number: u32,
    /// How many parts there are; each needs a connection.
    pub of: u32,
}

impl LoadPart {
    /// All of it.
    pub const WHOLE: LoadPart = LoadPart { number: 0, of: 1 };

    /// Its first connection among `connections`, and that of the next part.
    #[must_use]
    pub fn connections(self, connections: u64) -> (u64, u64) {
        let (number, of) = (u64::from(self.number), u64::from(self.of));
        let before = |number| share_before(connections, number, of);
        (before(number), before(number + 1))
    }
}

/// The part of `all` that falls to the first `number` of `count`; each one's
/// share differs from another's by at most one.
pub(crate) fn share_before(total: u64, number: u64, count: u64) -> u64 {
    total / count * number + number.min(total % count)
}

/// When a connection that is free sends its next request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pacing {
    /// By which schedule; a closed loop has none and sends at once. With
    /// sessions, by which schedule they begin.
    pub arrivals: Arrivals,
    /// How many of the connections send, over the time of a slice; closed loops only.
    pub connections_over_time: Option<StageList>,
    /// How long a user thinks between a response and the next request of the session.
    pub think_ns: u64,
    /// Requests of a session, after which a new one begins; `None` for sessions without end.
    pub session_calls: Option<u32>,
}

impl Pacing {
    /// Whether connections have no request in flight some of the time, even in a
    /// closed loop.
    #[must_use]
    pub fn connections_rest(&self) -> bool {
        self.has_users() || self.connections_over_time.is_some()
    }

    /// Whether connections are users, who think or have sessions.
    fn has_users(&self) -> bool {
        self.think_ns > 0 || self.session_calls.is_some()
    }

    /// How many requests a connection really has in flight at most.
    ///
    /// That is `pipeline` (RFC 9112, section 9.3.2; RFC 9113, section 5), but one without
    /// keep-alive, where a connection serves one request, and one for users who think or
    /// have sessions: they wait for each response.
    #[must_use]
    pub fn window(&self, pipeline: u32, keep_alive: bool) -> u32 {
        if keep_alive && !self.has_users() {
            pipeline
        } else {
            1
        }
    }
}

fn one() -> u32 {
    1
}

/// When a slice stops sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SliceEnd {
    /// After this time.
    AfterNs(u64),
    /// After this many requests over all connections.
    AfterRequests(u64),
}

/// One slice of load on one pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlicePlan {
    /// When it stops sending; answers in flight are then waited for.
    pub end: SliceEnd,
    /// Requests sent before this much of the slice has passed are not counted.
    pub discard_ns: u64,
    /// How the course of the slice is kept; `None` for not at all.
    #[serde(default)]
    pub course: Option<CoursePlan>,
}
