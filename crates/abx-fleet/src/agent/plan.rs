//! The plan of an agent.

use std::path::PathBuf;

use abx_engine::EnginePlan;
use abx_sys::Nanos;

use super::limits::AgentLimits;
use crate::timing::FleetTiming;

/// The plan of an agent.
#[derive(Debug, Clone)]
pub struct AgentPlan {
    /// Unique among all processes: letters, digits and `-`.
    pub id: String,
    pub name: String,
    /// The slot that the agent requires, from 0; `None` for any.
    pub slot: Option<usize>,
    /// The SHA-256 of the agent's program: see [`own_build`](crate::own_build).
    pub build: String,
    /// The engine that generates the load.
    pub engine: EnginePlan,
    pub limits: AgentLimits,
    pub timing: FleetTiming,
    /// Whether the agent ends after its first run.
    pub once: bool,
    /// The folder in which the agent saves its counts of runs; `None` to save none.
    pub finals: Option<PathBuf>,
    /// How far the agent's clock is ahead of this machine's, in ns: zero except in tests.
    pub skew_ns: i64,
}

impl AgentPlan {
    pub(super) fn now_ns(&self) -> i64 {
        let now_ns = i64::try_from(Nanos::now().0).unwrap_or(i64::MAX);
        now_ns.saturating_add(self.skew_ns)
    }
}
