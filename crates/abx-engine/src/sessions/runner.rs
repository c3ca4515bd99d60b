//! Begins sessions when they are due and takes each of them through its calls.

use abx_sys::Nanos;
use abx_wire::http1::ResponseKind;

use super::begins::Begins;
use super::connections::SessionConnections;
use super::plan::SessionPlan;
use super::session::SessionProgress;
use super::step::{SessionClient, SessionFailure};
use crate::event_loop::{Driver, NextWait, Waiter, event_loop};
use crate::io::{Io, Ready, Token};
use crate::stopper::Stopper;

/// The most sessions that are begun before events of others are handled.
pub(super) const BEGUN_MAX: u64 = 128;

pub struct SessionRunner<'a, I: Io> {
    connections: SessionConnections<I>,
    begins: Begins,
    calls: u32,
    burst: u32,
    kind: ResponseKind,
    client: &'a mut dyn SessionClient,
    next_call: u64,
}

impl<'a, I: Io> SessionRunner<'a, I> {
    pub fn new(
        io: I,
        load: SessionPlan,
        client: &'a mut dyn SessionClient,
    ) -> SessionRunner<'a, I> {
        let kind = load.kind();
        let connections = SessionConnections::new(io, &load.terms);
        SessionRunner {
            begins: Begins::new(load.sessions, load.begins, connections.start()),
            connections,
            calls: load.calls,
            burst: load.burst,
            kind,
            client,
            next_call: 0,
        }
    }

    /// Runs the load and returns how long it took.
    pub fn run(mut self, stopper: &Stopper) -> Nanos {
        event_loop(&mut self, stopper.as_flag());
        self.connections.now().since(self.connections.start())
    }

    /// Begins the sessions that are due; without a schedule, the next one if none is open.
    fn begin_due(&mut self) {
        for together in 1..=BEGUN_MAX {
            let now = self.connections.now();
            let is_idle = self.connections.open() == 0;
            if !self.begins.take(now, is_idle) {
                return;
            }
            let client = &mut *self.client;
            let _ = self.connections.begin(self.calls, together, now, client);
        }
    }

    fn handle(&mut self, ready: &Ready, now: Nanos) {
        match ready {
            Ready::Connected(token) if self.connections.is_current(*token) => {
                let index = token.slot as usize;
                self.connections.note_open(index, now, &mut *self.client);
                self.advance(index, now);
            }
            Ready::Unconnected(token, error) if self.connections.is_current(*token) => {
                let index = token.slot as usize;
                self.connections.session(index).lose();
                self.fail(index, SessionFailure::of(error), now);
            }
            Ready::MaySend(token) if self.connections.is_current(*token) => {
                self.send(token.slot as usize, now);
            }
            Ready::Receivable(token) if self.connections.is_current(*token) => {
                self.receive(*token, now);
            }
            _ => {}
        }
    }

    /// Prepares the next requests of a session. Returns whether there was one.
    fn prepare(&mut self, index: usize) -> bool {
        let (next, client) = (&mut self.next_call, &mut *self.client);
        let session = self.connections.session(index);
        session.prepare(self.burst, self.kind, next, client)
    }

    /// Sends the next requests of a session, or ends it. Every request has its response.
    fn advance(&mut self, index: usize, now: Nanos) {
        if self.prepare(index) {
            self.send(index, now)
        } else {
            self.connections.leave(index, now, &mut *self.client)
        }
    }

    fn send(&mut self, index: usize, now: Nanos) {
        if let Err(failure) = self.connections.send(index, true, &mut *self.client) {
            self.fail(index, failure, now);
        }
    }

    fn receive(&mut self, token: Token, now: Nanos) {
        let index = token.slot as usize;
        while self.connections.is_current(token) {
            let client = &mut *self.client;
            match self.connections.receive(token, now, client) {
                None => return,
                Some(SessionProgress::Continues) => {}
                Some(SessionProgress::HasResponse) => self.advance(index, now),
                Some(SessionProgress::IsOver) => self.ends(index, now),
                Some(SessionProgress::Failed(failure)) => self.fail(index, failure, now),
            }
        }
    }

    /// Handles a close by the peer after a response. A session with more requests sends them, as
    /// httperf does before it checks, and then fails because the connection is gone.
    fn ends(&mut self, index: usize, now: Nanos) {
        if self.prepare(index) {
            // The outcome is known.
            let _ = self.connections.send(index, false, &mut *self.client);
            self.fail(index, SessionFailure::Reset, now);
        } else {
            self.connections.leave(index, now, &mut *self.client);
        }
    }

    fn fail(&mut self, index: usize, failure: SessionFailure, now: Nanos) {
        self.connections
            .fail(index, failure, now, &mut *self.client);
    }
}

impl<I: Io> Driver for SessionRunner<'_, I> {
    type Io = I;

    fn waits_with(&mut self) -> (&mut I, &mut Waiter) {
        self.connections.waits_with()
    }

    fn next_wait(&mut self, _: Nanos, is_stopped: bool) -> Option<NextWait> {
        if is_stopped || self.connections.are_over() {
            return None;
        }
        self.begin_due();
        let continues = self.connections.open() > 0 || self.begins.are_left();
        continues.then(|| self.connections.next_wait(self.begins.due()))
    }

    fn take(&mut self, ready: &mut Vec<Ready>, now: Nanos) {
        for event in ready {
            self.handle(event, now);
        }
        while let Some(index) = self.connections.next_late(now) {
            self.fail(index, SessionFailure::Timeout, now);
        }
        self.connections.tick(now, &mut *self.client);
    }
}
