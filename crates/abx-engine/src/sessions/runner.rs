//! Begins sessions when they are due and takes each of them through its calls.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use abx_sys::Nanos;
use abx_wire::http1::HeadMemo;

use super::session::{Session, SessionProgress};
use super::{SessionClient, SessionFailure, SessionLoad, SessionStep};
use crate::io::{Awaits, Io, Ready, Received, Token};
use crate::workers::engine::Stopper;

/// No wait is longer, so that a stop is noticed soon.
const WAIT_MAX: Nanos = Nanos(50_000_000);
/// So many sessions are begun before it is looked at what has come for others.
const BEGUN_MAX: u64 = 128;

/// A load of sessions while it runs.
pub(crate) struct SessionRunner<'a, I: Io> {
    io: I,
    load: SessionLoad,
    client: &'a mut dyn SessionClient,
    /// Of one request; several are answered alike more often than not.
    memo: HeadMemo,
    sessions: Vec<Session>,
    /// Places that no session has.
    free: Vec<usize>,
    open: u64,
    begun: u64,
    /// When the next session begins, where that is said.
    due: Option<Nanos>,
    next_call: u64,
    next_tick: Nanos,
    /// Looks at timeouts that are planned, the earliest first.
    looks: BinaryHeap<Reverse<(Nanos, u32, u32)>>,
    start: Nanos,
}

impl<'a, I: Io> SessionRunner<'a, I> {
    pub(crate) fn new(
        mut io: I,
        mut load: SessionLoad,
        client: &'a mut dyn SessionClient,
    ) -> SessionRunner<'a, I> {
        let start = io.now();
        let due = load.begins.as_mut().and_then(Iterator::next);
        SessionRunner {
            due: due.map(|due| start.plus(due)),
            next_tick: start.plus(load.tick),
            io,
            load,
            client,
            memo: HeadMemo::default(),
            sessions: Vec::new(),
            free: Vec::new(),
            open: 0,
            begun: 0,
            next_call: 0,
            looks: BinaryHeap::new(),
            start,
        }
    }

    /// Runs all of it and answers how long it took.
    pub(crate) fn run(mut self, stopper: &Stopper) -> Nanos {
        let mut ready = Vec::new();
        while !stopper.is_stopped() {
            self.begin_due();
            if self.open == 0 && !self.has_more() {
                break;
            }
            let until = self.wakes();
            let now = self.io.wait(until, Awaits::Nothing, &mut ready);
            for one in &ready {
                self.handle(one, now);
            }
            self.time_out(now);
            self.tick(now);
        }
        self.io.now().since(self.start)
    }

    /// Whether a further session will begin.
    fn has_more(&self) -> bool {
        let is_scheduled = self.load.begins.is_some();
        self.begun < self.load.sessions && (self.due.is_some() || !is_scheduled)
    }

    /// Begins what is due, which without a schedule is the next one when none is open.
    fn begin_due(&mut self) {
        for together in 1..=BEGUN_MAX {
            let now = self.io.now();
            let is_due = match self.load.begins {
                None => self.open == 0,
                Some(_) => self.due.is_some_and(|due| due <= now),
            };
            if !(is_due && self.has_more()) {
                return;
            }
            self.begun += 1;
            let next = self.load.begins.as_mut().and_then(Iterator::next);
            self.due = next.map(|due| self.start.plus(due));
            self.begin(together, now);
        }
    }

    fn begin(&mut self, together: u64, now: Nanos) {
        let index = self.free.pop().unwrap_or_else(|| {
            self.sessions.push(Session::new());
            self.sessions.len() - 1
        });
        let token = self.token(index);
        let connected = self.io.connect(token, &self.load.address.into(), None);
        let failure = connected.err().map(|error| SessionFailure::of(&error));
        if let Some(failure) = &failure
            && failure.is_unbegun()
        {
            self.free.push(index);
            return self.tell(now, SessionStep::Fails(failure.clone()));
        }
        self.open += 1;
        let open = self.open;
        self.tell(now, SessionStep::Begins { open, together });
        self.sessions[index].begin(self.load.calls, now);
        match failure {
            None => self.watch(index),
            Some(failure) => self.fail(index, failure, now),
        }
    }

    /// When there is something to do without anything having come.
    fn wakes(&mut self) -> Nanos {
        let latest = self.io.now().plus(WAIT_MAX);
        let look = self.looks.peek().map(|Reverse((at, ..))| *at);
        let due = self.due.filter(|_| self.has_more());
        let first = look.into_iter().chain(due).chain([self.next_tick]).min();
        first.unwrap_or(latest).min(latest)
    }

    fn handle(&mut self, ready: &Ready, now: Nanos) {
        match ready {
            Ready::Connected(token) if self.is_current(*token) => {
                let index = token.slot as usize;
                let session = &mut self.sessions[index];
                session.progress = now;
                let took = now.since(session.began);
                self.tell(now, SessionStep::Stands(took));
                self.go_on(index, now);
            }
            Ready::Unconnected(token, error) if self.is_current(*token) => {
                self.fail(token.slot as usize, SessionFailure::of(error), now);
            }
            Ready::MaySend(token) if self.is_current(*token) => self.send(*token, true),
            Ready::Receivable(token) if self.is_current(*token) => self.receive(*token, now),
            _ => {}
        }
    }

    /// All that was asked is answered: the next requests, or the end.
    fn go_on(&mut self, index: usize, now: Nanos) {
        let (burst, client) = (self.load.burst, &mut *self.client);
        let session = &mut self.sessions[index];
        if session.prepare(burst, &mut self.next_call, client) {
            return self.send(self.token(index), true);
        }
        let token = self.token(index);
        self.io.close(token);
        self.leave(index, now);
    }

    /// Sends what is unsent, as far as there is room; `is_heard` says whether answers can come.
    fn send(&mut self, token: Token, is_heard: bool) {
        let index = token.slot as usize;
        let sent = self.io.now();
        let session = &mut self.sessions[index];
        if session.unsent().is_empty() {
            return;
        }
        match self.io.send(token, session.unsent()) {
            Ok(bytes) => {
                let kind = is_heard.then(|| self.load.kind());
                let at = sent.since(self.start);
                session.sends(bytes, at, kind, &mut *self.client);
                session.progress = sent;
                self.watch(index);
            }
            Err(_) if is_heard => {
                self.io.close(token);
                self.fail(index, SessionFailure::Reset, sent);
            }
            // It is known to be over, and ends behind this.
            Err(_) => {}
        }
    }

    fn receive(&mut self, token: Token, now: Nanos) {
        let index = token.slot as usize;
        let at = now.since(self.start);
        while self.is_current(token) {
            let (session, client) = (&mut self.sessions[index], &mut *self.client);
            let mut has_ended = false;
            let progress = match self.io.receive(token) {
                Received::Bytes(bytes) => session.take(bytes, at, &mut self.memo, client),
                Received::Nothing => return,
                Received::Skipped(_) => SessionProgress::GoesOn,
                Received::Ended => {
                    has_ended = true;
                    session.end(at, client)
                }
                Received::Failed => SessionProgress::Failed(SessionFailure::Reset),
            };
            match progress {
                SessionProgress::GoesOn => {
                    self.sessions[index].progress = now;
                    self.watch(index);
                }
                SessionProgress::IsAnswered if has_ended => self.ends(index, now),
                SessionProgress::IsAnswered => {
                    self.sessions[index].progress = now;
                    self.go_on(index, now);
                }
                SessionProgress::Failed(failure) => {
                    self.io.close(token);
                    self.fail(index, failure, now);
                }
            }
        }
    }

    /// The peer has closed behind an answer. Who had more to ask does so, as httperf does
    /// before it looks, and is told that the connection is gone.
    fn ends(&mut self, index: usize, now: Nanos) {
        let token = self.token(index);
        let (burst, client) = (self.load.burst, &mut *self.client);
        let has_more = self.sessions[index].prepare(burst, &mut self.next_call, client);
        if has_more {
            self.send(token, false);
        }
        self.io.close(token);
        match has_more {
            true => self.fail(index, SessionFailure::Reset, now),
            false => self.leave(index, now),
        }
    }

    /// A session has failed, and its connection is closed.
    fn fail(&mut self, index: usize, failure: SessionFailure, now: Nanos) {
        self.tell(now, SessionStep::Fails(failure));
        self.leave(index, now);
    }

    /// A session's connection is closed.
    fn leave(&mut self, index: usize, now: Nanos) {
        self.open -= 1;
        self.free.push(index);
        let session = &mut self.sessions[index];
        session.close();
        let (lasted, answers) = (now.since(session.began), session.answers);
        self.tell(now, SessionStep::Ends { lasted, answers });
    }

    /// Ends sessions that make no progress.
    fn time_out(&mut self, now: Nanos) {
        while let Some(Reverse((at, slot, generation))) = self.looks.peek().copied()
            && at <= now
        {
            self.looks.pop();
            let token = Token { slot, generation };
            if !self.is_current(token) {
                continue;
            }
            let index = slot as usize;
            self.sessions[index].looked_at = Nanos::MAX;
            if self.deadline(index) <= now {
                self.io.close(token);
                self.fail(index, SessionFailure::Timeout, now);
            } else {
                self.watch(index);
            }
        }
    }

    /// Until when a session has to make progress.
    fn deadline(&self, index: usize) -> Nanos {
        let session = &self.sessions[index];
        let Some(timeout) = self.load.timeout else {
            return Nanos::MAX;
        };
        let more = match session.awaits_first_byte() {
            true => self.load.answer_timeout,
            false => Nanos(0),
        };
        session.progress.plus(timeout).plus(more)
    }

    /// Plans a look at a session's timeout, unless an earlier one is planned already.
    fn watch(&mut self, index: usize) {
        let deadline = self.deadline(index);
        let token = self.token(index);
        let session = &mut self.sessions[index];
        if deadline < session.looked_at {
            session.looked_at = deadline;
            let look = (deadline, token.slot, token.generation);
            self.looks.push(Reverse(look));
        }
    }

    fn tick(&mut self, now: Nanos) {
        if now >= self.next_tick {
            self.next_tick = now.plus(self.load.tick);
            self.tell(now, SessionStep::Ticks);
        }
    }

    fn tell(&mut self, now: Nanos, step: SessionStep<'_>) {
        self.client.hears(now.since(self.start), step);
    }

    fn token(&self, index: usize) -> Token {
        Token {
            slot: u32::try_from(index).expect("connections are fewer than descriptors"),
            generation: self.sessions[index].generation,
        }
    }

    fn is_current(&self, token: Token) -> bool {
        let session = &self.sessions[token.slot as usize];
        session.is_open && session.generation == token.generation
    }
}
