//! The connections of a load: makes them, moves their bytes, and checks their timeouts.

use abx_sys::{Nanos, ServerAddress};
use abx_wire::http1::HeadMemo;

use super::plan::SessionOptions;
use super::session::{Session, SessionProgress};
use super::step::{SessionFailure, SessionListener, SessionStep};
use crate::event_loop::{NextWait, Timers, Waiter};
use crate::io::{Awaits, Io, Received, Token};

/// All connections of a load, each with its session.
pub(super) struct SessionConnections<I: Io> {
    io: I,
    waiter: Waiter,
    address: ServerAddress,
    timeout: Option<Nanos>,
    response_timeout: Nanos,
    tick: Nanos,
    next_tick: Nanos,
    /// The latest end of the load.
    end: Option<Nanos>,
    /// A single memo for all requests, since their heads are usually similar.
    memo: HeadMemo,
    sessions: Vec<Session>,
    free: Vec<usize>,
    open: u64,
    /// Planned checks of timeouts, the earliest first.
    looks: Timers<(u32, u32)>,
    start: Nanos,
}

impl<I: Io> SessionConnections<I> {
    pub(super) fn new(mut io: I, terms: &SessionOptions) -> SessionConnections<I> {
        let start = io.now();
        SessionConnections {
            io,
            waiter: Waiter::from(start),
            address: terms.address.into(),
            timeout: terms.timeout,
            response_timeout: terms.response_timeout,
            tick: terms.tick,
            next_tick: start.plus(terms.tick),
            end: terms.ends_after.map(|span| start.plus(span)),
            memo: HeadMemo::default(),
            sessions: Vec::new(),
            free: Vec::new(),
            open: 0,
            looks: Timers::new(),
            start,
        }
    }

    pub(super) fn now(&mut self) -> Nanos {
        self.io.now()
    }

    /// When the load began.
    pub(super) fn start(&self) -> Nanos {
        self.start
    }

    /// Whether the load has reached its latest end.
    pub(super) fn are_over(&mut self) -> bool {
        self.end.is_some_and(|end| self.io.now() >= end)
    }

    pub(super) fn open(&self) -> u64 {
        self.open
    }

    pub(super) fn session(&mut self, index: usize) -> &mut Session {
        &mut self.sessions[index]
    }

    /// Begins a session of `calls` calls; `together` counts the sessions that begin without a wait
    /// in between. Returns the session's index, or `None` if it failed at once, which is reported.
    pub(super) fn begin(
        &mut self,
        calls: u32,
        together: u64,
        now: Nanos,
        listener: &mut dyn SessionListener,
    ) -> Option<usize> {
        let index = self.free.pop().unwrap_or_else(|| {
            self.sessions.push(Session::new());
            self.sessions.len() - 1
        });
        let connected = self.io.connect(self.token(index), &self.address, None);
        let failure = connected.err().map(|error| SessionFailure::of(&error));
        if let Some(failure) = &failure
            && failure.is_unbegun()
        {
            self.free.push(index);
            self.notify(now, SessionStep::Fails(failure.clone()), listener);
            return None;
        }
        self.open += 1;
        let open = self.open;
        self.notify(now, SessionStep::Begins { open, together }, listener);
        self.sessions[index].begin(calls, now);
        match failure {
            None => {
                self.watch(index);
                Some(index)
            }
            Some(failure) => {
                self.sessions[index].lose();
                self.fail(index, failure, now, listener);
                None
            }
        }
    }

    pub(super) fn waits_with(&mut self) -> (&mut I, &mut Waiter) {
        (&mut self.io, &mut self.waiter)
    }

    /// The wait until the next check of a timeout, or until `due`.
    pub(super) fn next_wait(&self, due: Option<Nanos>) -> NextWait {
        let moments = [self.looks.next_at(), due, self.end];
        let first = moments.into_iter().flatten().min();
        NextWait {
            until: first.map_or(self.next_tick, |first| first.min(self.next_tick)),
            awaits: Awaits::Nothing,
        }
    }

    pub(super) fn note_open(
        &mut self,
        index: usize,
        now: Nanos,
        listener: &mut dyn SessionListener,
    ) {
        let session = &mut self.sessions[index];
        session.is_connected = true;
        session.progress = now;
        let took = now.since(session.began);
        self.notify(now, SessionStep::Opened(took), listener);
    }

    /// Sends unsent bytes, as far as there is room; `can_respond` says whether responses can come.
    ///
    /// # Errors
    /// Why the connection is broken.
    pub(super) fn send(
        &mut self,
        index: usize,
        can_respond: bool,
        listener: &mut dyn SessionListener,
    ) -> Result<(), SessionFailure> {
        let sent = self.io.now();
        let token = self.token(index);
        let session = &mut self.sessions[index];
        if session.unsent().is_empty() {
            return Ok(());
        }
        let Ok(bytes) = self.io.send(token, session.unsent()) else {
            return Err(self.failure(token));
        };
        session.sends(bytes, sent.since(self.start), can_respond, listener);
        session.progress = sent;
        self.watch(index);
        Ok(())
    }

    fn failure(&mut self, token: Token) -> SessionFailure {
        match self.io.take_fault(token) {
            None => SessionFailure::Reset,
            Some(fault) => SessionFailure::Other(format!("TLS failed: {fault}")),
        }
    }

    /// Takes the next event of a connection; `None` if there is none for now.
    pub(super) fn receive(
        &mut self,
        token: Token,
        now: Nanos,
        listener: &mut dyn SessionListener,
    ) -> Option<SessionProgress> {
        let index = token.slot as usize;
        let at = now.since(self.start);
        let session = &mut self.sessions[index];
        let progress = match self.io.receive(token) {
            Received::Bytes(bytes) => session.take(bytes, at, &mut self.memo, listener),
            Received::Nothing => return None,
            Received::Skipped(_) => SessionProgress::Continues,
            Received::Ended | Received::Failed if session.rests() => SessionProgress::IsOver,
            Received::Ended => session.end(at, listener),
            Received::Failed => SessionProgress::Failed(self.failure(token)),
        };
        if matches!(
            progress,
            SessionProgress::Continues | SessionProgress::HasResponse
        ) {
            self.sessions[index].progress = now;
            self.watch(index);
        }
        Some(progress)
    }

    /// Closes a connection that the peer has closed. The session continues until it next sends.
    pub(super) fn lose(&mut self, index: usize) {
        if !self.sessions[index].is_gone {
            let token = self.token(index);
            self.io.close(token);
            self.sessions[index].lose();
        }
    }

    pub(super) fn fail(
        &mut self,
        index: usize,
        failure: SessionFailure,
        now: Nanos,
        listener: &mut dyn SessionListener,
    ) {
        self.notify(now, SessionStep::Fails(failure), listener);
        self.leave(index, now, listener);
    }

    pub(super) fn leave(&mut self, index: usize, now: Nanos, listener: &mut dyn SessionListener) {
        self.lose(index);
        self.open -= 1;
        self.free.push(index);
        let session = &mut self.sessions[index];
        session.is_open = false;
        let (lasted, responses) = (now.since(session.began), session.responses);
        self.notify(now, SessionStep::Ends { lasted, responses }, listener);
    }

    /// The next session that has made no progress for too long.
    pub(super) fn next_late(&mut self, now: Nanos) -> Option<usize> {
        while let Some((_, (slot, generation))) = self.looks.take_due(now) {
            if !self.is_current(Token { slot, generation }) {
                continue;
            }
            let index = slot as usize;
            self.sessions[index].looked_at = Nanos::MAX;
            if self.deadline(index) <= now {
                return Some(index);
            }
            self.watch(index);
        }
        None
    }

    pub(super) fn tick(&mut self, now: Nanos, listener: &mut dyn SessionListener) {
        if now >= self.next_tick {
            self.next_tick = now.plus(self.tick);
            self.notify(now, SessionStep::Ticks, listener);
        }
    }

    pub(super) fn is_current(&self, token: Token) -> bool {
        let session = &self.sessions[token.slot as usize];
        session.is_open && session.generation == token.generation
    }

    fn deadline(&self, index: usize) -> Nanos {
        let session = &self.sessions[index];
        let Some(timeout) = self.timeout.filter(|_| !session.rests()) else {
            return Nanos::MAX;
        };
        let extra = if session.awaits_first_byte() {
            self.response_timeout
        } else {
            Nanos(0)
        };
        session.progress.plus(timeout).plus(extra)
    }

    /// Plans a check of a session's timeout, unless an earlier check is planned.
    fn watch(&mut self, index: usize) {
        let deadline = self.deadline(index);
        let token = self.token(index);
        let session = &mut self.sessions[index];
        if deadline < session.looked_at {
            session.looked_at = deadline;
            let look = (token.slot, token.generation);
            self.looks.set(deadline, look);
        }
    }

    fn notify(&self, now: Nanos, step: SessionStep<'_>, listener: &mut dyn SessionListener) {
        listener.on_step(now.since(self.start), step);
    }

    fn token(&self, index: usize) -> Token {
        Token {
            slot: u32::try_from(index).expect("connections are fewer than descriptors"),
            generation: self.sessions[index].generation,
        }
    }
}
