//! The plan of an agent.

use std::path::PathBuf;

use abx_engine::EnginePlan;
use abx_sys::Nanos;

use super::limits::AgentLimits;
use crate::timing::FleetTiming;

/// The plan of an agent.
#[derive(Debug, Clone)]
pub struct AgentPlan {
    /// Distinguishes it from all other processes: letters, digits and `-`.
    pub id: String,
    pub name: String,
    /// The slot that it must have, from 0; `None` for any.
    pub slot: Option<usize>,
    /// The SHA-256 of its program: see [`own_build`](crate::own_build).
    pub build: String,
    /// The threads that make its load.
    pub engine: EnginePlan,
    pub limits: AgentLimits,
    pub timing: FleetTiming,
    /// Whether it ends with its first run.
    pub once: bool,
    /// The folder in which it keeps its counts of runs; `None` to keep none.
    pub finals: Option<PathBuf>,
    /// How far its clock is ahead of this machine's, in ns: tests set here how far clocks differ.
    pub skew_ns: i64,
}

impl AgentPlan {
    pub(super) fn now_ns(&self) -> i64 {
        let own_count = i64::try_from(Nanos::now().0).unwrap_or(i64::MAX);
        own_count.saturating_add(self.skew_ns)
    }
}
