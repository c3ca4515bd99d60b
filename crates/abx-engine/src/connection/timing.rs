//! When a slot's connection was made and when the current response began: with the
//! flight's own moments, these show where its time went.

use abx_evidence::Timestamps;
use abx_sys::Nanos;

use crate::connection::flights::Flight;

/// The times of a connection, as opposed to those of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Timing {
    /// When the connect began. For sampled flights the clock is read at that moment; for others
    /// this is the time of the batch.
    began: Nanos,
    made: Nanos,
    /// The first byte's time of a sampled response that is not complete.
    first_byte: Option<Nanos>,
}

impl Timing {
    /// Starts the times of a new connection.
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

    /// Notes a part of a sampled response. Returns whether it is the first part.
    pub(crate) fn receives(&mut self, now: Nanos) -> bool {
        let is_first = !self.has_begun();
        self.first_byte.get_or_insert(now);
        is_first
    }

    /// Whether a sampled response has begun and is not complete.
    pub(crate) fn has_begun(&self) -> bool {
        self.first_byte.is_some()
    }

    /// The times of a flight whose response is complete at `now`. The slot's previous outcome came
    /// at `before`. Resets the first byte's time for the next response.
    pub(crate) fn stamps(&mut self, flight: &Flight, before: Nanos, now: Nanos) -> Timestamps {
        let sent = flight.sent.expect("what has a response was sent");
        // A request that was begun later found the connection open.
        let caused_connect = flight.begun <= self.began;
        Timestamps {
            intended_ns: flight.intended.0,
            connect_ns: caused_connect.then(|| self.made.since(self.began).0),
            turn_ns: sent.max(before).0,
            first_byte_ns: self.first_byte.take().unwrap_or(now).0,
            done_ns: now.0,
        }
    }
}
