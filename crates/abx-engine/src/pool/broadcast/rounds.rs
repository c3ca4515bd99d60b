//! Broadcasts: one connection sends, and all of them receive.
//!
//! A [`Pool`] makes and keeps the connections, which carry no requests.
//! This module decides what the first connection sends and when, and what the others must receive.
//! Nothing is sent while a connection is missing, so that no subject gets faster by
//! losing listeners: they are connected again first, and the time runs on.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;

use abx_evidence::{Outcome, Outcomes};
use abx_sys::Nanos;

use super::audience::{Audience, Ended, Expected};
use crate::connection::clock::{Basis, Clock, Counting};
use crate::connection::flights::Flight;
use crate::connection::progress::Progress;
use crate::connection::slot::SlotState;
use crate::event_loop::{Driver, NextWait, Waiter, event_loop};
use crate::io::{Awaits, Io, Ready};
use crate::pool::dispatcher::Dispatcher;
use crate::pool::opening::CONNECTING_MAX;
use crate::pool::request_slice::REPORT_EVERY;
use crate::pool::slots::{Pool, REST_DOUBLINGS_MAX, REST_MIN};
use crate::pool::worker_slice::{SliceOutcome, WorkerSlice};
use crate::protocol::message::MessageSource;
use crate::protocol::{Lost, WebSocket};

/// The number of rounds that may fail in a row before the subject counts as one that
/// has stopped responding.
const FAILURES_MAX: usize = 3;
/// The connection that sends.
const SPEAKER: usize = 0;

/// A pool of one speaker and many listeners.
pub struct Broadcast<I: Io> {
    pool: Pool<I, WebSocket>,
    audience: Audience,
    source: MessageSource,
    dispatcher: Dispatcher,
    /// Due rounds that are not sent, since a connection is missing.
    waiting: VecDeque<Flight>,
    /// The speaker's clock; the others only listen.
    clock: Clock,
    counting: Counting,
    /// Since when there is room in the window and every connection is open.
    free_since: Nanos,
    /// The earliest moment of the next connect.
    rests_until: Nanos,
    /// Failed connects since all connections were open.
    refusals: u32,
    /// Rounds that failed since the last success.
    failures: usize,
    slices: u64,
}

struct BroadcastSlice<'b, I: Io> {
    broadcast: &'b mut Broadcast<I>,
    slice: WorkerSlice,
    requests_left: u64,
    counted_until: Nanos,
    stopped_responding: bool,
    /// Whether further rounds are begun.
    continues: bool,
    /// Whether every connection was open before the last wait.
    was_complete: bool,
}

impl<I: Io> Driver for BroadcastSlice<'_, I> {
    type Io = I;

    fn waits_with(&mut self) -> (&mut I, &mut Waiter) {
        let pool = &mut self.broadcast.pool;
        (&mut pool.io, &mut pool.waiter)
    }

    fn next_wait(&mut self, now: Nanos, is_stopped: bool) -> Option<NextWait> {
        let (load, slice) = (&mut *self.broadcast, &self.slice);
        if load.pool.slots.is_empty() {
            return None;
        }
        self.stopped_responding |= load.failures >= FAILURES_MAX;
        let is_cut = self.stopped_responding || is_stopped;
        if is_cut {
            self.counted_until = self.counted_until.min(now);
        }
        if now >= self.counted_until {
            load.count_unsent(&mut self.requests_left, self.counted_until);
        }
        let is_settled = now >= slice.end && load.counting.is_settled();
        let may_send = now < slice.sends_until() && self.requests_left > 0;
        self.continues = may_send && !is_settled && !is_cut;
        if self.continues {
            load.take_due(&mut self.requests_left, now);
        } else {
            load.clock.stops(&mut load.counting, now);
            load.counting.stop_flow(now);
        }
        if is_stopped {
            load.abandon(now);
            return None;
        }
        load.send_waiting(now);
        let is_idle = load.audience.in_flight() == 0 && load.waiting.is_empty();
        let has_more = self.continues && load.dispatcher.due().is_some();
        if is_idle && !has_more {
            return None;
        }
        self.was_complete = load.is_complete();
        Some(NextWait {
            until: load.wakes(slice, self.continues, now),
            awaits: Awaits::of(load.audience.in_flight()),
        })
    }

    fn take(&mut self, ready: &mut Vec<Ready>, now: Nanos) {
        let load = &mut *self.broadcast;
        load.pool.take(ready, now);
        load.take_received(now);
        load.miss(now);
        let Pool {
            course,
            tally,
            participants,
            ..
        } = &mut load.pool;
        course.look(now, tally, participants);
        if now >= self.slice.end.plus(REPORT_EVERY) {
            load.report_awaited();
        }
        load.time_out(now);
        if !self.was_complete && load.is_complete() {
            load.becomes_complete(now);
        }
    }
}

impl<I: Io> Broadcast<I> {
    /// Takes a pool of connections that receive the messages of `source`.
    pub fn new(pool: Pool<I, WebSocket>, source: MessageSource) -> Broadcast<I> {
        let expected = Expected {
            kind: source.kind(),
            bytes: source.bytes(),
        };
        Broadcast {
            audience: Audience::new(pool.slots.len(), expected),
            pool,
            source,
            dispatcher: Dispatcher::none(),
            waiting: VecDeque::new(),
            clock: Clock::new(&Counting::NOTHING),
            counting: Counting::NOTHING,
            free_since: Nanos(0),
            rests_until: Nanos(0),
            refusals: 0,
            failures: 0,
            slices: 0,
        }
    }

    /// The connections, and the results of the last slice.
    pub fn pool(&self) -> &Pool<I, WebSocket> {
        &self.pool
    }

    pub fn pool_mut(&mut self) -> &mut Pool<I, WebSocket> {
        &mut self.pool
    }

    /// Broadcasts for one slice, and waits for rounds in flight.
    pub fn run(&mut self, slice: WorkerSlice, stop: &AtomicBool) -> SliceOutcome {
        self.begin(&slice);
        let mut rounds = BroadcastSlice {
            requests_left: slice.requests_max,
            counted_until: slice.end,
            stopped_responding: false,
            continues: true,
            was_complete: true,
            slice,
            broadcast: self,
        };
        let now = event_loop(&mut rounds, stop);
        let BroadcastSlice {
            counted_until,
            stopped_responding,
            ..
        } = rounds;
        self.pool.tally.paused_ns = self.pool.waiter.late_ns();
        self.close_books(counted_until, now);
        let Pool {
            course,
            tally,
            participants,
            ..
        } = &mut self.pool;
        course.finish(now, tally, participants);
        let end = self.clock.last().max(slice.start);
        SliceOutcome {
            end,
            counted_until: match self.counting.basis {
                Basis::Requests => counted_until.min(end),
                Basis::Completions | Basis::Flow | Basis::Window => counted_until,
            },
            stopped_responding,
        }
    }

    /// Whether every connection is open.
    fn is_complete(&self) -> bool {
        self.pool.standing() == self.pool.slots.len()
    }

    fn begin(&mut self, slice: &WorkerSlice) {
        // Messages and losses since the last slice.
        self.take_received(slice.start);
        for lost in std::mem::take(&mut self.pool.protocol.gone) {
            self.audience.joins(lost.index);
        }
        self.pool.begin_tally(slice.start);
        self.pool.course.begin(slice, &mut self.pool.tally);
        self.pool.progress = Progress::idle();
        self.slices += 1;
        let seed = self.pool.plan.seed.wrapping_add(self.slices);
        let speakers = self.pool.slots.len().min(1);
        self.dispatcher
            .begin(slice, &self.pool.plan.pacing, seed, speakers);
        let basis = slice.basis(&self.pool.plan);
        let counted = [slice.counted_from, slice.end];
        // The window is filled up one by one, so rounds do not come in bursts.
        self.counting = Counting::new(basis, counted, speakers, 1);
        self.clock = Clock::new(&self.counting);
        self.free_since = slice.start;
        self.rests_until = slice.start;
        self.failures = 0;
    }

    /// Takes the rounds that are due, as far as the window has room for them.
    fn take_due(&mut self, requests_left: &mut u64, now: Nanos) {
        while *requests_left > 0 && self.has_room() {
            let intended = if self.dispatcher.is_open() {
                match self.dispatcher.due().filter(|due| *due <= now) {
                    Some(due) => due,
                    None => return,
                }
            } else {
                now
            };
            self.dispatcher.pass();
            *requests_left -= 1;
            let counted = self.counting.counts(intended);
            self.counting.in_flight += usize::from(counted);
            self.pool.tally.queued += u64::from(counted && self.free_since > intended);
            self.waiting.push_back(Flight {
                intended,
                possible: intended.max(self.free_since),
                begun: now,
                sent: None,
                counted,
                request: 0,
                stream: 0,
                sampled: false,
                hashed: false,
                retried: false,
            });
        }
    }

    /// Sends the waiting rounds if every listener is connected; otherwise connects the missing
    /// ones.
    fn send_waiting(&mut self, now: Nanos) {
        if self.waiting.is_empty() {
            return;
        }
        if !self.is_complete() {
            return self.connect_missing(now);
        }
        while let Some(mut flight) = self.waiting.pop_front() {
            flight.sent = Some(self.pool.now());
            let number = self.audience.next_number();
            let speaker = &mut self.pool.slots[SPEAKER].client;
            speaker.send_unprompted(|outbox| self.source.write(number, outbox));
            self.audience.sent(flight);
        }
        if self.pool.flush_outbox(SPEAKER).is_err() {
            self.pool.broken(SPEAKER, Outcome::Reset, now);
            self.miss(now);
        }
    }

    /// Connects the missing listeners, in bursts that a listen queue can hold.
    fn connect_missing(&mut self, now: Nanos) {
        if now < self.rests_until {
            return;
        }
        let mut room = CONNECTING_MAX.saturating_sub(self.pool.connection_counts.connecting);
        for index in 0..self.pool.slots.len() {
            if room > 0 && self.pool.slots[index].state == SlotState::Closed {
                self.pool.tally.connects += 1;
                self.pool.connect(index, now);
                room -= 1;
            }
        }
    }

    /// The next moment with work if no event comes.
    fn wakes(&self, slice: &WorkerSlice, continues: bool, now: Nanos) -> Nanos {
        let times_out = self.oldest().map(|begun| begun.plus(self.timeout()));
        let due = self
            .dispatcher
            .due()
            .filter(|_| continues && self.has_room());
        let rests = (self.rests_until > now).then_some(self.rests_until);
        let edge = (continues && slice.end > now).then_some(slice.end);
        let moments = [times_out, due, rests, edge];
        moments.into_iter().flatten().min().unwrap_or(Nanos::MAX)
    }

    fn timeout(&self) -> Nanos {
        Nanos(self.pool.plan.timeout_ns())
    }

    /// When the oldest round was begun, sent or waiting.
    fn oldest(&self) -> Option<Nanos> {
        let waiting = self.waiting.front().map(|flight| flight.begun);
        self.audience.oldest().into_iter().chain(waiting).min()
    }

    fn has_room(&self) -> bool {
        self.audience.in_flight() + self.waiting.len() < self.pool.window
    }

    /// All connections are open again, so waiting rounds may go out.
    fn becomes_complete(&mut self, now: Nanos) {
        self.refusals = 0;
        self.free_since = now;
        for flight in &mut self.waiting {
            flight.possible = now;
        }
    }

    /// Reports how many listeners the end of the slice waits for, and since when: those
    /// without the oldest message, or without a connection.
    fn report_awaited(&mut self) {
        let (since, timeout) = (self.oldest(), self.timeout());
        let unconnected = (self.pool.slots.len() - self.pool.standing()) as u64;
        let missing = self.audience.missing().max(unconnected);
        let participants = &mut self.pool.participants;
        participants.reports_awaited(missing, since.unwrap_or(Nanos::MAX), timeout);
    }

    fn take_received(&mut self, now: Nanos) {
        let mut received = std::mem::take(&mut self.pool.protocol.received);
        for message in received.drain(..) {
            let tally = &mut self.pool.tally;
            if let Some(ended) = self.audience.receives(&message, now, tally) {
                self.ended(&ended, now);
            }
        }
        self.pool.protocol.received = received;
    }

    /// Ends the rounds that a listener misses if its connection is gone. Waiting rounds fail
    /// with a connection that could not be made, as any request does.
    fn miss(&mut self, now: Nanos) {
        let gone = std::mem::take(&mut self.pool.protocol.gone);
        for lost in &gone {
            let Lost { index, outcome, .. } = *lost;
            while let Some(ended) = self.audience.misses(index, outcome, &mut self.pool.tally) {
                self.ended(&ended, now);
            }
        }
        if let Some(lost) = gone.iter().find(|lost| !lost.was_open) {
            let rest = Nanos(REST_MIN.0 << self.refusals.min(REST_DOUBLINGS_MAX));
            self.refusals += 1;
            self.rests_until = now.plus(rest);
            self.end_waiting(lost.outcome, now);
        }
    }

    fn time_out(&mut self, now: Nanos) {
        let Some(begun_until) = now.0.checked_sub(self.timeout().0).map(Nanos) else {
            return;
        };
        while let Some(ended) = self.audience.older(begun_until, &mut self.pool.tally) {
            self.ended(&ended, now);
        }
        if self
            .waiting
            .front()
            .is_some_and(|flight| flight.begun <= begun_until)
        {
            self.end_waiting(Outcome::Timeout, now);
        }
    }

    fn abandon(&mut self, now: Nanos) {
        while let Some(ended) = self.audience.abandon(&mut self.pool.tally) {
            self.ended(&ended, now);
        }
        self.end_waiting(Outcome::Unfinished, now);
    }

    fn end_waiting(&mut self, outcome: Outcome, now: Nanos) {
        while let Some(flight) = self.waiting.pop_front() {
            self.ended(&Ended { flight, outcome }, now);
        }
    }

    fn ended(&mut self, ended: &Ended, now: Nanos) {
        let was_full = self.audience.in_flight() + self.waiting.len() + 1 >= self.pool.window;
        if was_full {
            self.free_since = now;
        }
        self.failures = if ended.outcome.is_completed() {
            0
        } else {
            self.failures + 1
        };
        let Ended { flight, outcome } = ended;
        flight.record(&mut self.pool.tally, *outcome, now);
        self.counting.in_flight -= usize::from(flight.counted);
        let clock = &mut self.clock;
        let is_timed = clock.ends(&mut self.counting, flight.intended, *outcome, now);
        self.pool.tally.clocked += u64::from(is_timed);
    }

    /// Counts requests that were due before `end` and never sent.
    fn count_unsent(&mut self, requests_left: &mut u64, end: Nanos) {
        while *requests_left > 0
            && let Some(due) = self.dispatcher.due().filter(|due| *due < end)
        {
            self.dispatcher.pass();
            *requests_left -= 1;
            if self.counting.counts(due) {
                self.pool.tally.record_unsent(due.0, end.0);
            }
        }
    }

    /// Counts the speaker's time; the others only listen.
    fn close_books(&mut self, counted_until: Nanos, now: Nanos) {
        self.clock.stops(&mut self.counting, now);
        self.counting.stop_flow(now);
        let basis = self.counting.basis;
        let span = self.clock.span(basis);
        let time = self.clock.time(basis, self.counting.span(counted_until));
        let time = time.filter(|_| !self.pool.slots.is_empty());
        let tally = &mut self.pool.tally;
        tally.clocks = u64::from(time.is_some());
        tally.connection_ns = time.unwrap_or_default().0;
        tally.silent = self.pool.slots.len() as u64 - u64::from(span.is_some());
        // The failures were counted as outcomes of rounds.
        self.pool.connect_failures = Outcomes::default();
    }
}
