//! What an agent tells of itself.

use std::path::PathBuf;

/// What an agent tells of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEvent {
    /// It has a part in a run.
    Joined {
        /// Its slot, from 0.
        slot: usize,
        slots: usize,
    },
    /// A controller does not want it.
    NotWanted {
        why: String,
    },
    Refuses {
        why: String,
    },
    RunEnded,
    /// Nothing was heard of the controller, so it ended its load.
    ControllerLost,
    /// The controller had given it up, so it ended its load.
    GivenUp,
    /// What it counted cannot be kept here; the load goes on.
    NotSaved {
        why: String,
    },
    /// What it counted is kept here, since nobody has fetched it.
    Saved {
        file: PathBuf,
    },
    /// A slice had not ended long after its time, so it ended it.
    Overdue,
}
