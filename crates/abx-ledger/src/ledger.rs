//! The ledger: samples by line.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Folded, Line};

/// The parts of the CPU time of some processes, in samples of equal CPU time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ledger {
    /// The sum of `lines`.
    pub samples: u64,
    /// Samples of all processes that were taken and lost because a buffer was full.
    pub lost: u64,
    /// How often the kernel suspended the sampling of any process because it took too much time.
    #[serde(default)]
    pub throttled: u64,
    /// Threads that were not sampled, because each needs descriptors.
    #[serde(default)]
    pub threads_left_out: u64,
    /// Whether only user code was sampled, so that no line belongs to the kernel.
    #[serde(default)]
    pub without_kernel: bool,
    /// Samples by line.
    pub lines: BTreeMap<Line, u64>,
    /// Samples by the name of the thread, in which `*` stands for a number. Threads that have only
    /// the name of their program are `NAME, other threads`. Absent in older records.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_thread: BTreeMap<String, u64>,
    /// The call chains with the most samples.
    pub stacks: Folded,
    /// Samples of user code whose function has no name, because its program has no symbols.
    pub without_symbols: u64,
}

impl Ledger {
    /// Counts samples of a stack, whose frames stand outermost first.
    pub fn add<'a>(
        &mut self,
        line: &Line,
        frames: impl IntoIterator<Item = &'a str>,
        samples: u64,
    ) {
        self.add_to_line(line, samples);
        self.stacks.add(line, frames, samples);
    }

    /// Counts samples of stacks that were not kept.
    pub fn add_others(&mut self, line: &Line, samples: u64) {
        self.add_to_line(line, samples);
        self.stacks.add_others(line, samples);
    }

    /// Adds the counts of another ledger, which has the same rate of samples.
    pub fn merge(&mut self, other: &Ledger) {
        for (line, samples) in &other.lines {
            self.add_to_line(line, *samples);
        }
        for (name, samples) in &other.by_thread {
            let count = self.by_thread.entry(name.clone()).or_default();
            *count = count.saturating_add(*samples);
        }
        self.lost = self.lost.saturating_add(other.lost);
        self.throttled = self.throttled.saturating_add(other.throttled);
        self.threads_left_out = self.threads_left_out.max(other.threads_left_out);
        self.without_kernel |= other.without_kernel;
        self.without_symbols = self.without_symbols.saturating_add(other.without_symbols);
        self.stacks.merge(&other.stacks);
    }

    /// Whether nothing is known to be missing.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.lost == 0 && self.throttled == 0 && self.threads_left_out == 0
    }

    fn add_to_line(&mut self, line: &Line, samples: u64) {
        if samples == 0 {
            return;
        }
        self.samples = self.samples.saturating_add(samples);
        let count = self.lines.entry(line.clone()).or_default();
        *count = count.saturating_add(samples);
    }
}
