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
    /// How it was lost; `None` for one that was there to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}
