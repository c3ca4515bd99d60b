//! The load of one pool of connections.

use std::net::IpAddr;

use abx_evidence::{RequestLogPlan, Shape, TimelinePlan};
use abx_model::LoadOptions;
use abx_sys::ServerAddress;
use serde::{Deserialize, Serialize};

use super::pacing::Pacing;
use super::request::{HttpVersion, WeightedRequest};
use super::scenario::ScenarioUsers;
use super::tls::TlsPlan;
use crate::schedule::{Amount, PerSecond};

/// The load that one pool of connections makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadPlan {
    pub address: ServerAddress,
    /// How connections are encrypted; `None` for not at all.
    #[serde(default)]
    pub tls: Option<TlsPlan>,
    /// The size of each socket's send and receive buffers; `None` lets the kernel choose.
    #[serde(default)]
    pub buffer_bytes: Option<u32>,
    /// Local addresses that the connections come from, in turn; empty lets the kernel choose.
    /// A Unix socket has none.
    pub sources: Vec<IpAddr>,
    #[serde(flatten)]
    pub options: LoadOptions,
    /// The most requests in flight per connection, at least one; streams in HTTP/2. See
    /// [`LoadPlan::window`].
    #[serde(default = "one")]
    pub pipeline: u32,
    /// The requests, at least one. The next request is drawn by weight, or named by the replay.
    pub requests: Vec<WeightedRequest>,
    /// The most connections that this machine opens per second before a slice, whatever the
    /// load sets.
    #[serde(default)]
    pub opening_limit: Option<PerSecond>,
    /// How long the opening of all connections may take; `None` for as long as it needs.
    #[serde(default)]
    pub open_within_ns: Option<u64>,
    /// How requests are grouped by their due and response times; `None` for no groups. If the
    /// subject is expected to fail meanwhile, its failures end no slice early, and a refused
    /// connection is tried again as soon as the next request is due.
    #[serde(default)]
    pub timeline: Option<TimelinePlan>,
    /// The log of each request, of HTTP/1.x; `None` for none. A log requires a body hash of
    /// every response.
    #[serde(default)]
    pub log: Option<RequestLogPlan>,
    /// Draws which requests are sent and which responses are hashed.
    pub seed: u64,
    /// When a connection that is free sends its next request.
    #[serde(default)]
    pub pacing: Pacing,
    /// The kind of traffic on the connections. For WebSocket, `requests` has only the request
    /// that opens each connection, and its expected status is that of the handshake, 101;
    /// a message takes a request's place everywhere else.
    #[serde(default)]
    pub shape: Shape,
    /// The scenario of its users, if they make sessions; `requests` is empty then. It is not
    /// serialised.
    #[serde(skip)]
    pub scenario: Option<ScenarioUsers>,
}

abx_model::has_options!(LoadPlan);

impl LoadPlan {
    /// How many connections are opened per second before a slice; `None` for as fast as the
    /// subject takes them, few at a time.
    #[must_use]
    pub fn opening_pace(&self) -> Option<PerSecond> {
        let pace = self.open_rate.map(u64::from).and_then(|per_s| {
            let amount = Amount::from_thousandths(per_s * 1_000)?;
            PerSecond::try_from(amount).ok()
        });
        pace.into_iter().chain(self.opening_limit).min()
    }

    /// Whether any of its requests has placeholders.
    #[must_use]
    pub fn has_placeholders(&self) -> bool {
        let mut requests = self.requests.iter();
        requests.any(|weighted| !weighted.request.placeholders.is_empty())
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
        requests.any(|weighted| weighted.request.version == HttpVersion::Http2)
    }

    /// Whether the subject is expected to fail under it.
    #[must_use]
    pub fn is_to_fail(&self) -> bool {
        self.timeline
            .is_some_and(|timeline| timeline.delayed_after_ns.is_some())
    }

    /// The most requests that a connection really has in flight.
    #[must_use]
    pub fn window(&self) -> u32 {
        self.pacing.window(self.pipeline, self.keep_alive)
    }
}

fn one() -> u32 {
    1
}
