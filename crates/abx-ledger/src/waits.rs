//! What threads waited in while they had no CPU.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Line;

/// For how long the threads of some processes waited, by the system call that they waited in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waits {
    /// Changes of threads that found no room in a buffer, of all processes.
    pub lost: u64,
    /// Waits that began and ended while they were looked at.
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
