//! One place for a connection: its state and the requests it carries.

use abx_sys::Nanos;
use xxhash_rust::xxh3::Xxh3;

use crate::connection::clock::{Clock, Counting};
use crate::connection::flights::Flights;
use crate::connection::timing::Timing;
use crate::io::Token;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotState {
    Closed,
    /// No connection, and none is tried before this moment.
    Resting(Nanos),
    /// A connection is being made, for flights or for later.
    Connecting,
    /// A connection, with flights or with nothing to do.
    Standing,
}

/// How a connection has been used, which decides whether its end may be no response to a
/// request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionUse {
    /// It has given no whole response.
    New,
    /// Its load was suspended for [`RESTED_MIN`] or more, and it has given no whole response
    /// since.
    Rested,
    /// It has given a whole response.
    Used,
}

/// No server is configured to close connections that were idle for less.
const RESTED_MIN: Nanos = Nanos(1_000_000_000);
/// A connection that is reopened since it was idle for so long is so before it rests: some
/// time passes until its load begins.
const REOPENED_MIN: Nanos = Nanos(800_000_000);

/// A place for one connection at a time.
pub(crate) struct Slot<T> {
    pub(crate) state: SlotState,
    /// Counts connections, so that an event of an earlier one is known to be stale.
    pub(crate) generation: u32,
    pub(crate) client: T,
    /// The requests that it carries, in the order of their responses.
    pub(crate) flights: Flights,
    /// How many of them, from the first on, were handed over to be sent.
    pub(crate) handed: usize,
    /// Which request of the load the last ones of these carry, as copies.
    pub(crate) sending: usize,
    /// Bytes of these copies that the kernel has not taken yet.
    pub(crate) unsent_bytes: usize,
    /// The last one, if it was built for this send and the kernel did not take all of it.
    pub(crate) unsent: Vec<u8>,
    /// The peer takes no more bytes. Bytes that it sent before are still received.
    pub(crate) is_cut_off: bool,
    pub(crate) usage: ConnectionUse,
    /// Connects in a row that failed.
    pub(crate) refusals: u32,
    /// Calls of the session that it is in.
    pub(crate) calls: u32,
    /// Since when it has room for a request.
    pub(crate) free_since: Nanos,
    /// Whether it is in a list of slots with room for more requests in flight, or
    /// is parked: it is listed there once.
    pub(crate) is_listed: bool,
    pub(crate) clock: Clock,
    pub(crate) timing: Timing,
    pub(crate) hasher: Option<Box<Xxh3>>,
}

impl<T> Slot<T> {
    /// A slot without a connection, for this many requests in flight.
    pub(crate) fn new(window: usize, client: T) -> Slot<T> {
        Slot {
            state: SlotState::Closed,
            generation: 0,
            client,
            flights: Flights::with_room(window),
            handed: 0,
            sending: 0,
            unsent_bytes: 0,
            unsent: Vec::new(),
            is_cut_off: false,
            usage: ConnectionUse::New,
            refusals: 0,
            calls: 0,
            free_since: Nanos(0),
            is_listed: false,
            clock: Clock::new(&Counting::NOTHING),
            timing: Timing::default(),
            hasher: None,
        }
    }

    /// Names its connection to the back end; `index` is its place in the pool.
    pub(crate) fn token(&self, index: usize) -> Token {
        Token {
            slot: u32::try_from(index).expect("a pool's connections are counted in 32 bits"),
            generation: self.generation,
        }
    }

    /// Whether there is a connection, standing or in the making.
    pub(crate) fn has_connection(&self) -> bool {
        !matches!(self.state, SlotState::Closed | SlotState::Resting(_))
    }

    /// Whether one more request may be in flight, if there may be up to `most`. Without a
    /// connection there is room for one, for which a connection is then made.
    pub(crate) fn has_room(&self, most: usize) -> bool {
        match self.state {
            SlotState::Standing => self.flights.len() < most,
            SlotState::Closed | SlotState::Connecting => self.flights.is_empty(),
            SlotState::Resting(_) => false,
        }
    }

    /// Whether a flight waits to be sent and nothing prevents that.
    pub(crate) fn may_hand_over(&self) -> bool {
        self.handed < self.flights.len()
            && self.unsent_bytes == 0
            && !self.is_cut_off
            && self.state == SlotState::Standing
    }

    /// Whether the kernel took all of the first flight's request, if each of the copies
    /// that go out now has this many bytes.
    pub(crate) fn has_sent_first(&self, request_bytes: usize) -> bool {
        self.unsent_bytes.div_ceil(request_bytes) < self.handed
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.state == SlotState::Standing && self.flights.is_empty()
    }

    /// Whether its server may be about to end it, since its load is suspended since this
    /// moment.
    pub(crate) fn may_be_ended(&self, now: Nanos, suspended_since: Nanos) -> bool {
        self.is_idle() && self.idle_for(now, suspended_since) >= REOPENED_MIN
    }

    /// How long it has been idle, not counting time before its load was suspended.
    fn idle_for(&self, now: Nanos, suspended_since: Nanos) -> Nanos {
        now.since(suspended_since.max(self.free_since))
    }

    pub(crate) fn is_sampled(&self) -> bool {
        self.flights.first().is_some_and(|flight| flight.sampled)
    }

    /// Whether the body of the first flight's response is hashed.
    pub(crate) fn is_hashing(&self) -> bool {
        self.flights.first().is_some_and(|flight| flight.hashed)
    }

    /// Removes the first flight, whose outcome came now and was recorded. The
    /// connection has room from now on if its window was full.
    pub(crate) fn complete(&mut self, window: usize, now: Nanos) {
        let had_room = self.flights.len() < window && self.state == SlotState::Standing;
        if !had_room {
            self.free_since = now;
        }
        self.handed = self.handed.saturating_sub(1);
        self.flights.complete();
    }

    /// Resets the state of the last slice, which ended at `suspended_since`.
    pub(crate) fn start_slice(
        &mut self,
        start: Nanos,
        suspended_since: Nanos,
        counting: &Counting,
    ) {
        let idle_for = self.idle_for(start, suspended_since);
        if self.state == SlotState::Standing && idle_for >= RESTED_MIN {
            self.usage = ConnectionUse::Rested;
        }
        self.clock = Clock::new(counting);
        self.calls = 0;
        self.free_since = start;
        self.is_listed = false;
        if let SlotState::Resting(_) = self.state {
            // A rest ends with its slice.
            self.state = SlotState::Closed;
        }
    }

    /// The connection, if there was one, is gone. Flights stay.
    pub(crate) fn close(&mut self) {
        self.state = SlotState::Closed;
        self.handed = 0;
        self.unsent_bytes = 0;
        self.is_cut_off = false;
        self.generation = self.generation.wrapping_add(1);
        if let Some(hasher) = &mut self.hasher {
            hasher.reset();
        }
    }

    /// Takes a new connection, whose making began at this moment.
    pub(crate) fn connecting(&mut self, client: T, began: Nanos) {
        self.state = SlotState::Connecting;
        self.timing.connecting(began);
        self.client = client;
        self.usage = ConnectionUse::New;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::flights::tests::flight;

    #[test]
    fn a_closed_slot_knows_events_of_its_former_connection() {
        // Method: the generation must change with every close.
        let mut slot = Slot::new(1, ());
        let before = slot.generation;
        slot.close();
        assert_ne!(slot.generation, before);
    }

    #[test]
    fn room_begins_when_a_full_window_loses_its_first() {
        // Method: a window of three, filled and emptied; only a full window
        // gains room that was not there.
        let mut slot = Slot::new(3, ());
        slot.state = SlotState::Standing;
        for number in 0..3 {
            slot.flights.push(flight(number));
        }
        for (now, since, has_room) in [(10, 10, true), (20, 10, true), (30, 10, true)] {
            assert_eq!(slot.has_room(3), now > 10);
            slot.complete(3, Nanos(now));
            assert_eq!(
                (slot.free_since, slot.has_room(3)),
                (Nanos(since), has_room)
            );
        }
        // Without a connection there is room for one.
        slot.close();
        assert!(slot.has_room(3));
        slot.flights.push(flight(3));
        assert!(!slot.has_room(3));
        slot.complete(3, Nanos(40));
        assert_eq!(slot.free_since, Nanos(40));
        slot.state = SlotState::Resting(Nanos(50));
        assert!(!slot.has_room(3));
    }

    #[test]
    fn the_first_request_was_sent_when_only_later_copies_are_left() {
        // Method: three copies of ten bytes, by the number of bytes that are left,
        // after none and after one that went out before.
        for (unsent, handed, expected) in [
            (0, 3, true),
            (1, 3, true),
            (20, 3, true),
            (21, 3, false),
            (30, 3, false),
            (30, 4, true),
        ] {
            let mut slot = Slot::new(4, ());
            (slot.unsent_bytes, slot.handed) = (unsent, handed);
            assert_eq!(slot.has_sent_first(10), expected, "{unsent} of {handed}");
        }
    }
}
