//! What the pilot, a first block that does not count, found and set.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How subjects take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interleave {
    /// Short slices of each in random order.
    Slices,
    /// One long interval of each in random order.
    Trials,
}

/// What the discarded first block found and set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PilotRecord {
    /// How subjects take turns.
    pub interleave: Interleave,
    /// Why they do not take turns as was asked; `None` when they do.
    pub interleave_reason: Option<String>,
    /// The length of a slice or trial.
    pub slice_ns: u64,
    /// The number of requests that ends a run instead of a length, which is 0 then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice_requests: Option<u64>,
    /// The first part of each slice, which is not counted.
    pub discard_ns: u64,
    /// Why slices are longer than usual or than asked; `None` when they are not.
    pub slice_reason: Option<String>,
    /// Rounds of a block for this load.
    pub rounds: u32,
    /// Whether a block has less of this load than usual, so that the study fits into
    /// the time that was given for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shortened: bool,
    /// The warm-up of each subject in each block.
    pub warm_up_ns: u64,
    /// What each subject gave.
    pub subjects: BTreeMap<String, PilotSubject>,
}

/// What one subject gave in the pilot.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PilotSubject {
    /// Its throughput in requests per second.
    pub throughput_per_s: f64,
    /// Its warm-up as found.
    pub warm_up_ns: u64,
    /// Whether it had settled within the pilot.
    pub settled: bool,
    /// The share of one processor that it used in the slice after its own, the
    /// first tenth left out; `None` when that cannot be read.
    #[serde(rename = "lingering")]
    pub background_cpu: Option<f64>,
    /// How it failed under this load, under which it was then not measured; absent when
    /// it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Whether the pilot's time was up before anybody could see whether it had settled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
    /// How long the opening of its connections took; 0 where that was not looked at.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub opening_ns: u64,
    /// What a slice took beyond its length, a mean: load goes on at its edges until each
    /// connection has had a response. 0 where that was not looked at.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub switch_ns: u64,
}

fn is_zero(ns: &u64) -> bool {
    *ns == 0
}
