//! When a free slot sends next: at once, at a moment of the schedule, or after a
//! think time.
//!
//! A request that is due goes to the slot that was free for longest, so that
//! connections take turns and never send in waves. If no slot is idle, slots with room
//! for one more request in flight take turns. Requests without a free slot wait in order:
//! they stay in the pacer, so a backlog takes no memory and keeps its intended times.

use std::collections::VecDeque;

use abx_sys::Nanos;

use super::worker_slice::WorkerSlice;
use crate::event_loop::Timers;
use crate::plan::Pacing;
use crate::schedule::{Pacer, Schedule};

pub(super) struct Dispatcher {
    pub(super) start: Nanos,
    /// No request that is due from here on is sent.
    pub(super) end: Nanos,
    /// The end of the counted part, after which the load stays constant.
    pub(super) counted_until: Nanos,
    /// `None` in a closed loop.
    pub(super) pacer: Option<Pacer>,
    /// Slots that wait for a request to be due, the longest-idle slot first.
    pub(super) idle: VecDeque<u32>,
    /// Slots with requests in flight and room for more. SUBTLE: since it was listed, a slot may
    /// have lost its room or its last request in flight.
    pub(super) roomy: VecDeque<u32>,
    /// When the think time of each thinking slot ends.
    pub(super) thinking: Timers<u32>,
    /// Slots beyond the number of connections that the plan has now.
    pub(super) parked: Vec<u32>,
}

pub(super) enum Next {
    /// The slot sends a request that is due at this moment.
    Sends(Nanos),
    Waits,
    Thinks(Nanos),
    Parks,
}

impl Dispatcher {
    pub(super) fn none() -> Dispatcher {
        Dispatcher {
            start: Nanos(0),
            end: Nanos(0),
            counted_until: Nanos(0),
            pacer: None,
            idle: VecDeque::new(),
            roomy: VecDeque::new(),
            thinking: Timers::new(),
            parked: Vec::new(),
        }
    }

    /// Begins a slice and reuses memory. A worker without slots has no part of any schedule.
    pub(super) fn begin(&mut self, slice: &WorkerSlice, pacing: &Pacing, seed: u64, slots: usize) {
        self.start = slice.start;
        self.end = slice.sends_until();
        self.counted_until = slice.end;
        let schedule = Schedule::new(&pacing.arrivals, seed).filter(|_| slots > 0);
        self.pacer = schedule.map(|schedule| schedule.pacer(slice.share));
        self.idle.clear();
        self.roomy.clear();
        self.thinking.clear();
        self.parked.clear();
    }

    pub(super) fn is_open(&self) -> bool {
        self.pacer.is_some()
    }

    /// When the next request of the schedule within the slice is due.
    pub(super) fn due(&self) -> Option<Nanos> {
        let due = self.start.plus(self.pacer.as_ref()?.peek()?);
        (due < self.end).then_some(due)
    }

    /// The index in the load of the request that is due, if the schedule sets it.
    pub(super) fn request(&self) -> Option<usize> {
        self.pacer.as_ref()?.request()
    }

    pub(super) fn pass(&mut self) -> Option<Nanos> {
        let due = self.due()?;
        self.pacer.as_mut()?.next();
        Some(due)
    }

    /// Whether anything may still be sent although nothing is in flight.
    pub(super) fn has_more(&self) -> bool {
        self.due().is_some() || !self.thinking.is_empty() || !self.parked.is_empty()
    }

    /// The next moment at which a request is due that can be sent.
    pub(super) fn wakes(&self) -> Nanos {
        let has_free = !(self.idle.is_empty() && self.roomy.is_empty());
        let due = self.due().filter(|_| has_free);
        let first = self.thinking.next_at().into_iter().chain(due).min();
        first.unwrap_or(Nanos::MAX)
    }
}
