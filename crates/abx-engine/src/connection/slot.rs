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
    /// No connection, and no attempt before this moment.
    Resting(Nanos),
    /// A connection is being made, for flights or for later.
    Connecting,
    /// An open connection, with flights or idle.
    Standing,
}

/// How a connection has been used, which decides whether its end may be unrelated to the requests
/// on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionUse {
    /// It has carried no whole response.
    New,
    /// Its load was suspended for [`RESTED_MIN`] or more, and it has carried no whole response
    /// since.
    Rested,
    /// It has carried a whole response.
    Used,
}

/// The least idle time after which a server may be configured to close a connection.
pub(crate) const RESTED_MIN: Nanos = Nanos(1_000_000_000);
/// A connection that was idle for this long before a slice is reopened. Less than
/// [`RESTED_MIN`], since some time passes until the load begins.
const REOPENED_MIN: Nanos = Nanos(800_000_000);

/// A place for one connection at a time.
pub(crate) struct Slot<T> {
    pub(crate) state: SlotState,
    /// Counts connections, so that events of an earlier connection are known to be stale.
    pub(crate) generation: u32,
    pub(crate) client: T,
    /// The requests that it carries, in the order of their responses.
    pub(crate) flights: Flights,
    /// How many flights, from the first on, were handed over to be sent.
    pub(crate) handed: usize,
    /// The request of the load that the last flights handed over carry, as copies.
    pub(crate) sending: usize,
    /// Bytes of these copies that the kernel has not taken yet.
    pub(crate) unsent_bytes: usize,
    /// The last request, if it was built from a template and the kernel did not take all of it.
    pub(crate) unsent: Vec<u8>,
    /// Whether the peer takes no more bytes. Bytes that it sent before are still received.
    pub(crate) is_cut_off: bool,
    pub(crate) usage: ConnectionUse,
    /// Failed connects in a row.
    pub(crate) refusals: u32,
    /// Requests so far in the current session.
    pub(crate) calls: u32,
    /// Since when it has room for a request.
    pub(crate) free_since: Nanos,
    /// Whether it is already in the list of slots with room for more requests in flight, or in
    /// that of parked slots.
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

    /// The token of its connection for the back end; `index` is the slot's place in the pool.
    pub(crate) fn token(&self, index: usize) -> Token {
        Token {
            slot: u32::try_from(index).expect("a pool's connections are counted in 32 bits"),
            generation: self.generation,
        }
    }

    /// Whether there is a connection, open or in the making.
    pub(crate) fn has_connection(&self) -> bool {
        !matches!(self.state, SlotState::Closed | SlotState::Resting(_))
    }

    /// Whether one more request may be in flight, of at most `most`. Without a connection there
    /// is room for one request, for which a connection is then made.
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

    /// Whether the kernel has taken all of the first flight's request, if each copy that is
    /// being sent has this many bytes.
    pub(crate) fn has_sent_first(&self, request_bytes: usize) -> bool {
        self.unsent_bytes.div_ceil(request_bytes) < self.handed
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.state == SlotState::Standing && self.flights.is_empty()
    }

    /// Whether its server may be about to close it, if the load has been suspended since
    /// `suspended_since`.
    pub(crate) fn may_be_ended(&self, now: Nanos, suspended_since: Nanos) -> bool {
        self.is_idle() && self.idle_for(now, suspended_since) >= REOPENED_MIN
    }

    /// How long it has been idle, without the time before its load was suspended.
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

    /// Removes the first flight, whose outcome was recorded at `now`. If the window was full,
    /// the connection has room from now on.
    pub(crate) fn complete(&mut self, window: usize, now: Nanos) {
        let had_room = self.flights.len() < window && self.state == SlotState::Standing;
        if !had_room {
            self.free_since = now;
        }
        self.handed = self.handed.saturating_sub(1);
        self.flights.complete();
    }

    /// Resets the state for a slice; the last one ended at `suspended_since`.
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

    /// Forgets the connection, if there was one. Flights stay.
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

    /// Notes a new connection, whose connect began at this moment.
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
    fn closing_a_slot_changes_its_generation() {
        // Method: the generation before and after a close.
        let mut slot = Slot::new(1, ());
        let before = slot.generation;
        slot.close();
        assert_ne!(slot.generation, before);
    }

    #[test]
    fn a_full_window_has_room_from_its_first_completion() {
        // Method: a window of three, filled and emptied; only a full window gains room.
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
        // Method: copies of ten bytes, three and four of them, with different numbers of unsent
        // bytes.
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
