//! How a slice runs on a pool: requests due, timeouts, and the end of the slice.

use std::sync::atomic::AtomicBool;

use abx_evidence::{Outcome, RequestLog, TimelineTally};
use abx_sys::Nanos;

use super::slots::Pool;
use super::worker_slice::{SliceOutcome, WorkerSlice};
use crate::connection::clock::{Basis, Counting};
use crate::connection::flights::Flight;
use crate::connection::progress::Progress;
use crate::connection::slot::SlotState;
use crate::event_loop::{Driver, NextWait, Waiter, event_loop};
use crate::io::{Awaits, Io, Ready};
use crate::protocol::Protocol;
use crate::schedule::Arrivals;

/// A subject has stopped responding after this many failures per connection in a
/// row, or when every connection timed out, without a whole response in between.
const FAILURES_PER_SLOT_MAX: usize = 3;
/// After a slice, connections without any response get at least this fraction of a timeout,
/// if the slice itself is shorter.
const PATIENCE_OF_TIMEOUT: u64 = 20;
/// From this long after the counted part, a worker reports at this interval what it waits for.
pub(super) const REPORT_EVERY: Nanos = Nanos(500_000_000);

struct RequestSlice<'p, I: Io, C: Protocol> {
    pool: &'p mut Pool<I, C>,
    slice: WorkerSlice,
    counted_until: Nanos,
    stopped_responding: bool,
}

impl<I: Io, C: Protocol> Driver for RequestSlice<'_, I, C> {
    type Io = I;

    fn waits_with(&mut self) -> (&mut I, &mut Waiter) {
        (&mut self.pool.io, &mut self.pool.waiter)
    }

    fn next_wait(&mut self, now: Nanos, is_stopped: bool) -> Option<NextWait> {
        let pool = &mut *self.pool;
        if !self.stopped_responding && pool.has_stopped_responding(now) {
            self.stopped_responding = true;
            pool.abandon_begun_in_silence(now);
        }
        if pool.progress.open && (self.stopped_responding || is_stopped) {
            self.counted_until = self.counted_until.min(now);
            pool.count_unsent(now);
        }
        let is_over = pool.is_over_without_response(&self.slice, now);
        if self.stopped_responding || is_stopped || is_over || pool.is_settled(now) {
            pool.stop_load(now);
        }
        if is_stopped || is_over {
            pool.abandon(now, |_| true);
        }
        (pool.progress.in_flight > 0 || pool.has_more()).then(|| NextWait {
            until: pool.wakes(),
            awaits: Awaits::of(pool.progress.in_flight),
        })
    }

    fn take(&mut self, ready: &mut Vec<Ready>, now: Nanos) {
        let pool = &mut *self.pool;
        if now >= self.slice.end && pool.progress.settles == self.slice.end {
            // If this loop was late, connections were free for requests due before the end.
            pool.send_late(self.slice.end, now);
        }
        pool.take(ready, now);
        pool.progress.acted = now;
        if now >= pool.progress.edge {
            pool.reach_edge(&self.slice, now);
        }
        pool.check_due(now);
        if pool.needs_no_load(now) {
            pool.participants.leave();
        }
        if !pool.is_settled(now) {
            pool.dispatch(now);
        }
        if pool.progress.counting.counts(now) {
            let lag = pool.progress.acted.since(now);
            pool.tally.times.loop_lag.record_ns(lag.0);
        }
    }
}

impl<I: Io, C: Protocol> Pool<I, C> {
    /// Loads the subject for one slice and waits for requests in flight.
    pub fn run(&mut self, slice: WorkerSlice, stop: &AtomicBool) -> SliceOutcome {
        if self.plan.shape.hold_ns().is_some() {
            return self.hold(&slice, stop);
        }
        self.begin_slice(&slice);
        let mut requests = RequestSlice {
            counted_until: slice.end,
            stopped_responding: false,
            slice,
            pool: self,
        };
        let now = event_loop(&mut requests, stop);
        let RequestSlice {
            mut counted_until,
            stopped_responding,
            ..
        } = requests;
        self.tally.paused_ns = self.waiter.late_ns();
        self.stop_load(now);
        self.course.finish(now, &mut self.tally, &self.participants);
        self.suspended_since = now;
        for _ in 0..std::mem::take(&mut self.unsolicited) {
            self.tally.discarded.add(Outcome::Unsolicited);
        }
        let end = self.close_clocks(slice.start, counted_until);
        let counting = std::mem::replace(&mut self.progress.counting, Counting::NOTHING);
        if counting.basis == Basis::Flow {
            counted_until = slice.counted_from.plus(counting.span(counted_until));
        }
        SliceOutcome {
            end,
            counted_until: counted_until.min(match counting.basis {
                Basis::Requests => end,
                Basis::Completions | Basis::Flow | Basis::Window => Nanos::MAX,
            }),
            stopped_responding,
        }
    }

    fn begin_slice(&mut self, slice: &WorkerSlice) {
        let basis = slice.basis(&self.plan);
        let (counted, clocks) = ([slice.counted_from, slice.end], self.slots.len());
        self.begin_tally(slice.start);
        self.course.begin(slice, &mut self.tally);
        let length_ns = slice.end.since(slice.start).0;
        self.tally.timeline = self
            .plan
            .timeline
            .map(|plan| Box::new(TimelineTally::new(plan, slice.start.0, length_ns)));
        self.tally.log = self
            .plan
            .log
            .as_ref()
            .map(|plan| Box::new(RequestLog::new(plan, slice.requests_max)));
        self.progress = Progress {
            open: true,
            end: slice.sends_until(),
            edge: slice.end.min(self.course.due()),
            settles: slice.end,
            counting: Counting::new(basis, counted, clocks, self.window),
            requests_left: slice.requests_max,
            ..Progress::idle()
        };
        self.slices += 1;
        let seed = self.plan.seed.wrapping_add(self.slices);
        self.dispatcher
            .begin(slice, &self.plan.pacing, seed, self.slots.len());
        for index in 0..self.slots.len() {
            let now = self.io.now();
            let counting = &self.progress.counting;
            self.slots[index].start_slice(slice.start, self.suspended_since, counting);
            self.freed(index, now);
        }
    }

    /// Handles the end of an interval or of the counted part, and reports.
    fn reach_edge(&mut self, slice: &WorkerSlice, now: Nanos) {
        self.course.look(now, &mut self.tally, &self.participants);
        if self.progress.open && now >= self.progress.settles {
            self.settle_clocks(slice, now);
        }
        if now >= slice.end.plus(REPORT_EVERY) {
            self.report_awaited();
        }
        self.progress.edge = if self.progress.open {
            self.progress.settles.min(now.plus(REPORT_EVERY))
        } else {
            now.plus(REPORT_EVERY)
        };
        self.progress.edge = self.progress.edge.min(self.course.due());
    }

    /// Handles the end of the counted part: unsent requests that were due in it are never sent.
    /// Another such span later, the slice stops waiting for connections with nothing in flight
    /// (thinking or resting), and for those without a response if others had one.
    fn settle_clocks(&mut self, slice: &WorkerSlice, now: Nanos) {
        let patience = Nanos(self.plan.timeout_ns() / PATIENCE_OF_TIMEOUT);
        if self.progress.settles == slice.end {
            self.count_unsent(slice.end);
            let counted = slice.end.since(slice.counted_from);
            self.progress.settles = now.plus(counted.max(patience).max(Nanos(1)));
            return;
        }
        let counting = &mut self.progress.counting;
        for slot in &mut self.slots {
            let is_silent = counting.has_opened && !slot.clock.has_opened();
            if is_silent || slot.flights.is_empty() {
                slot.clock.stops(counting, now);
            }
        }
        counting.stop_flow(now);
        self.progress.settles = now.plus(now.since(slice.end));
    }

    /// Reports how many connections the end of the slice waits for, and since when.
    fn report_awaited(&mut self) {
        let Progress { open, counting, .. } = &self.progress;
        let firsts = self.slots.iter().filter_map(|slot| {
            let flight = slot.flights.first()?;
            let is_awaited = !open || counting.awaits(flight.counted, &slot.clock);
            is_awaited.then_some(flight.begun)
        });
        let (connections, since) = firsts.fold((0, Nanos::MAX), |(count, oldest), begun| {
            (count + 1, oldest.min(begun))
        });
        let timeout = Nanos(self.plan.timeout_ns());
        self.participants
            .reports_awaited(connections, since, timeout);
    }

    /// Whether no worker needs the load any more.
    fn is_settled(&self, now: Nanos) -> bool {
        if self.progress.may_send(now) {
            self.needs_no_load(now) && self.participants.is_over()
        } else {
            self.progress.open
        }
    }

    /// Whether the wait for outstanding requests is over in a slice in which the subject is
    /// expected to fail: a response would be late by now.
    fn is_over_without_response(&self, slice: &WorkerSlice, now: Nanos) -> bool {
        self.plan
            .timeline
            .and_then(|timeline| timeline.delayed_after_ns)
            .is_some_and(|late_ns| now >= slice.end.plus(Nanos(late_ns)))
    }

    fn needs_no_load(&self, now: Nanos) -> bool {
        now >= self.progress.counting.end && self.progress.counting.is_settled()
    }

    /// Nothing more is sent, and outcomes from now on do not count.
    fn stop_load(&mut self, now: Nanos) {
        self.progress.open = false;
        match self.progress.counting.basis {
            // The others continue without its connections.
            Basis::Requests => self.participants.end(),
            // The workers end together, and bytes received until then count.
            Basis::Completions | Basis::Flow | Basis::Window => self.participants.leave(),
        }
        self.progress.counting.stop_flow(now);
        for slot in &mut self.slots {
            slot.clock.stops(&mut self.progress.counting, now);
        }
    }

    /// The next moment with work if no event comes.
    fn wakes(&self) -> Nanos {
        let Progress {
            open,
            edge,
            next_check,
            ..
        } = self.progress;
        if open {
            edge.min(self.dispatcher.wakes()).min(next_check)
        } else {
            next_check
        }
    }

    /// Whether anything may be sent although nothing is in flight.
    fn has_more(&self) -> bool {
        self.progress.open && (self.progress.resting > 0 || self.dispatcher.has_more())
    }

    /// Whether no worker's connections get responses any more. A worker without connections
    /// does not report.
    fn has_stopped_responding(&mut self, now: Nanos) -> bool {
        let slots = self.slots.len();
        if !self.progress.open || slots == 0 || self.plan.is_to_fail() {
            return false;
        }
        let is_silent = self.progress.failures >= FAILURES_PER_SLOT_MAX * slots
            || self.progress.timeouts >= slots;
        self.participants.has_response(!is_silent);
        if !is_silent {
            self.progress.silent_since = None;
            return false;
        }
        self.progress.silent_since.get_or_insert(now);
        self.participants.is_silent()
    }

    /// Abandons the requests that were sent since the subject fell silent for this worker. It is
    /// silent for all workers now.
    fn abandon_begun_in_silence(&mut self, now: Nanos) {
        let since = self.progress.silent_since.filter(|since| *since < now);
        if let Some(since) = since {
            self.abandon(now, |flight| flight.begun >= since);
        }
    }

    /// Sums the connections' clocks and returns the moment of the last outcome.
    fn close_clocks(&mut self, start: Nanos, counted_until: Nanos) -> Nanos {
        let counting = &self.progress.counting;
        let last = self.slots.iter().map(|slot| slot.clock.last());
        let end = last.fold(start, Nanos::max);
        let basis = counting.basis;
        let window = counting.span(match basis {
            Basis::Requests => counted_until.min(end),
            Basis::Completions | Basis::Flow | Basis::Window => counted_until,
        });
        // Between the requests of a schedule, connections rest.
        let is_scheduled = self.plan.pacing.arrivals != Arrivals::Closed;
        for slot in &self.slots {
            let own_time = slot.clock.time(basis, window);
            let time = if is_scheduled { Some(window) } else { own_time };
            self.tally.silent += u64::from(slot.clock.span(basis).is_none());
            self.tally.clocks += u64::from(time.is_some());
            self.tally.connection_ns += time.unwrap_or_default().0;
        }
        end
    }

    /// Gives a slot that has room its next request, due at `intended`. In a closed loop that is
    /// `now`, when its connection has room. [`Pool::go`] then sends the request. Call it only if
    /// [`Progress::may_send`] is true.
    #[inline(always)]
    pub(super) fn begin(&mut self, index: usize, intended: Nanos, now: Nanos) {
        self.progress.requests_left -= 1;
        self.progress.in_flight += 1;
        let deadline = now.plus(Nanos(self.plan.timeout_ns()));
        self.progress.next_check = self.progress.next_check.min(deadline);
        let counted = self.progress.counting.counts(intended);
        self.progress.counting.in_flight += usize::from(counted);
        let request = self.chooser.draw();
        // A body whose content is not known in advance cannot be compared.
        let is_known = self.plan.requests[request].expect.body.is_some();
        let sampled = self.sampler.draw();
        let slot = &mut self.slots[index];
        self.tally.queued += u64::from(counted && slot.free_since > intended);
        slot.calls += 1;
        slot.flights.push(Flight {
            intended,
            possible: intended.max(slot.free_since),
            begun: now,
            sent: None,
            counted,
            request,
            stream: 0,
            sampled,
            hashed: sampled && is_known,
            retried: false,
        });
    }

    /// Ends the first flight of a slot, if there is one, with this outcome.
    pub(super) fn finish(&mut self, index: usize, outcome: Outcome, now: Nanos) {
        let slot = &mut self.slots[index];
        if let Some(flight) = slot.flights.first() {
            self.progress.in_flight -= 1;
            flight.record(&mut self.tally, outcome, now);
            let counting = &mut self.progress.counting;
            counting.in_flight -= usize::from(flight.counted);
            let clock = &mut slot.clock;
            let is_timed = clock.ends(counting, flight.intended, outcome, now);
            self.tally.clocked += u64::from(is_timed);
            slot.complete(self.window, now);
        }
    }

    pub(super) fn finish_all(&mut self, index: usize, outcome: Outcome, now: Nanos) {
        for _ in 0..self.slots[index].flights.len() {
            self.finish(index, outcome, now);
        }
    }

    /// Ends requests that are out of time and rests that are over.
    fn check_due(&mut self, now: Nanos) {
        if now < self.progress.next_check {
            return;
        }
        self.progress.next_check = Nanos::MAX;
        // This is rare, so an allocation is affordable.
        let mut free = Vec::new();
        for index in 0..self.slots.len() {
            if let Some(due) = self.due(index)
                && due <= now
            {
                if self.slots[index].flights.is_empty() {
                    self.close(index);
                    self.progress.resting -= 1;
                } else {
                    self.timed_out(index, now);
                }
                free.push(index);
            }
            // A request that was sent again has its own timeout.
            if let Some(due) = self.due(index) {
                self.progress.next_check = self.progress.next_check.min(due);
            }
        }
        // If all connections timed out, the slice ends here, not after another timeout. At its
        // end, a slice does not wait again for connections without a response.
        let is_over = now >= self.progress.counting.end;
        if is_over || self.has_stopped_responding(now) {
            let counting = &mut self.progress.counting;
            for index in free {
                self.slots[index].clock.stops(counting, now);
            }
        } else {
            for index in free {
                self.freed(index, now);
            }
        }
    }

    /// When the oldest request of a slot times out, or its rest ends.
    fn due(&self, index: usize) -> Option<Nanos> {
        let slot = &self.slots[index];
        match (slot.flights.first(), slot.state) {
            (Some(flight), _) => Some(flight.begun.plus(Nanos(self.plan.timeout_ns()))),
            (None, SlotState::Resting(until)) => Some(until),
            (None, _) => None,
        }
    }

    /// Gives up the requests in flight on connections whose first request matches.
    fn abandon(&mut self, now: Nanos, is_given_up: impl Fn(&Flight) -> bool) {
        for index in 0..self.slots.len() {
            if self.slots[index].flights.first().is_some_and(&is_given_up) {
                self.close(index);
                self.finish_all(index, Outcome::Unfinished, now);
            }
        }
    }
}
