//! The plan of a controller, and its events about agents.

use std::sync::Arc;

use abx_evidence::record::OnLoss;

use crate::timing::FleetTiming;

/// The plan of a controller.
#[derive(Debug, Clone)]
pub struct FleetPlan {
    pub agents: usize,
    /// The SHA-256 of the program that each of them must be: see
    /// [`own_build`](crate::own_build).
    pub build: String,
    pub timing: FleetTiming,
    /// The action when one of them is lost.
    pub on_loss: OnLoss,
}

/// An event about an agent, which it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FleetEvent {
    Joined {
        agent: String,
    },
    Rejected {
        agent: String,
        why: String,
    },
    /// It makes load for another controller.
    Busy {
        agent: String,
    },
    /// Agents keep none of their counts: the record that would identify them does not fit into a
    /// message of the bus.
    NotSaved {
        /// How many bytes it has.
        bytes: usize,
    },
    /// No message came from it for a while.
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

/// Receives events about agents, from several threads.
pub type FleetListener = Arc<dyn Fn(FleetEvent) + Send + Sync>;
