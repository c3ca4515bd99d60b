//! What a controller wants, and what it tells of its agents.

use std::sync::Arc;

use abx_evidence::record::OnLoss;

use crate::timing::FleetTiming;

/// What a controller wants.
#[derive(Debug, Clone)]
pub struct FleetPlan {
    pub agents: usize,
    /// The SHA-256 of the program that each of them must be: see
    /// [`own_build`](crate::own_build).
    pub build: String,
    pub timing: FleetTiming,
    /// What is done when one of them is lost.
    pub on_loss: OnLoss,
}

/// What a controller tells of its agents, each by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FleetEvent {
    Joined {
        agent: String,
    },
    NotWanted {
        agent: String,
        why: String,
    },
    /// It makes load for another controller.
    Busy {
        agent: String,
    },
    /// Agents keep nothing of what they count: what would say of what it is does not fit into
    /// a message of the bus.
    NotSaved {
        /// How many bytes it has.
        bytes: usize,
    },
    /// Nothing was heard of it for a while.
    Silent {
        agent: String,
    },
    /// It was silent and is there again.
    Back {
        agent: String,
    },
    /// It is not there any more.
    Lost {
        agent: String,
        how: String,
    },
}

/// Told of agents, by several threads.
pub type TellFleet = Arc<dyn Fn(FleetEvent) + Send + Sync>;
