//! When connections send their requests.

use serde::{Deserialize, Serialize};

use crate::schedule::{Arrivals, StageList};

/// When a connection that is free sends its next request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pacing {
    /// The schedule; a closed loop has none and sends at once. With sessions, the schedule
    /// by which they begin.
    pub arrivals: Arrivals,
    /// How many of the connections send, over the time of a slice; closed loops only.
    pub connections_over_time: Option<StageList>,
    /// How long a user thinks between a response and the next request of the session.
    pub think_ns: u64,
    /// Requests of a session, after which a new one begins; `None` for sessions without end.
    pub session_calls: Option<u32>,
}

impl Pacing {
    /// Whether connections sometimes have no request in flight, even in a closed loop.
    #[must_use]
    pub fn connections_rest(&self) -> bool {
        self.has_users() || self.connections_over_time.is_some()
    }

    /// Whether connections are users, with think times or sessions.
    fn has_users(&self) -> bool {
        self.think_ns > 0 || self.session_calls.is_some()
    }

    /// The most requests that a connection really has in flight.
    ///
    /// That is `pipeline` (RFC 9112, section 9.3.2; RFC 9113, section 5). It is one without
    /// keep-alive, where a connection serves one request, and one for users with think times
    /// or sessions: they wait for each response.
    #[must_use]
    pub fn window(&self, pipeline: u32, keep_alive: bool) -> u32 {
        if keep_alive && !self.has_users() {
            pipeline
        } else {
            1
        }
    }
}
