//! Where a subject's CPU time went, by samples, and what it did for its responses.

use std::collections::BTreeMap;

use abx_ledger::{Ledger, Waits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Samples of what a subject's processes ran, taken after the slices of a block that count,
/// while the same load went on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Threads of the subject that ran meanwhile, of those that were there at the end; `None`
    /// when not readable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// What the generator's connections got meanwhile; absent when the load comes from another
    /// machine or over no TCP, and when the kernel does not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments: Option<SegmentRecord>,
    /// System calls and waits, from an interval after that of the samples; absent in older
    /// records and after a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<CallRecord>,
    /// Why nothing was sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The samples, by what they are charged to.
    #[serde(flatten)]
    pub ledger: Ledger,
}

/// TCP segments with data that the generator's connections got, of those that stood from
/// before the interval until after it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SegmentRecord {
    pub received: u64,
    /// The bytes in them, as TCP carries them.
    pub bytes: u64,
    /// Connections that were opened meanwhile, whose segments are not in the sum.
    pub opened: u64,
}

/// System calls of a subject, each of which was counted, and what its threads waited in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallRecord {
    /// For how long, in ns of wall time.
    pub counted_ns: u64,
    /// Whole responses meanwhile, those in the discarded part of the interval included.
    pub completed: u64,
    /// Why calls were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Calls by the name that strace prints, or by number if abx does not know the name.
    pub by_name: BTreeMap<String, u64>,
    /// Calls that were not counted, of all processes: the table was full.
    pub missed: u64,
    /// Absent if the machine forbids to look at changes of threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
}

impl LedgerRecord {
    /// One without samples, for this reason.
    #[must_use]
    pub fn failed(reason: &str) -> LedgerRecord {
        LedgerRecord {
            failure: Some(reason.to_owned()),
            ..LedgerRecord::default()
        }
    }
}
