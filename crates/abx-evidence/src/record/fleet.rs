//! The machines that made the load, if it was not made by abx's own process.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The agents of a study, and the bus that carried their orders and results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetRecord {
    /// The bus: `nats` or, within one process, `local`.
    pub bus: String,
    /// Its version, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus_version: Option<String>,
    /// The requested reaction to the loss of an agent.
    #[serde(default, skip_serializing_if = "OnLoss::is_abort")]
    pub on_loss: OnLoss,
    /// Whether a part of the load, or of its results, is missing. The agents concerned have `lost`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Whether this was put together from the saved results of agents, because the controller
    /// ended before it had received them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub collected: bool,
    /// The agents, by slot.
    pub agents: Vec<AgentRecord>,
}

/// One agent: a process that made a part of the load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRecord {
    /// The part of the load that it made, from 1.
    pub slot: u32,
    /// Its name.
    pub name: String,
    /// The SHA-256 of its program file. All agents have the same.
    pub build: String,
    /// Its kernel's release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Its CPU's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_model: Option<String>,
    /// Whether it shares the loopback addresses of the machine that the record is of.
    pub is_here: bool,
    /// Worker threads.
    pub threads: usize,
    /// Its monotonic clock minus that of the controller, as measured last, in ns.
    pub clock_offset_ns: i64,
    /// The largest error of that difference, in ns: half of the shortest round trip of a
    /// measurement.
    pub clock_bound_ns: u64,
    /// Slices that it took part in.
    pub slices: u64,
    /// The longest delay with which it began a slice, in ns.
    pub late_ns_max: u64,
    /// Slices of which it missed more than a tenth because it started late. Slices that end by a
    /// number of requests do not count.
    pub late_slices: u64,
    /// How well its generator kept pace.
    #[serde(default, skip_serializing_if = "AgentPace::is_empty")]
    pub pace: AgentPace,
    /// How it was lost; `None` if it was there until the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// The time of its last message, in milliseconds since 1970-01-01 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_unix_ms: Option<u64>,
}

/// The reaction to the loss of an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnLoss {
    /// The others stop.
    #[default]
    Abort,
    /// The others continue with their own parts.
    Continue,
}

impl OnLoss {
    fn is_abort(&self) -> bool {
        *self == OnLoss::Abort
    }
}

/// The work of one agent's generator in all of its slices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentPace {
    /// How long the slices took, in ns.
    pub wall_ns: u64,
    /// CPU time of the busiest worker of each slice, in ns.
    pub busiest_worker_ns: u64,
    /// Time for which its workers were ready to run but did not, in ns; absent if its kernel
    /// does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ns: Option<u64>,
    /// One send in 100 was late by more than this because of the generator, in µs; absent in a
    /// closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness_us_p99: Option<u64>,
    /// In one turn in 100, the generator's loop was away from its clock for longer than this, in
    /// µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_lag_us_p99: Option<u64>,
}

impl AgentPace {
    fn is_empty(&self) -> bool {
        *self == AgentPace::default()
    }
}
