//! The interface of drivers, and the loop that runs them.

use std::sync::atomic::{AtomicBool, Ordering};

use abx_sys::Nanos;

use crate::io::{Awaits, Io, PauseWatch, Ready};

/// No wait is longer, so that a stop is noticed soon.
const WAIT_MAX: Nanos = Nanos(50_000_000);

/// How long a driver has nothing to do unless an event comes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NextWait {
    pub(crate) until: Nanos,
    pub(crate) awaits: Awaits,
}

/// The state between two waits.
pub(crate) struct Waiter {
    ready: Vec<Ready>,
    pauses: PauseWatch,
    /// How late waits ended in total, see [`PauseWatch`].
    late_ns: u64,
}

impl Waiter {
    pub(crate) fn from(start: Nanos) -> Waiter {
        Waiter {
            ready: Vec::new(),
            pauses: PauseWatch::from(start),
            late_ns: 0,
        }
    }

    /// Resets the lateness, from this moment on.
    pub(crate) fn restart(&mut self, start: Nanos) {
        self.pauses = PauseWatch::from(start);
        self.late_ns = 0;
    }

    pub(crate) fn late_ns(&self) -> u64 {
        self.late_ns
    }
}

/// A load, or a part of one, that an [`event_loop`] drives.
pub(crate) trait Driver {
    type Io: Io + ?Sized;

    fn waits_with(&mut self) -> (&mut Self::Io, &mut Waiter);

    /// Takes the actions that are due before a wait. `None` ends the loop.
    fn next_wait(&mut self, now: Nanos, is_stopped: bool) -> Option<NextWait>;

    /// Handles the ready events and then takes the actions that are due. All of them share one
    /// reading of the clock: responses that the kernel handed over together get the same time,
    /// so that the engine's own parsing is not charged to the subject.
    fn take(&mut self, ready: &mut Vec<Ready>, now: Nanos);
}

/// Drives a load until it ends, and returns the last reading of the clock.
pub(crate) fn event_loop<D: Driver>(driver: &mut D, stop: &AtomicBool) -> Nanos {
    let mut now = driver.waits_with().0.now();
    while let Some(wait) = driver.next_wait(now, stop.load(Ordering::Relaxed)) {
        let until = wait.until.min(now.plus(WAIT_MAX));
        let (io, waiter) = driver.waits_with();
        let mut ready = std::mem::take(&mut waiter.ready);
        now = io.wait(until, wait.awaits, &mut ready);
        waiter.late_ns += waiter.pauses.note(until, now);
        driver.take(&mut ready, now);
        driver.waits_with().1.ready = ready;
    }
    now
}
