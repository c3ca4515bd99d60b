//! The waits of threads without a CPU.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Line;

/// How long the threads of some processes waited, by system call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waits {
    /// Context switches of all processes that were lost because a buffer was full.
    pub lost: u64,
    /// Waits that began and ended during the observation.
    pub lines: BTreeMap<Line, WaitTime>,
}

/// Waits of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitTime {
    pub count: u64,
    /// The time without a CPU, in ns, summed over threads.
    pub ns: u64,
}

impl Waits {
    /// Adds one wait.
    pub fn add(&mut self, line: Line, ns: u64) {
        let wait = self.lines.entry(line).or_default();
        wait.count = wait.count.saturating_add(1);
        wait.ns = wait.ns.saturating_add(ns);
    }
}
