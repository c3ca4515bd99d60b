//! Events that an agent reports about itself.

use std::path::PathBuf;

/// An event that an agent reports about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEvent {
    /// It has a part in a run.
    Joined {
        /// Its slot, from 0.
        slot: usize,
        slots: usize,
    },
    /// A controller rejected the agent.
    Rejected {
        why: String,
    },
    Refuses {
        why: String,
    },
    RunEnded,
    /// No message came from the controller, so the agent ended its load.
    ControllerLost,
    /// The controller had given the agent up, so it ended its load.
    GivenUp,
    /// The agent's counts cannot be kept on its disk; the load continues.
    NotSaved {
        why: String,
    },
    /// The agent's counts are saved on its disk, because no controller has fetched them.
    Saved {
        file: PathBuf,
    },
    /// A slice was still running long after its time, so the agent ended it.
    Overdue,
}
