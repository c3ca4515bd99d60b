//! Takes users through their sessions, on one thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use abx_evidence::{Outcome, StepTimes};
use abx_sys::Nanos;
use abx_wire::http1::{Done, Fault};

use super::count::{LoadNeed, RanSlice, SessionCount};
use super::plan::ScenarioPlan;
use super::tally::{ScenarioTally, StepFailure};
use super::user::{Activity, ConnectionEvent, ConnectionState, ScenarioUser, StepFault};
use crate::connection::slot::RESTED_MIN;
use crate::event_loop::{Driver, NextWait, Timers, Waiter, event_loop};
use crate::io::{Awaits, Io, Ready, Received, Token, is_cut_off, remedy};
use crate::plan::SliceEnd;
use crate::pool::connect_outcome;
use crate::stopper::Stopper;

/// After a session that failed without a response, its user waits this long. Otherwise a server
/// that is down would get requests as fast as refusals come.
const REST: Nanos = Nanos(100_000_000);

pub struct ScenarioRunner<'a, I: Io> {
    io: I,
    plan: &'a ScenarioPlan,
    /// The number of the next session, over all threads.
    next_session: &'a AtomicU64,
    /// How many more sessions may begin on this thread.
    sessions_left: u64,
    users: Vec<ScenarioUser>,
    tally: ScenarioTally,
    waiter: Waiter,
    /// Steps of sessions that do not count.
    uncounted: ScenarioTally,
    /// Counts of a slice; `None` if all sessions count.
    slice: Option<SessionCount>,
    active: usize,
    /// The active users that wait for a response.
    requesting: usize,
    /// Planned checks of users, the earliest first.
    looks: Timers<u32>,
    start: Nanos,
    /// When no further session begins.
    end: Nanos,
    is_over: bool,
}

impl<'a, I: Io> ScenarioRunner<'a, I> {
    /// A runner of all users of a plan. Sessions take their numbers from `next_session`.
    pub fn new(
        io: I,
        plan: &'a ScenarioPlan,
        next_session: &'a AtomicU64,
    ) -> ScenarioRunner<'a, I> {
        let users = (0..u64::from(plan.users)).map(|number| ScenarioUser::new(number, plan));
        ScenarioRunner::over(io, plan, users.collect(), next_session)
    }

    /// A runner of the given users.
    pub(super) fn over(
        mut io: I,
        plan: &'a ScenarioPlan,
        mut users: Vec<ScenarioUser>,
        next_session: &'a AtomicU64,
    ) -> ScenarioRunner<'a, I> {
        // Checks that an earlier runner had planned are void.
        users.iter_mut().for_each(ScenarioUser::forget_looks);
        let start = io.now();
        let (end, sessions_left) = match plan.end {
            SliceEnd::AfterNs(span) => (start.plus(Nanos(span)), u64::MAX),
            SliceEnd::AfterRequests(count) => (Nanos::MAX, count),
        };
        ScenarioRunner {
            io,
            plan,
            next_session,
            sessions_left,
            active: users.len(),
            requesting: 0,
            users,
            tally: ScenarioTally::of(plan.steps.len()),
            waiter: Waiter::from(start),
            uncounted: ScenarioTally::of(plan.steps.len()),
            slice: None,
            looks: Timers::new(),
            start,
            end,
            is_over: false,
        }
    }

    /// Runs the load. Returns the counts and how long it took.
    pub fn run(mut self, stopper: &Stopper) -> (ScenarioTally, Nanos) {
        let now = self.load(stopper.as_flag());
        (self.tally, now.since(self.start))
    }

    /// Counts as the slice requires, for at most this many sessions.
    pub(super) fn counts(&mut self, slice: SessionCount, sessions_max: u64) {
        (self.slice, self.sessions_left) = (Some(slice), sessions_max);
    }

    /// Runs until the slice needs no load any more.
    pub(super) fn run_slice(mut self, stop: &AtomicBool) -> RanSlice<I> {
        self.load(stop);
        RanSlice {
            io: self.io,
            users: self.users,
            count: self.slice.expect("a slice counts"),
            tally: self.tally,
            late_ns: self.waiter.late_ns(),
        }
    }

    /// Runs the sessions of all users. Returns when the last user finished.
    fn load(&mut self, stop: &AtomicBool) -> Nanos {
        for index in 0..self.users.len() {
            self.begin(index, self.start);
        }
        let now = event_loop(self, stop);
        if let Some(slice) = &mut self.slice {
            slice.stops(now);
        }
        for index in 0..self.users.len() {
            self.cut_off(index, now);
        }
        now
    }

    fn look_at_slice(&mut self, now: Nanos) {
        let Some(slice) = self.slice.as_mut().filter(|_| !self.is_over) else {
            return;
        };
        if slice.look(now) == LoadNeed::Over {
            self.end = now;
            self.end_pauses(now);
        }
    }

    /// The next moment with work if no event comes.
    fn wakes(&self) -> Nanos {
        let end = Some(self.end).filter(|_| !self.is_over);
        let due = self.slice.as_ref().map(SessionCount::next_look);
        let first = self.looks.next_at().into_iter().chain(end).chain(due).min();
        first.unwrap_or(Nanos::MAX)
    }

    /// Ends the load: pausing users do not continue, and responses under way are awaited.
    fn end_pauses(&mut self, now: Nanos) {
        self.is_over = true;
        for index in 0..self.users.len() {
            match self.users[index].activity {
                Activity::Thinks => {
                    self.cut(index, now);
                    self.leave(index);
                }
                Activity::Rests => self.leave(index),
                Activity::Requests | Activity::IsDone => {}
            }
        }
    }

    /// Begins a user's next session, if there is one.
    fn begin(&mut self, index: usize, now: Nanos) {
        if now >= self.end || self.sessions_left == 0 {
            return self.leave(index);
        }
        self.sessions_left -= 1;
        let number = self.next_session.fetch_add(1, Ordering::Relaxed);
        self.users[index].begin(number, now, self.plan);
        let is_counted = self.slice.as_mut().is_none_or(|slice| slice.begins(now));
        self.users[index].is_counted = is_counted;
        self.tally.sessions.begun += 1;
        self.go_to(index, 0, now);
    }

    fn leave(&mut self, index: usize) {
        self.close(index);
        let user = &mut self.users[index];
        (user.activity, user.wakes) = (Activity::IsDone, Nanos::MAX);
        self.active -= 1;
    }

    fn go_to(&mut self, index: usize, step: usize, now: Nanos) {
        let user = &mut self.users[index];
        user.step = step;
        user.pause = Nanos(0);
        let Some(think) = self.plan.steps[step].think else {
            return self.begin_step(index, now);
        };
        let pause = think.draw(&mut user.random);
        user.pause = pause;
        user.think = user.think.plus(pause);
        user.activity = Activity::Thinks;
        self.wake_at(index, now.plus(pause));
    }

    /// Begins a step that was due at `due`.
    fn begin_step(&mut self, index: usize, due: Nanos) {
        let user = &mut self.users[index];
        user.activity = Activity::Requests;
        self.requesting += 1;
        step_of(&mut self.tally, &mut self.uncounted, user).begun += 1;
        let prepared = user.prepare(self.plan, due);
        let is_open = user.connection == ConnectionState::Standing;
        if let Err(why) = prepared {
            let failure = StepFailure::UnsendableValue;
            return self.fail(index, StepFault { failure, why }, due);
        }
        self.wake_at(index, due.plus(self.plan.timeout));
        if is_open {
            self.send(index)
        } else {
            self.connect(index, due)
        }
    }

    fn connect(&mut self, index: usize, now: Nanos) {
        self.users[index].connects();
        let token = self.token(index);
        let sources = &self.plan.sources;
        let number = self.tally.connections as usize;
        let source = (!sources.is_empty()).then(|| sources[number % sources.len()]);
        match self.io.connect(token, &self.plan.address, source) {
            Ok(()) => self.tally.connections += 1,
            Err(error) => {
                self.users[index].connection = ConnectionState::Closed;
                let outcome = connect_outcome(&error);
                let fault = StepFault::from_outcome(outcome, error.to_string());
                self.fail(index, fault, now);
            }
        }
    }

    fn handle(&mut self, ready: &Ready, now: Nanos) {
        match ready {
            Ready::Connected(token) if self.is_current(*token) => {
                let index = token.slot as usize;
                self.users[index].connection = ConnectionState::Standing;
                self.send(index);
            }
            Ready::Unconnected(token, error) if self.is_current(*token) => {
                let index = token.slot as usize;
                // There is nothing to close.
                self.users[index].connection = ConnectionState::Closed;
                let outcome = connect_outcome(error);
                let help = match outcome {
                    Outcome::TlsFailed => remedy(error),
                    _ => "",
                };
                let fault = StepFault::from_outcome(outcome, format!("{error}{help}"));
                self.fail(index, fault, now);
            }
            Ready::MaySend(token) if self.is_current(*token) => self.send(token.slot as usize),
            Ready::Receivable(token) if self.is_current(*token) => self.receive(*token, now),
            _ => {}
        }
    }

    /// Sends the unsent part of a request, as far as there is room.
    fn send(&mut self, index: usize) {
        let now = self.io.now();
        let token = self.token(index);
        let user = &mut self.users[index];
        if user.activity != Activity::Requests || user.unsent().is_empty() {
            return;
        }
        match self.io.send(token, user.unsent()) {
            Ok(0) => {}
            Ok(bytes) => {
                let is_first = user.sends(bytes, self.plan.steps[user.step].kind());
                let tally = step_of(&mut self.tally, &mut self.uncounted, user);
                tally.sent += u64::from(is_first);
            }
            // The server may have responded before it closed, which an event shows.
            Err(error) if is_cut_off(&error) => {}
            Err(error) => {
                let fault = match self.io.take_fault(token) {
                    None => StepFault::from_outcome(Outcome::Reset, error.to_string()),
                    Some(fault) => StepFault::from_outcome(Outcome::TlsFailed, fault.to_string()),
                };
                self.lost(index, fault, now);
            }
        }
    }

    fn receive(&mut self, token: Token, now: Nanos) {
        let index = token.slot as usize;
        while self.is_current(token) {
            let mut has_ended = false;
            let user = &mut self.users[index];
            let event = match self.io.receive(token) {
                Received::Bytes(bytes) => user.take(bytes, self.plan),
                Received::Nothing => return,
                Received::Skipped(_) => ConnectionEvent::More,
                Received::Ended => {
                    has_ended = true;
                    user.end()
                }
                Received::Failed => ConnectionEvent::Failed(match self.io.take_fault(token) {
                    None => StepFault::from_outcome(Outcome::Reset, "reset by the server"),
                    Some(fault) => StepFault::from_outcome(Outcome::TlsFailed, fault.to_string()),
                }),
            };
            let is_requesting = user.activity == Activity::Requests;
            let is_cut_short = !user.unsent().is_empty();
            match event {
                ConnectionEvent::More => {}
                ConnectionEvent::Responded(done) => self.responded(index, done, now),
                // An event while nothing is awaited ends the connection, and no step.
                _ if !is_requesting => self.close(index),
                ConnectionEvent::Broken(Fault::ClosedIdle) if has_ended => {
                    let fault = if is_cut_short {
                        StepFault::from_outcome(Outcome::Reset, "reset by the server")
                    } else if self.io.is_acknowledged(token) {
                        StepFault::from_outcome(Outcome::EmptyResponse, NO_BYTE)
                    } else {
                        StepFault::from_outcome(Outcome::EarlyClose, NO_BYTE)
                    };
                    self.lost(index, fault, now);
                }
                ConnectionEvent::Broken(fault) => self.lost(index, StepFault::of(fault), now),
                ConnectionEvent::Failed(fault) => self.lost(index, fault, now),
                ConnectionEvent::ClosedIdle => {
                    let fault = StepFault::from_outcome(Outcome::EarlyClose, NO_BYTE);
                    self.lost(index, fault, now);
                }
            }
        }
    }

    /// Handles the loss of a connection with a request on it. Servers may close idle connections
    /// at any time, even while a request is on its way. If the connection had served before and no
    /// byte of a response has come, an idempotent request goes out once more
    /// (RFC 9110, section 9.2.2).
    fn lost(&mut self, index: usize, fault: StepFault, now: Nanos) {
        let user = &mut self.users[index];
        let step = &self.plan.steps[user.step];
        let is_harmless = !user.is_sent || is_idempotent(&step.method);
        let is_idle_close = match fault.failure {
            StepFailure::Request(Outcome::Reset | Outcome::EarlyClose) => true,
            // The peer has taken the request, and failed it, unless it was about to close the idle
            // connection.
            StepFailure::Request(Outcome::EmptyResponse) => user.pause >= RESTED_MIN,
            _ => false,
        };
        let may_resend = user.has_served && is_idle_close && is_harmless && !user.has_begun();
        if !may_resend || user.is_second_try {
            return self.fail(index, fault, now);
        }
        let tally = step_of(&mut self.tally, &mut self.uncounted, user);
        tally.resent += u64::from(user.is_sent);
        user.is_second_try = true;
        user.rewind();
        self.close(index);
        self.connect(index, now);
    }

    fn responded(&mut self, index: usize, done: Done, now: Nanos) {
        let user = &mut self.users[index];
        user.has_served = true;
        let tally = step_of(&mut self.tally, &mut self.uncounted, user);
        tally.response.record_ns(now.since(user.due).0);
        self.tally.body_bytes += if user.is_counted { done.body_bytes } else { 0 };
        let checked = user.check(done.status, self.plan);
        if let Some(slice) = &mut self.slice {
            slice.has_response();
        }
        // A server may respond before it has all of a request, and then reads no further request.
        if !done.reusable || !user.unsent().is_empty() {
            self.close(index);
        }
        if let Err(fault) = checked {
            return self.fail(index, fault, now);
        }
        self.requesting -= 1;
        let user = &self.users[index];
        step_of(&mut self.tally, &mut self.uncounted, user).ok += 1;
        let next = user.step + 1;
        if next < self.plan.steps.len() {
            if now < self.end {
                return self.go_to(index, next, now);
            }
            self.cut(index, now);
            return self.leave(index);
        }
        if let Some(slice) = &mut self.slice {
            slice.ends(index, user, Outcome::Ok, now);
        }
        self.tally.sessions.completed += 1;
        self.close(index);
        self.begin(index, now);
    }

    /// Fails a step in progress, and its session with it.
    fn fail(&mut self, index: usize, fault: StepFault, now: Nanos) {
        self.close(index);
        self.requesting -= 1;
        let user = &mut self.users[index];
        let session = user.session;
        let tally = if user.is_counted {
            &mut self.tally
        } else {
            &mut self.uncounted
        };
        let sentence = || format!("session {session}: {}", fault.why);
        tally.fail(user.step, fault.failure, sentence);
        self.tally.sessions.failed += 1;
        if let Some(slice) = &mut self.slice {
            slice.ends(index, user, fault.failure.outcome(), now);
        }
        let has_response = match fault.failure {
            StepFailure::Request(outcome) => outcome.is_completed(),
            StepFailure::MissingValue | StepFailure::BodyTooLarge => true,
            StepFailure::UnsendableValue => false,
        };
        if has_response || now >= self.end {
            return self.begin(index, now);
        }
        user.activity = Activity::Rests;
        self.wake_at(index, now.plus(REST));
    }

    fn cut(&mut self, index: usize, now: Nanos) {
        self.tally.sessions.cut_off += 1;
        if let Some(slice) = &mut self.slice {
            slice.ends(index, &self.users[index], Outcome::Unfinished, now);
        }
    }

    /// Counts a user's session or request that the end of the load cuts off.
    fn cut_off(&mut self, index: usize, now: Nanos) {
        let user = &self.users[index];
        match user.activity {
            Activity::Requests => {
                let tally = step_of(&mut self.tally, &mut self.uncounted, user);
                tally.cut_off += 1;
                let waited = now.since(user.due).0;
                tally.response.record_ns(waited);
                tally.response_at_least.record_ns(waited);
                self.cut(index, now);
            }
            Activity::Thinks => self.cut(index, now),
            Activity::Rests | Activity::IsDone => {}
        }
        self.close(index);
    }

    /// Checks the users that may have to act.
    fn look(&mut self, now: Nanos) {
        while let Some((at, slot)) = self.looks.take_due(now) {
            let index = slot as usize;
            let user = &mut self.users[index];
            if user.looked_at != at {
                // An earlier check was planned meanwhile, and took place.
                continue;
            }
            user.looked_at = Nanos::MAX;
            let wakes = user.wakes;
            match user.activity {
                _ if wakes > now => self.watch(index),
                Activity::Thinks => self.begin_step(index, wakes),
                Activity::Rests => self.begin(index, now),
                Activity::Requests => self.time_out(index, now),
                Activity::IsDone => {}
            }
        }
    }

    fn time_out(&mut self, index: usize, now: Nanos) {
        let user = &self.users[index];
        let tally = step_of(&mut self.tally, &mut self.uncounted, user);
        let waited = now.since(user.due).0;
        tally.response.record_ns(waited);
        tally.response_at_least.record_ns(waited);
        let timeout_s = self.plan.timeout.as_secs_f64();
        let why = format!("no complete response within {timeout_s} s");
        self.fail(index, StepFault::from_outcome(Outcome::Timeout, why), now);
    }

    fn wake_at(&mut self, index: usize, at: Nanos) {
        self.users[index].wakes = at;
        self.watch(index);
    }

    /// Plans a check when a user has to act, unless an earlier check is planned.
    fn watch(&mut self, index: usize) {
        let user = &mut self.users[index];
        if user.wakes < user.looked_at {
            user.looked_at = user.wakes;
            let slot = self.token(index).slot;
            self.looks.set(self.users[index].wakes, slot);
        }
    }

    fn close(&mut self, index: usize) {
        if self.users[index].connection != ConnectionState::Closed {
            let token = self.token(index);
            self.io.close(token);
            self.users[index].connection = ConnectionState::Closed;
        }
    }

    fn token(&self, index: usize) -> Token {
        Token {
            slot: u32::try_from(index).expect("users are counted in 32 bits"),
            generation: self.users[index].generation,
        }
    }

    fn is_current(&self, token: Token) -> bool {
        let user = &self.users[token.slot as usize];
        user.connection != ConnectionState::Closed && user.generation == token.generation
    }
}

impl<I: Io> Driver for ScenarioRunner<'_, I> {
    type Io = I;

    fn waits_with(&mut self) -> (&mut I, &mut Waiter) {
        (&mut self.io, &mut self.waiter)
    }

    fn next_wait(&mut self, _: Nanos, is_stopped: bool) -> Option<NextWait> {
        (self.active > 0 && !is_stopped).then(|| NextWait {
            until: self.wakes(),
            awaits: Awaits::of(self.requesting),
        })
    }

    fn take(&mut self, ready: &mut Vec<Ready>, now: Nanos) {
        if now >= self.end && !self.is_over {
            self.end_pauses(now);
        }
        for event in ready {
            self.handle(event, now);
        }
        self.look(now);
        self.look_at_slice(now);
    }
}

/// The tally that counts the current step of a user's session.
fn step_of<'t>(
    counted: &'t mut ScenarioTally,
    uncounted: &'t mut ScenarioTally,
    user: &ScenarioUser,
) -> &'t mut StepTimes {
    let tally = if user.is_counted { counted } else { uncounted };
    &mut tally.steps[user.step]
}

const NO_BYTE: &str = "the connection was closed before the first byte of the response";

/// Whether sending it twice has the effect of sending it once (RFC 9110, section 9.2.2).
fn is_idempotent(method: &str) -> bool {
    ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(&method)
}
