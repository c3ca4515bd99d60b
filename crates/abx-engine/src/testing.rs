//! Internals for tests from outside: back ends and pools, which no other crate uses.

use abx_sys::Nanos;

pub use crate::io::{
    Awaits, CutTurns, EpollIo, Io, Ready, Received, TURN_BYTES, Tls, TlsClient, Token, Turn,
};
pub use crate::pool::{
    Broadcast, Part, Pool, SharedSlice, SliceOutcome, SliceParticipants, WorkerSlice,
};
pub use crate::protocol::message::MessageSource;
pub use crate::protocol::{Http, Http2, Protocol, WebSocket};
pub use crate::random::Random;
pub use crate::scenario::ScenarioPool;
pub use crate::scenario::plan::ScenarioPlan;
pub use crate::scenario::runner::ScenarioRunner;
pub use crate::sessions::{SessionRunner, VisitRunner};
pub use crate::workers::prepared::Prepared;

use crate::connection::slot::SlotState;

impl<I: Io, C: Protocol> Pool<I, C> {
    pub fn in_flight(&self) -> usize {
        self.progress.in_flight
    }

    pub fn are_slots_free(&self) -> bool {
        self.slots.iter().all(|slot| slot.flights.is_empty())
    }

    /// When each connection's last response was complete.
    pub fn last_responses(&self) -> impl Iterator<Item = Nanos> {
        self.slots.iter().map(|slot| slot.clock.last())
    }

    /// How many requests each connection has room for without growing.
    pub fn rooms(&self) -> impl Iterator<Item = usize> {
        self.slots.iter().map(|slot| slot.flights.room())
    }

    /// Whether the running counts equal those over all slots.
    pub fn are_connection_counts_right(&self) -> bool {
        let count = |state| self.slots.iter().filter(|slot| slot.state == state).count();
        let counts = &self.connection_counts;
        (counts.connecting, counts.standing)
            == (count(SlotState::Connecting), count(SlotState::Standing))
    }
}
