//! The next actions of a pool's connections, by its dispatcher.

use abx_sys::Nanos;

use super::dispatcher::Next;
use super::slots::Pool;
use crate::io::Io;
use crate::protocol::Protocol;
use crate::schedule::StageList;

impl<I: Io, C: Protocol> Pool<I, C> {
    /// If the slot has room for requests, lets it send, wait or think, or parks it.
    pub(super) fn freed(&mut self, index: usize, now: Nanos) {
        if !(self.progress.may_send(now) && self.slots[index].has_room(self.refill_below)) {
            return;
        }
        let next = if self.is_plain {
            Next::Sends(now)
        } else {
            self.next(index, now)
        };
        match next {
            Next::Sends(due) => {
                self.begin(index, due, now);
                if self.window > 1 {
                    self.fill(index, now);
                }
                self.go(index, now);
            }
            Next::Waits if self.slots[index].flights.is_empty() => {
                self.dispatcher.idle.push_back(number(index));
            }
            Next::Waits => self.list_roomy(index),
            Next::Thinks(until) => self.dispatcher.thinking.set(until, number(index)),
            Next::Parks => {
                if !std::mem::replace(&mut self.slots[index].is_listed, true) {
                    self.dispatcher.parked.push(number(index));
                }
            }
        }
    }

    /// Begins requests until the window is full, so that they go out together.
    fn fill(&mut self, index: usize, now: Nanos) {
        while self.slots[index].has_room(self.window) && self.progress.may_send(now) {
            self.begin(index, now, now);
        }
    }

    /// Lists a slot that has requests in flight and room for more, once.
    fn list_roomy(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let is_roomy = !slot.flights.is_empty() && slot.has_room(self.window);
        if is_roomy && !std::mem::replace(&mut slot.is_listed, true) {
            self.dispatcher.roomy.push_back(number(index));
        }
    }

    /// Takes the slot whose turn it is: the one that was idle for longest, or else one with room.
    fn take_free(&mut self) -> Option<usize> {
        if let Some(index) = self.dispatcher.idle.pop_front() {
            return Some(index as usize);
        }
        while let Some(index) = self.dispatcher.roomy.pop_front() {
            let slot = &mut self.slots[index as usize];
            slot.is_listed = false;
            if !slot.flights.is_empty() && slot.has_room(self.window) {
                return Some(index as usize);
            }
        }
        None
    }

    fn next(&mut self, index: usize, now: Nanos) -> Next {
        let pacing = &self.plan.pacing;
        let slot = &mut self.slots[index];
        if slot.calls > 0 && pacing.session_calls.is_none_or(|total| slot.calls < total) {
            match pacing.think_ns {
                0 => {}
                think => return Next::Thinks(now.plus(Nanos(think))),
            }
            if pacing.session_calls.is_some() {
                return Next::Sends(now);
            }
        }
        let was_session = std::mem::take(&mut slot.calls) > 0 && pacing.session_calls.is_some();
        if was_session {
            // The next user has another connection.
            self.close(index);
        }
        let pacing = &self.plan.pacing;
        if self.dispatcher.is_open() {
            return Next::Waits;
        }
        match &pacing.connections_over_time {
            Some(stages) if index >= self.allowed(stages, now) => Next::Parks,
            _ => Next::Sends(now),
        }
    }

    /// Sends the requests that are due, as far as slots are free for them.
    pub(super) fn dispatch(&mut self, now: Nanos) {
        if !self.progress.may_send(now) {
            return;
        }
        while self.progress.has_requests()
            && let Some((until, index)) = self.dispatcher.thinking.take_due(now)
        {
            self.begin(index as usize, until, now);
            self.go(index as usize, now);
        }
        while let Some(due) = self.dispatcher.due()
            && due <= now
            && self.progress.has_requests()
            && let Some(index) = self.take_free()
        {
            if let Some(request) = self.dispatcher.request() {
                self.chooser.next_is(request);
            }
            self.dispatcher.pass();
            self.begin(index, due, now);
            self.go(index, now);
            self.list_roomy(index);
        }
        self.unpark(now);
    }

    /// Sends the requests that were due before `end`, as far as slots are free for them.
    #[cold]
    #[inline(never)]
    pub(super) fn send_late(&mut self, end: Nanos, now: Nanos) {
        while let Some(due) = self.dispatcher.due()
            && due < end
            && self.progress.may_send(now)
            && let Some(index) = self.take_free()
        {
            if let Some(request) = self.dispatcher.request() {
                self.chooser.next_is(request);
            }
            self.dispatcher.pass();
            self.begin(index, due, now);
            self.go(index, now);
            self.list_roomy(index);
        }
    }

    /// Counts requests that were due before `end` and never sent.
    pub(super) fn count_unsent(&mut self, end: Nanos) {
        while let Some(due) = self.dispatcher.due()
            && due < end
            && self.progress.has_requests()
        {
            self.dispatcher.pass();
            self.progress.passes();
            if self.progress.counting.counts(due) {
                self.tally.record_unsent(due.0, end.0);
            }
        }
    }

    /// Frees parked slots that the plan now lets send.
    fn unpark(&mut self, now: Nanos) {
        if self.dispatcher.parked.is_empty() {
            return;
        }
        let Some(stages) = &self.plan.pacing.connections_over_time else {
            return;
        };
        let allowed = self.allowed(stages, now);
        let parked = std::mem::take(&mut self.dispatcher.parked);
        for index in parked {
            if (index as usize) < allowed {
                self.slots[index as usize].is_listed = false;
                self.freed(index as usize, now);
            } else {
                self.dispatcher.parked.push(index);
            }
        }
    }

    /// How many of this worker's slots the plan lets send at a moment. The workers' numbers add up
    /// to the rounded total.
    fn allowed(&self, stages: &StageList, now: Nanos) -> usize {
        let total = u64::from(self.plan.connections);
        let last = Nanos(self.dispatcher.counted_until.0.saturating_sub(1));
        let value = stages.value_at(now.min(last).since(self.dispatcher.start));
        // After the last stage, no slot may send.
        let value = value.map_or(0, crate::schedule::Amount::rounded).min(total);
        let before = |connection: usize| value * connection as u64 / total;
        let share = before(self.first + self.slots.len()) - before(self.first);
        usize::try_from(share).expect("a share of the slots")
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).expect("a pool's connections are counted in 32 bits")
}
