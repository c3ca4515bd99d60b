//! Begins visits when they are due and takes each of them through its bursts.

use std::collections::{BTreeMap, VecDeque};

use abx_sys::Nanos;

use super::begins::Begins;
use super::connections::SessionConnections;
use super::plan::response_kind;
use super::runner::BEGUN_MAX;
use super::session::SessionProgress;
use super::step::{SessionFailure, SessionListener, SessionStep};
use super::visit::{
    Link, PendingCall, VisitCall, VisitClient, VisitEnd, VisitNext, VisitPlan, VisitState,
};
use crate::event_loop::{Driver, NextWait, Timers, Waiter, event_loop};
use crate::io::{Io, Ready, Token};
use crate::stopper::Stopper;

pub struct VisitRunner<'a, I: Io> {
    connections: SessionConnections<I>,
    begins: Begins,
    terms: VisitOptions,
    client: &'a mut dyn VisitClient,
    visits: BTreeMap<u64, VisitState>,
    /// The visit of each connection, by its place.
    owners: Vec<u64>,
    /// When each visit's think time ends, the earliest first.
    thoughts: Timers<u64>,
    /// Ended visits whose connections are still open. As in httperf, they are closed after the
    /// next visit has begun.
    ended: VecDeque<(VisitState, VisitEnd)>,
    next_visit: u64,
    next_call: u64,
    /// Connections that were begun since the last wait.
    together: u64,
}

struct VisitOptions {
    connections: usize,
    piped: usize,
    keeps: bool,
    failure_status: Option<u16>,
    retries: bool,
}

impl<'a, I: Io> VisitRunner<'a, I> {
    pub fn new(io: I, load: VisitPlan, client: &'a mut dyn VisitClient) -> VisitRunner<'a, I> {
        let connections = SessionConnections::new(io, &load.terms);
        VisitRunner {
            begins: Begins::new(load.visits, load.begins, connections.start()),
            connections,
            terms: VisitOptions {
                connections: load.connections,
                // A connection that is not kept carries one call.
                piped: if load.keeps { load.piped } else { 1 },
                keeps: load.keeps,
                failure_status: load.failure_status,
                retries: load.retries,
            },
            client,
            visits: BTreeMap::new(),
            owners: Vec::new(),
            thoughts: Timers::new(),
            ended: VecDeque::new(),
            next_visit: 0,
            next_call: 0,
            together: 0,
        }
    }

    /// Runs the load and returns how long it took.
    pub fn run(mut self, stopper: &Stopper) -> Nanos {
        event_loop(&mut self, stopper.as_flag());
        self.settle();
        self.connections.now().since(self.connections.start())
    }

    /// Begins the visits that are due; without a schedule, the next one if none is open.
    fn begin_due(&mut self) {
        for _ in 0..BEGUN_MAX {
            let now = self.connections.now();
            if !self.begins.take(now, self.visits.is_empty()) {
                return;
            }
            let number = self.next_visit;
            self.next_visit += 1;
            let bursts = self.client.visits();
            let visit = VisitState::new(now, bursts);
            self.visits.insert(number, visit);
            self.advance(number, now);
        }
    }

    fn settle(&mut self) {
        while let Some((visit, end)) = self.ended.pop_front() {
            let now = self.connections.now();
            for link in &visit.links {
                self.connections.leave(link.index, now, &mut *self.client);
            }
            let at = now.since(self.connections.start());
            self.client.ends(at, end);
        }
    }

    fn handle(&mut self, ready: &Ready, now: Nanos) {
        let (Ready::Connected(token)
        | Ready::Unconnected(token, _)
        | Ready::MaySend(token)
        | Ready::Receivable(token)) = ready;
        let index = token.slot as usize;
        if !self.connections.is_current(*token) || !self.visits.contains_key(&self.owners[index]) {
            return;
        }
        match ready {
            Ready::Connected(_) => {
                self.connections.note_open(index, now, &mut *self.client);
                self.send(index, now);
            }
            Ready::Unconnected(_, error) => {
                self.connections.session(index).lose();
                self.lost(index, SessionFailure::of(error), now);
            }
            Ready::MaySend(_) => self.send(index, now),
            Ready::Receivable(token) => self.receive(*token, now),
        }
    }

    /// Takes the next action of a visit: all its calls may have responses, or its think time is
    /// over.
    fn advance(&mut self, number: u64, now: Nanos) {
        let Some(visit) = self.visits.get_mut(&number) else {
            return;
        };
        match visit.next() {
            VisitNext::Awaits => self.assign(number, now),
            VisitNext::Requests(calls) => {
                for _ in 0..calls {
                    self.prepare_call(number);
                }
                self.assign(number, now);
            }
            VisitNext::Thinks(think) => self.thoughts.set(now.plus(think), number),
            VisitNext::Ends => self.end(number, true, now),
        }
    }

    /// Prepares the next call of a visit.
    fn prepare_call(&mut self, number: u64) {
        let Some(visit) = self.visits.get_mut(&number) else {
            return;
        };
        let call = VisitCall {
            visit: number,
            place: visit.calls_requested,
            number: self.next_call,
        };
        let mut request = Vec::new();
        let kind = response_kind(self.client.write_request(call, &mut request));
        visit.waiting.push_back(PendingCall {
            number: call.number,
            kind,
            request,
        });
        visit.calls_requested += 1;
        self.next_call += 1;
    }

    /// Assigns the waiting calls of a visit to its connections, as far as these have room.
    fn assign(&mut self, number: u64, now: Nanos) {
        let mut assigned = Vec::new();
        while let Some(visit) = self.visits.get_mut(&number)
            && !visit.waiting.is_empty()
        {
            if visit.roomy(self.terms.piped).is_none() {
                if visit.links.len() >= self.terms.connections {
                    break;
                }
                if !self.link(number, now) {
                    return self.end(number, false, now);
                }
                continue;
            }
            let call = visit.waiting.pop_front();
            if let (Some(link), Some(call)) = (visit.roomy(self.terms.piped), call) {
                let session = self.connections.session(link.index);
                session.queue_request(call.number, call.kind, &call.request);
                link.calls.push_back(call);
                assigned.push(link.index);
            }
        }
        assigned.dedup();
        for index in assigned {
            if self.visits.contains_key(&number) {
                self.send(index, now);
            }
        }
    }

    /// Begins a further connection of a visit. Returns false if it failed at once.
    fn link(&mut self, number: u64, now: Nanos) -> bool {
        self.together += 1;
        let (together, client) = (self.together, &mut *self.client);
        let begun = self.connections.begin(0, together, now, client);
        let (Some(index), Some(visit)) = (begun, self.visits.get_mut(&number)) else {
            return false;
        };
        if self.owners.len() <= index {
            self.owners.resize(index + 1, 0);
        }
        self.owners[index] = number;
        visit.connections += 1;
        visit.links.push(Link {
            index,
            calls: VecDeque::new(),
        });
        true
    }

    fn send(&mut self, index: usize, now: Nanos) {
        let session = self.connections.session(index);
        if !session.is_connected {
            return;
        }
        if session.is_gone {
            // httperf only notices the close when it sends.
            let at = now.since(self.connections.start());
            let session = self.connections.session(index);
            let bytes = session.unsent().len();
            session.sends(bytes, at, false, &mut *self.client);
            return self.lost(index, SessionFailure::Reset, now);
        }
        if let Err(failure) = self.connections.send(index, true, &mut *self.client) {
            self.lost(index, failure, now);
        }
    }

    fn receive(&mut self, token: Token, now: Nanos) {
        let index = token.slot as usize;
        let number = self.owners[index];
        while self.connections.is_current(token) && self.visits.contains_key(&number) {
            let mut listener = CountingListener {
                client: &mut *self.client,
                failure_status: self.terms.failure_status,
                responded: 0,
                failed: Vec::new(),
            };
            let progress = self.connections.receive(token, now, &mut listener);
            let (responded, failed) = (listener.responded, listener.failed);
            self.responded(index, number, responded, &failed);
            match progress {
                _ if !(failed.is_empty() || self.terms.retries) => self.end(number, false, now),
                None => return,
                Some(SessionProgress::Failed(failure)) => self.lost(index, failure, now),
                Some(SessionProgress::IsOver) => {
                    self.connections.lose(index);
                    self.continue_visit(index, number, responded, now);
                }
                Some(_) => self.continue_visit(index, number, responded, now),
            }
        }
    }

    /// Notes the responses to this many calls of a connection. Failed calls may be sent again.
    fn responded(&mut self, index: usize, number: u64, responded: usize, failed: &[u64]) {
        let Some(visit) = self.visits.get_mut(&number) else {
            return;
        };
        visit.responses += responded as u64;
        let link = visit.links.iter_mut().find(|link| link.index == index);
        if let Some(link) = link {
            let responded = responded.min(link.calls.len());
            let calls = link.calls.drain(..responded);
            let again = calls.filter(|call| self.terms.retries && failed.contains(&call.number));
            visit.waiting.extend(again);
        }
    }

    /// Continues a visit after responses, and closes their connection if it is not kept.
    fn continue_visit(&mut self, index: usize, number: u64, responded: usize, now: Nanos) {
        if responded == 0 {
            return;
        }
        if self.terms.keeps {
            return self.advance(number, now);
        }
        let visit = self.visits.get_mut(&number);
        let link = visit.and_then(|visit| visit.unlink(index));
        self.advance(number, now);
        if let Some(link) = link {
            self.connections.leave(link.index, now, &mut *self.client);
        }
    }

    /// Handles a failed connection. Its calls in flight are sent again over other connections, or
    /// fail its visit.
    fn lost(&mut self, index: usize, failure: SessionFailure, now: Nanos) {
        let number = self.owners[index];
        let had_response = self.connections.session(index).responses > 0;
        let may_retry = self.terms.retries || (had_response && failure == SessionFailure::Reset);
        let Some(visit) = self.visits.get_mut(&number) else {
            return;
        };
        let Some(mut link) = visit.unlink(index) else {
            return;
        };
        let has_lost_calls = !link.calls.is_empty();
        while let Some(call) = link.calls.pop_back() {
            visit.waiting.push_front(call);
        }
        if has_lost_calls && may_retry {
            self.assign(number, now);
        } else if has_lost_calls {
            self.end(number, false, now);
        }
        // The failure is reported last, since httperf closes the connection last.
        let client = &mut *self.client;
        self.connections.fail(index, failure, now, client);
    }

    fn end(&mut self, number: u64, is_whole: bool, now: Nanos) {
        let Some(visit) = self.visits.remove(&number) else {
            return;
        };
        let end = VisitEnd {
            visit: number,
            lasted: now.since(visit.began),
            connections: visit.connections,
            responses: visit.responses,
            is_whole,
        };
        self.ended.push_back((visit, end));
    }
}

impl<I: Io> Driver for VisitRunner<'_, I> {
    type Io = I;

    fn waits_with(&mut self) -> (&mut I, &mut Waiter) {
        self.connections.waits_with()
    }

    fn next_wait(&mut self, _: Nanos, is_stopped: bool) -> Option<NextWait> {
        if is_stopped || self.connections.are_over() {
            return None;
        }
        self.begin_due();
        self.settle();
        if self.visits.is_empty() && !self.begins.are_left() {
            return None;
        }
        let due = self.thoughts.next_at().into_iter().chain(self.begins.due());
        Some(self.connections.next_wait(due.min()))
    }

    fn take(&mut self, ready: &mut Vec<Ready>, now: Nanos) {
        self.together = 0;
        for event in ready {
            self.handle(event, now);
        }
        while let Some(index) = self.connections.next_late(now) {
            self.lost(index, SessionFailure::Timeout, now);
        }
        while let Some((_, number)) = self.thoughts.take_due(now) {
            self.advance(number, now);
        }
        self.connections.tick(now, &mut *self.client);
    }
}

/// Forwards steps to a client, and counts the responses.
struct CountingListener<'a> {
    client: &'a mut dyn VisitClient,
    failure_status: Option<u16>,
    responded: usize,
    /// The calls whose responses have the failing status.
    failed: Vec<u64>,
}

impl SessionListener for CountingListener<'_> {
    fn on_step(&mut self, at: Nanos, step: SessionStep<'_>) {
        if let SessionStep::Responded { call, response } = &step {
            self.responded += 1;
            if self.failure_status == Some(response.status) {
                self.failed.push(*call);
            }
        }
        self.client.on_step(at, step);
    }
}
