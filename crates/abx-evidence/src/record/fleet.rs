//! The machines that made the load, when it was not made by abx's own process.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The agents of a study and what carried their orders and results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetRecord {
    /// What carried them, `nats` or, within one process, `local`.
    pub bus: String,
    /// Its version, when it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus_version: Option<String>,
    /// What was to be done when one of them was lost.
    #[serde(default, skip_serializing_if = "OnLoss::is_abort")]
    pub on_loss: OnLoss,
    /// Whether a part of the load, or of what it gave, is missing; its agents have `lost`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Whether this was put together from what agents had saved, since the controller ended
    /// before it had their results.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub collected: bool,
    /// The agents by slot.
    pub agents: Vec<AgentRecord>,
}

/// One agent: a process that made a part of the load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRecord {
    /// Which part of the load it made, from 1.
    pub slot: u32,
    /// What it is called.
    pub name: String,
    /// The SHA-256 of its program file, which is that of all.
    pub build: String,
    /// Its kernel's release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Its processor's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_model: Option<String>,
    /// Whether it shares the loopback addresses of the machine that the record is of.
    pub is_here: bool,
    /// Worker threads.
    pub threads: usize,
    /// Its monotonic clock less that of the controller, as measured last, in ns.
    pub clock_offset_ns: i64,
    /// That difference is right within this, at its worst, in ns: half of the shortest round
    /// trip of a measurement.
    pub clock_bound_ns: u64,
    /// Slices that it took part in.
    pub slices: u64,
    /// How long after its time it began a slice at most, in ns.
    pub late_ns_max: u64,
    /// Slices of which it missed more than a tenth so; those that end by a number of requests
    /// have no tenth.
    pub late_slices: u64,
    /// How its generator kept pace.
    #[serde(default, skip_serializing_if = "AgentPace::is_empty")]
    pub pace: AgentPace,
    /// How it was lost; `None` for one that was there to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// When it was last heard, in milliseconds since 1970-01-01 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_unix_ms: Option<u64>,
}

/// What is done when an agent is lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnLoss {
    /// The others stop.
    #[default]
    Abort,
    /// The others go on with their own parts.
    Continue,
}

impl OnLoss {
    fn is_abort(&self) -> bool {
        *self == OnLoss::Abort
    }
}

/// What one agent's generator did in all of its slices together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentPace {
    /// How long the slices took, in ns.
    pub wall_ns: u64,
    /// Processor time of the busiest worker of each slice, in ns.
    pub busiest_worker_ns: u64,
    /// Time for which its workers were ready to run and did not, in ns; absent when its kernel
    /// does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ns: Option<u64>,
    /// One send in 100 was later than this by the generator's doing, in µs; absent in a closed
    /// loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness_us_p99: Option<u64>,
    /// In one of 100 turns the generator's loop was away from its clock for longer, in µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_lag_us_p99: Option<u64>,
}

impl AgentPace {
    fn is_empty(&self) -> bool {
        *self == AgentPace::default()
    }
}
