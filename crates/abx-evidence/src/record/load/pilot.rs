//! The results of the pilot, a first block that does not count, and the settings that it chose.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How subjects take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interleave {
    /// Short slices of each in random order.
    Slices,
    /// One long period of each in random order.
    Trials,
}

/// The results of the pilot: the first block, which is discarded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PilotRecord {
    /// How subjects take turns.
    pub interleave: Interleave,
    /// The reason why they do not take turns as requested; `None` if they do.
    pub interleave_reason: Option<String>,
    /// The length of a slice or trial.
    pub slice_ns: u64,
    /// The number of requests that ends a run instead of a length. The length is then 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice_requests: Option<u64>,
    /// The first part of each slice, which is not counted.
    pub discard_ns: u64,
    /// The reason why slices are longer than usual or than requested; `None` if they are not.
    pub slice_reason: Option<String>,
    /// Rounds per block for this load.
    pub rounds: u32,
    /// Whether a block has less of this load than usual, so that the study fits into
    /// the time that it may take.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shortened: bool,
    /// The warm-up of each subject in each block.
    pub warm_up_ns: u64,
    /// The results of each subject that the load is offered to; empty for a run.
    pub subjects: BTreeMap<String, PilotSubject>,
}

/// The results of one subject in the pilot.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PilotSubject {
    /// Its throughput in requests per second.
    pub throughput_per_s: f64,
    /// Its mean response time if requests are due by a schedule. 0 in a closed loop, where it
    /// follows from the throughput, or if no request was completed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub response_ns: u64,
    /// The warm-up that it needed.
    pub warm_up_ns: u64,
    /// Whether its throughput had settled within the pilot.
    pub settled: bool,
    /// The share of one CPU that it used in the slice after its own, without the
    /// first tenth; `None` if that cannot be read.
    #[serde(rename = "lingering")]
    pub background_cpu: Option<f64>,
    /// How it failed under this load. It was then not measured under it. Absent if it did
    /// not fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Whether the pilot's time was up before it was known whether it had settled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
    /// How long opening its connections took; 0 if that was not measured.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub opening_ns: u64,
    /// The mean time that a slice took beyond its length. Its load ends only when each
    /// connection has had a response. 0 if that was not measured.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub switch_ns: u64,
}

fn is_zero(ns: &u64) -> bool {
    *ns == 0
}
