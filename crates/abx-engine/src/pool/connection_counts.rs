//! How many connections of a pool are open and how many are in the making, updated with each
//! change: counting all slots per wake-up would cost more than the connections.

use crate::connection::slot::SlotState;

/// The connections of a pool by their state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ConnectionCounts {
    pub(crate) connecting: usize,
    pub(crate) standing: usize,
    pub(super) made: u64,
}

impl ConnectionCounts {
    pub(super) fn begins(&mut self) {
        self.connecting += 1;
    }

    pub(super) fn opens(&mut self) {
        self.connecting -= 1;
        self.standing += 1;
        self.made += 1;
    }

    /// Notes that a slot has left this state.
    pub(super) fn leaves(&mut self, state: SlotState) {
        match state {
            SlotState::Connecting => self.connecting -= 1,
            SlotState::Standing => self.standing -= 1,
            SlotState::Closed | SlotState::Resting(_) => {}
        }
    }
}
