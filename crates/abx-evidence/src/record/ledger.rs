//! Where a subject's CPU time went, by samples.

use abx_ledger::Ledger;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Samples of what a subject's processes ran, taken after the slices of a block that count,
/// while the same load went on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerRecord {
    /// For how long the load was sampled, in ns of wall time.
    pub sampled_ns: u64,
    /// Samples per second of CPU time.
    pub samples_per_s: u32,
    /// Whole responses meanwhile, those in the discarded part of the interval included.
    pub completed: u64,
    /// Processor time of the subject meanwhile; `None` when not readable.
    pub server_cpu_ns: Option<u64>,
    /// The part of it in user mode, in steps of 10 ms; `None` when not readable.
    #[serde(default)]
    pub server_user_ns: Option<u64>,
    /// The part of it in the kernel, in steps of 10 ms; `None` when not readable.
    #[serde(default)]
    pub server_system_ns: Option<u64>,
    /// Why nothing was sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The samples, by what they are charged to.
    #[serde(flatten)]
    pub ledger: Ledger,
}

impl LedgerRecord {
    /// One without samples, for this reason.
    #[must_use]
    pub fn failed(reason: &str) -> LedgerRecord {
        LedgerRecord {
            sampled_ns: 0,
            samples_per_s: 0,
            completed: 0,
            server_cpu_ns: None,
            server_user_ns: None,
            server_system_ns: None,
            failure: Some(reason.to_owned()),
            ledger: Ledger::default(),
        }
    }
}
