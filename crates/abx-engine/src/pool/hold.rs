//! A stretch in which nothing is sent: connections are held, and pings answered.

use std::sync::atomic::{AtomicBool, Ordering};

use abx_sys::Nanos;

use super::stretch::Progress;
use super::{Pool, Ran, Stretch, WAIT_MAX};
use crate::conversation::Conversation;
use crate::io::Io;

impl<I: Io, C: Conversation> Pool<I, C> {
    /// Holds the connections until the stretch ends. What is closed stays closed.
    /// A stretch without an end in time has none to wait for, and is over at once.
    pub(super) fn hold(&mut self, stretch: &Stretch, stop: &AtomicBool) -> Ran {
        self.tally.clear();
        self.progress = Progress::idle();
        let mut now = stretch.start;
        while now < stretch.end && stretch.end < Nanos::MAX && !stop.load(Ordering::Relaxed) {
            now = self.take_ready(stretch.end.min(now.plus(WAIT_MAX)));
        }
        Ran {
            end: now,
            counted_until: now,
            stopped_answering: false,
        }
    }
}
