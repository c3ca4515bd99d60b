//! One visit: its bursts of calls, and the connections that they go over.

use std::collections::VecDeque;

use abx_sys::Nanos;
use abx_wire::http1::ResponseKind;

use super::plan::SessionOptions;
use super::step::SessionListener;

/// A load of visits.
pub struct VisitPlan {
    /// What holds for every connection.
    pub terms: SessionOptions,
    /// How many visits there are.
    pub visits: u64,
    /// When each next one begins, from the load's beginning and in order; `None` for when the
    /// one before it has ended.
    pub begins: Option<Box<dyn Iterator<Item = Nanos>>>,
    /// Connections that a visit may have, at least one.
    pub connections: usize,
    /// Calls that may be under way over one of them, at least one.
    pub piped: usize,
    /// Whether a connection is kept behind a response.
    pub keeps: bool,
    /// A response with this status ends its visit as failed.
    pub failure_status: Option<u16>,
    /// Whether calls are asked again, for as long as it takes, whose response would fail the
    /// visit or whose connection failed. Those of one that was reset behind a response always are.
    pub retries: bool,
}

/// Calls of a visit that belong together: the first one, and behind its response all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisitBurst {
    /// How many, at least one.
    pub calls: u32,
    /// From the last response to the next burst.
    pub think: Nanos,
}

/// A call that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisitCall {
    /// The visit, from 0 in the order in which they begin.
    pub visit: u64,
    /// Which one of its calls it is, from 0.
    pub place: usize,
    /// Its number among the calls of all visits.
    pub number: u64,
}

/// What became of a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisitEnd {
    pub visit: u64,
    /// Since it began.
    pub lasted: Nanos,
    /// Connections that were begun for it.
    pub connections: u64,
    pub responses: u64,
    /// Whether all of it was answered, and nothing failed it.
    pub is_whole: bool,
}

/// Who visits, and hears what becomes of that.
pub trait VisitClient: SessionListener {
    /// What the next visit does, burst by burst.
    fn visits(&mut self) -> Vec<VisitBurst>;

    /// Writes the request of a call; answers whether it is for a head alone, whose response has
    /// no body.
    fn asks(&mut self, call: VisitCall, bytes: &mut Vec<u8>) -> bool;

    /// Hears that a visit has ended, at this moment from the load's beginning.
    fn ends(&mut self, at: Nanos, end: VisitEnd);
}

/// A call with its request, until it is answered.
pub(super) struct AskedCall {
    pub(super) number: u64,
    pub(super) kind: ResponseKind,
    pub(super) request: Vec<u8>,
}

pub(super) struct Link {
    /// Its place among the connections of the load.
    pub(super) index: usize,
    /// What was asked over it and is not answered.
    pub(super) calls: VecDeque<AskedCall>,
}

pub(super) struct VisitState {
    pub(super) began: Nanos,
    /// The one that it is at, and those behind it.
    bursts: VecDeque<VisitBurst>,
    /// Calls of the first of these that were asked.
    asked: u32,
    pub(super) asked_calls: usize,
    pub(super) waiting: VecDeque<AskedCall>,
    /// In the order in which they were begun.
    pub(super) links: Vec<Link>,
    pub(super) connections: u64,
    pub(super) responses: u64,
}

pub(super) enum VisitNext {
    Awaits,
    Asks(u32),
    Thinks(Nanos),
    Ends,
}

impl VisitState {
    pub(super) fn new(began: Nanos, bursts: Vec<VisitBurst>) -> VisitState {
        VisitState {
            began,
            bursts: bursts.into(),
            asked: 0,
            asked_calls: 0,
            waiting: VecDeque::new(),
            links: Vec::new(),
            connections: 0,
            responses: 0,
        }
    }

    /// Goes on to what it does next.
    pub(super) fn next(&mut self) -> VisitNext {
        let has_response = self.links.iter().all(|link| link.calls.is_empty());
        if !(has_response && self.waiting.is_empty()) {
            return VisitNext::Awaits;
        }
        let Some(burst) = self.bursts.front().copied() else {
            return VisitNext::Ends;
        };
        if self.asked < burst.calls {
            // The first call alone, as of a page whose parts are only known from it.
            let calls = if self.asked == 0 { 1 } else { burst.calls - 1 };
            self.asked += calls;
            return VisitNext::Asks(calls);
        }
        self.bursts.pop_front();
        self.asked = 0;
        if self.bursts.is_empty() {
            VisitNext::Ends
        } else {
            VisitNext::Thinks(burst.think)
        }
    }

    /// The connection with room for a further call, the one first that was begun first.
    pub(super) fn roomy(&mut self, piped: usize) -> Option<&mut Link> {
        let mut links = self.links.iter_mut();
        links.find(|link| link.calls.len() < piped)
    }

    /// Gives up a connection, with what is under way over it.
    pub(super) fn unlink(&mut self, index: usize) -> Option<Link> {
        let place = self.links.iter().position(|link| link.index == index)?;
        Some(self.links.remove(place))
    }
}
