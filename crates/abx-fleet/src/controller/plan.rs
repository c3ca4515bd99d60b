//! The plan of a controller, and its events about agents.

use std::sync::Arc;

use abx_evidence::record::OnLoss;

use crate::timing::FleetTiming;

/// The plan of a controller.
#[derive(Debug, Clone)]
pub struct FleetPlan {
    pub agents: usize,
    /// The SHA-256 of the program that all agents must run: see [`own_build`](crate::own_build).
    pub build: String,
    pub timing: FleetTiming,
    /// The action when an agent is lost.
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
    /// The agent generates load for another controller.
    Busy {
        agent: String,
    },
    /// Agents save no counts, because the record that would identify them does not fit into a
    /// message of the bus.
    NotSaved {
        /// The size of the record in bytes.
        bytes: usize,
    },
    /// No message came from the agent for a while.
    Silent {
        agent: String,
    },
    /// The agent was silent, and responds again.
    Back {
        agent: String,
    },
    /// The agent is gone.
    Lost {
        agent: String,
        how: String,
    },
}

/// Receives events about agents, from several threads.
pub type FleetListener = Arc<dyn Fn(FleetEvent) + Send + Sync>;
