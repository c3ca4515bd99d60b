//! The opening of a pool's connections before a slice.
//!
//! Each connect has the whole timeout, and the opening lasts for as long as connects continue to
//! succeed. If none has succeeded for one timeout, or this machine has no resources left to
//! connect with, no further connect is begun. Connections that were never tried are
//! [`Outcome::Unopened`], which counts against no subject.
//!
//! Connections that have rested are replaced if requests must not be sent twice.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;

use abx_evidence::{Outcome, Outcomes};
use abx_sys::Nanos;

use super::slots::Pool;
use crate::connection::slot::SlotState;
use crate::event_loop::{Driver, NextWait, Waiter, event_loop};
use crate::io::{Awaits, Io, Ready, Token};
use crate::protocol::Protocol;
use crate::schedule::{Arrivals, Pacer, Schedule};

/// The most connections in the making at one time, unless a rate is set. More of them would
/// overflow the listen queue of a subject, which would not be the subject's fault.
pub(super) const CONNECTING_MAX: usize = 128;
/// The most time spent on events since the last slice.
const BACKLOG_MAX: Nanos = Nanos(50_000_000);

struct OpeningProgress {
    /// Slots that were not tried yet, the next slot last.
    untried: Vec<usize>,
    /// Connects in the order of their beginnings, and so of their deadlines. Those that have ended
    /// are skipped.
    begun: VecDeque<(Nanos, Token)>,
    start: Nanos,
    /// When all waiting ends.
    end: Nanos,
    timeout: Nanos,
    /// When connects begin; `None` to begin them as soon as few enough are under way.
    pacer: Option<Pacer>,
    /// Since when no attempt has succeeded.
    silent_since: Option<Nanos>,
    /// Connects that timed out, less one for each success. They count as if under way, so a
    /// subject slower than its timeout gets fewer connects at a time, and a subject that has
    /// stopped accepting gets no further ones.
    timed_out: usize,
    /// The pool's successful connects at the last success.
    made: u64,
    /// Connects that had failed by the last success because this machine lacked a resource.
    lacked: u64,
    /// After this many more such failures in a row the resource is exhausted. Each source address
    /// has separate ports.
    lacks_max: u64,
}

impl OpeningProgress {
    /// Whether a connect may be begun, now or later.
    fn continues(&self, failures: &Outcomes, now: Nanos) -> bool {
        let is_silent = self
            .silent_since
            .is_some_and(|since| since.plus(self.timeout) <= now);
        let has_more = lacks(failures) - self.lacked < self.lacks_max;
        !self.untried.is_empty() && has_more && !is_silent
    }

    /// When the next connect is due by the rate.
    fn due(&self) -> Option<Nanos> {
        Some(self.start.plus(self.pacer.as_ref()?.peek()?))
    }

    /// Whether the next connect begins now, with this many under way.
    fn begins(&mut self, connecting: usize, now: Nanos) -> bool {
        match self.due() {
            None => connecting + self.timed_out < CONNECTING_MAX,
            Some(due) if due <= now => self.pacer.as_mut().and_then(Pacer::next).is_some(),
            Some(_) => false,
        }
    }

    /// The next moment with work if no event comes.
    fn wakes(&self, continues: bool) -> Nanos {
        let deadline = self
            .begun
            .front()
            .map(|(begun, _)| begun.plus(self.timeout));
        let silence = self.silent_since.map(|since| since.plus(self.timeout));
        let beginning = silence.into_iter().chain(self.due());
        let beginning = beginning.filter(|_| continues);
        let first = deadline.into_iter().chain(beginning).min();
        first.unwrap_or(Nanos::MAX).min(self.end)
    }
}

struct Opening<'p, I: Io, C: Protocol> {
    pool: &'p mut Pool<I, C>,
    progress: OpeningProgress,
}

impl<I: Io, C: Protocol> Driver for Opening<'_, I, C> {
    type Io = I;

    fn waits_with(&mut self) -> (&mut I, &mut Waiter) {
        (&mut self.pool.io, &mut self.pool.waiter)
    }

    fn next_wait(&mut self, now: Nanos, is_stopped: bool) -> Option<NextWait> {
        let (pool, opening) = (&mut *self.pool, &mut self.progress);
        if is_stopped || now >= opening.end {
            return None;
        }
        pool.begin_connects(opening, now);
        let continues = opening.continues(&pool.connect_failures, now);
        if !continues && pool.connection_counts.connecting == 0 {
            return None;
        }
        let until = if continues && opening.pacer.is_none() && pool.has_place(opening) {
            // Connects that failed at once have freed their places.
            now
        } else {
            opening.wakes(continues)
        };
        let awaits = Awaits::Nothing;
        Some(NextWait { until, awaits })
    }

    fn take(&mut self, ready: &mut Vec<Ready>, now: Nanos) {
        let (pool, opening) = (&mut *self.pool, &mut self.progress);
        pool.take(ready, now);
        pool.note_made(opening, now);
        let standing = pool.connection_counts.standing;
        pool.opening_part.reports(standing, opening.timeout);
        pool.time_out_connects(opening, now);
    }
}

/// Handles the events since the last slice.
struct Backlog<'p, I: Io, C: Protocol> {
    pool: &'p mut Pool<I, C>,
    until: Nanos,
    /// Whether the last wait returned no events.
    is_empty: bool,
}

impl<I: Io, C: Protocol> Driver for Backlog<'_, I, C> {
    type Io = I;

    fn waits_with(&mut self) -> (&mut I, &mut Waiter) {
        (&mut self.pool.io, &mut self.pool.waiter)
    }

    fn next_wait(&mut self, now: Nanos, is_stopped: bool) -> Option<NextWait> {
        (!self.is_empty && now < self.until && !is_stopped).then_some(NextWait {
            until: Nanos(0),
            awaits: Awaits::Nothing,
        })
    }

    fn take(&mut self, ready: &mut Vec<Ready>, now: Nanos) {
        self.is_empty = ready.is_empty();
        self.pool.take(ready, now);
    }
}

impl<I: Io, C: Protocol> Pool<I, C> {
    /// Connects every slot that has no connection, as far as that is possible, and waits
    /// until each attempt has ended. Returns how many connections are open, and how many of
    /// them are new.
    pub fn connect_all(&mut self, stop: &AtomicBool) -> (usize, usize) {
        self.take_backlog(stop);
        if !self.plan.keep_alive {
            // Each request makes a new connection.
            return (self.slots.len(), 0);
        }
        let open_before = self.connection_counts.standing;
        self.close_rested();
        self.close_begun();
        let progress = self.opening();
        let mut opening = Opening {
            progress,
            pool: self,
        };
        event_loop(&mut opening, stop);
        let opening = opening.progress;
        self.end_opening(&opening);
        let standing = self.connection_counts.standing;
        (standing, standing.saturating_sub(open_before))
    }

    /// Handles events since the last slice, for a limited time, since a peer may send without end.
    /// One wait returns a limited number of events, and more connections may have closed.
    fn take_backlog(&mut self, stop: &AtomicBool) {
        let until = self.io.now().plus(BACKLOG_MAX);
        let mut backlog = Backlog {
            pool: self,
            until,
            is_empty: false,
        };
        event_loop(&mut backlog, stop);
    }

    /// Closes connections that were idle for so long that their servers may be about to close
    /// them, if a request must not be sent twice. A request that meets such a close would fail,
    /// although the generator let the connection idle.
    fn close_rested(&mut self) {
        if self.encoded.iter().all(|encoded| encoded.is_idempotent) {
            return;
        }
        let now = self.io.now();
        for index in 0..self.slots.len() {
            if self.slots[index].may_be_ended(now, self.suspended_since) {
                self.close(index);
            }
        }
    }

    /// Closes connections that a broadcast began between its rounds, and whose handshakes have not
    /// ended: nothing else limits how long they take.
    fn close_begun(&mut self) {
        for index in 0..self.slots.len() {
            let slot = &self.slots[index];
            if slot.state == SlotState::Connecting && slot.flights.is_empty() {
                self.close(index);
            }
        }
    }

    fn opening(&mut self) -> OpeningProgress {
        let slots = self.slots.iter().enumerate();
        let untried = slots.filter(|(_, slot)| !slot.has_connection());
        let mut untried: Vec<usize> = untried.map(|(index, _)| index).collect();
        untried.reverse();
        let rate = self
            .plan
            .opening_pace()
            .map(|per_s| Arrivals::Constant { per_s });
        let schedule = rate.and_then(|rate| Schedule::new(&rate, self.plan.seed));
        let start = self.io.now();
        OpeningProgress {
            untried,
            begun: VecDeque::new(),
            start,
            end: self
                .plan
                .open_within_ns
                .map_or(Nanos::MAX, |span| start.plus(Nanos(span))),
            timeout: Nanos(self.plan.timeout_ns()),
            pacer: schedule.map(|schedule| schedule.pacer(self.opening_share)),
            silent_since: None,
            timed_out: 0,
            made: self.connection_counts.made,
            lacked: lacks(&self.connect_failures),
            lacks_max: self.plan.sources.len().max(1) as u64,
        }
    }

    /// Begins the connects that are due, a limited number between two waits.
    fn begin_connects(&mut self, opening: &mut OpeningProgress, now: Nanos) {
        for _ in 0..CONNECTING_MAX {
            let continues = opening.continues(&self.connect_failures, now);
            if !continues || !opening.begins(self.connection_counts.connecting, now) {
                return;
            }
            let Some(index) = opening.untried.pop() else {
                return;
            };
            let begun = self.io.now();
            opening.silent_since.get_or_insert(begun);
            self.connect(index, begun);
            if self.slots[index].state == SlotState::Connecting {
                let token = self.slots[index].token(index);
                opening.begun.push_back((begun, token));
            }
        }
    }

    fn has_place(&self, opening: &OpeningProgress) -> bool {
        self.connection_counts.connecting + opening.timed_out < CONNECTING_MAX
    }

    fn note_made(&self, opening: &mut OpeningProgress, now: Nanos) {
        let new = self.connection_counts.made - opening.made;
        if new > 0 {
            opening.made = self.connection_counts.made;
            opening.lacked = lacks(&self.connect_failures);
            let given_back = usize::try_from(new).unwrap_or(usize::MAX);
            opening.timed_out = opening.timed_out.saturating_sub(given_back);
            opening.silent_since = (self.connection_counts.connecting > 0).then_some(now);
        }
    }

    fn time_out_connects(&mut self, opening: &mut OpeningProgress, now: Nanos) {
        while let Some((begun, token)) = opening.begun.front().copied() {
            let is_under_way = self.is_under_way(token);
            if is_under_way && begun.plus(opening.timeout) > now {
                return;
            }
            opening.begun.pop_front();
            if is_under_way {
                opening.timed_out += 1;
                self.connect_failures.add(Outcome::Timeout);
                self.close(token.slot as usize);
            }
        }
    }

    /// Counts the connects that have not ended and the slots that were never tried.
    fn end_opening(&mut self, opening: &OpeningProgress) {
        for (_, token) in &opening.begun {
            if self.is_under_way(*token) {
                self.connect_failures.add(Outcome::Unfinished);
                self.close(token.slot as usize);
            }
        }
        for _ in &opening.untried {
            self.connect_failures.add(Outcome::Unopened);
        }
    }

    fn is_under_way(&self, token: Token) -> bool {
        self.is_current(token) && self.slots[token.slot as usize].state == SlotState::Connecting
    }
}

/// How often this machine lacked a resource to connect with.
fn lacks(failures: &Outcomes) -> u64 {
    let outcomes = [Outcome::NoPort, Outcome::NoDescriptor, Outcome::NoMemory];
    outcomes.map(|outcome| failures.count(outcome)).iter().sum()
}
