//! One visit: its bursts of calls, and their connections.

use std::collections::VecDeque;

use abx_sys::Nanos;
use abx_wire::http1::ResponseKind;

use super::plan::SessionOptions;
use super::step::SessionListener;

/// A load of visits.
pub struct VisitPlan {
    /// Options of every connection.
    pub terms: SessionOptions,
    /// How many visits there are.
    pub visits: u64,
    /// When visits begin, in order and from the load's beginning; `None` to begin each visit when
    /// the one before it has ended.
    pub begins: Option<Box<dyn Iterator<Item = Nanos>>>,
    /// The most connections of a visit, at least one.
    pub connections: usize,
    /// The most calls in flight per connection, at least one.
    pub piped: usize,
    /// Whether a connection is kept after a response.
    pub keeps: bool,
    /// A response with this status ends its visit as failed.
    pub failure_status: Option<u16>,
    /// Whether calls are sent again, as often as needed, if their response would fail the
    /// visit or their connection failed. Calls on a connection that is reset after a response are
    /// always sent again.
    pub retries: bool,
}

/// Calls of a visit that belong together: the first call, and after its response all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisitBurst {
    /// The number of calls, at least one.
    pub calls: u32,
    /// The pause from the last response to the next burst.
    pub think: Nanos,
}

/// A call that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisitCall {
    /// The visit's number, from 0 in the order in which visits begin.
    pub visit: u64,
    /// The call's place in its visit, from 0.
    pub place: usize,
    /// The call's number among those of all visits.
    pub number: u64,
}

/// The result of a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisitEnd {
    pub visit: u64,
    /// From its beginning.
    pub lasted: Nanos,
    /// Connections that were begun for it.
    pub connections: u64,
    pub responses: u64,
    /// Whether every call had a response, and nothing failed the visit.
    pub is_whole: bool,
}

/// Supplies visits and their requests, and receives their events.
pub trait VisitClient: SessionListener {
    /// The bursts of the next visit.
    fn visits(&mut self) -> Vec<VisitBurst>;

    /// Writes the request of a call. Returns whether its method is HEAD, so that the response has
    /// no body.
    fn write_request(&mut self, call: VisitCall, bytes: &mut Vec<u8>) -> bool;

    /// Receives the end of a visit. `at` counts from the load's beginning.
    fn ends(&mut self, at: Nanos, end: VisitEnd);
}

/// A call with its request, until it has its response.
pub(super) struct PendingCall {
    pub(super) number: u64,
    pub(super) kind: ResponseKind,
    pub(super) request: Vec<u8>,
}

pub(super) struct Link {
    /// Its place among the connections of the load.
    pub(super) index: usize,
    /// Calls on this connection without a response.
    pub(super) calls: VecDeque<PendingCall>,
}

pub(super) struct VisitState {
    pub(super) began: Nanos,
    /// The current burst, and those after it.
    bursts: VecDeque<VisitBurst>,
    /// Calls of the current burst that were requested.
    begun: u32,
    pub(super) calls_requested: usize,
    pub(super) waiting: VecDeque<PendingCall>,
    /// The connections in the order of their beginnings.
    pub(super) links: Vec<Link>,
    pub(super) connections: u64,
    pub(super) responses: u64,
}

pub(super) enum VisitNext {
    Awaits,
    Requests(u32),
    Thinks(Nanos),
    Ends,
}

impl VisitState {
    pub(super) fn new(began: Nanos, bursts: Vec<VisitBurst>) -> VisitState {
        VisitState {
            began,
            bursts: bursts.into(),
            begun: 0,
            calls_requested: 0,
            waiting: VecDeque::new(),
            links: Vec::new(),
            connections: 0,
            responses: 0,
        }
    }

    /// Advances to the next action.
    pub(super) fn next(&mut self) -> VisitNext {
        let has_response = self.links.iter().all(|link| link.calls.is_empty());
        if !(has_response && self.waiting.is_empty()) {
            return VisitNext::Awaits;
        }
        let Some(burst) = self.bursts.front().copied() else {
            return VisitNext::Ends;
        };
        if self.begun < burst.calls {
            // The first call alone, as for a page whose parts are only known once it is loaded.
            let calls = if self.begun == 0 { 1 } else { burst.calls - 1 };
            self.begun += calls;
            return VisitNext::Requests(calls);
        }
        self.bursts.pop_front();
        self.begun = 0;
        if self.bursts.is_empty() {
            VisitNext::Ends
        } else {
            VisitNext::Thinks(burst.think)
        }
    }

    /// The oldest connection with room for a further call.
    pub(super) fn roomy(&mut self, piped: usize) -> Option<&mut Link> {
        let mut links = self.links.iter_mut();
        links.find(|link| link.calls.len() < piped)
    }

    /// Removes a connection, with its calls in flight.
    pub(super) fn unlink(&mut self, index: usize) -> Option<Link> {
        let place = self.links.iter().position(|link| link.index == index)?;
        Some(self.links.remove(place))
    }
}
