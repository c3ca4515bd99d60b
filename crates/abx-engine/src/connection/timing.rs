//! When a slot's connection was made and when the current response began: with the
//! flight's own moments, these show where its time went.

use abx_evidence::Timestamps;
use abx_sys::Nanos;

use crate::connection::flights::Flight;

/// The moments that belong to a connection rather than to a request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Timing {
    /// When the making of the connection began. For sampled flights the clock is read
    /// then, to be exact; for others it is the batch's time.
    began: Nanos,
    made: Nanos,
    /// When the first byte came of a sampled response of which some is still to come.
    first_byte: Option<Nanos>,
}

impl Timing {
    /// A new connection is in the making since this moment.
    pub(crate) fn connecting(&mut self, began: Nanos) {
        *self = Timing {
            began,
            made: began,
            first_byte: None,
        };
    }

    pub(crate) fn connected(&mut self, now: Nanos) {
        self.made = now;
    }

    /// A part of a sampled response came. Returns whether it is the first one.
    pub(crate) fn receives(&mut self, now: Nanos) -> bool {
        let is_first = !self.has_begun();
        self.first_byte.get_or_insert(now);
        is_first
    }

    /// Whether a part of a sampled response came of which some is still to come.
    pub(crate) fn has_begun(&self) -> bool {
        self.first_byte.is_some()
    }

    /// The moments of a flight whose response is whole now, if the slot's last outcome before
    /// it came at `before`: they show where its time went. The next response has not begun.
    pub(crate) fn stamps(&mut self, flight: &Flight, before: Nanos, now: Nanos) -> Timestamps {
        let sent = flight.sent.expect("what has a response was sent");
        // One that was begun later found the connection open.
        let brought_it = flight.begun <= self.began;
        Timestamps {
            intended_ns: flight.intended.0,
            connect_ns: brought_it.then(|| self.made.since(self.began).0),
            turn_ns: sent.max(before).0,
            first_byte_ns: self.first_byte.take().unwrap_or(now).0,
            done_ns: now.0,
        }
    }
}
