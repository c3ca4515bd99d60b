//! The plan of a load of sessions.

use std::net::SocketAddr;

use abx_sys::{Nanos, SocketTuning};
use abx_wire::http1::ResponseKind;

use crate::plan::TlsPlan;

/// Options of every session of a load.
pub struct SessionOptions {
    pub address: SocketAddr,
    /// How connections are encrypted; `None` for not at all.
    pub tls: Option<TlsPlan>,
    /// How long a session may make no progress; `None` for no limit.
    pub timeout: Option<Nanos>,
    /// How much longer a session may wait for the first byte of a response.
    pub response_timeout: Nanos,
    /// How often [`SessionStep::Ticks`](super::SessionStep::Ticks) is reported, above zero.
    pub tick: Nanos,
    /// The latest end of the load, from its beginning; sessions in progress then are dropped.
    pub ends_after: Option<Nanos>,
    /// Options of each connection's socket.
    pub tuning: SocketTuning,
}

/// A load of sessions.
pub struct SessionPlan {
    pub terms: SessionOptions,
    /// How many sessions there are.
    pub sessions: u64,
    /// When sessions begin, in order and from the load's beginning; `None` to begin each session
    /// when the one before it has ended.
    pub begins: Option<Box<dyn Iterator<Item = Nanos>>>,
    /// Requests of a session, at least one.
    pub calls: u32,
    /// Requests that go out together, at least one. All their responses are awaited before the
    /// next burst.
    pub burst: u32,
    /// Whether the requests have the method HEAD, so that responses have no body.
    pub heads_only: bool,
}

impl SessionPlan {
    pub(super) fn kind(&self) -> ResponseKind {
        response_kind(self.heads_only)
    }
}

pub(super) fn response_kind(is_head_only: bool) -> ResponseKind {
    if is_head_only {
        ResponseKind::HeadOnly
    } else {
        ResponseKind::WithBody
    }
}
