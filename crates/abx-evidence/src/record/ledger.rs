//! Where a subject's CPU time went, by samples, and its system calls and waits.

use std::collections::BTreeMap;

use abx_ledger::{Ledger, Waits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Samples of the code that a subject's processes ran. They are taken after the counted slices
/// of a block, under the same load.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerRecord {
    /// For how long the load was sampled, in ns of wall-clock time.
    pub sampled_ns: u64,
    /// Samples per second of CPU time.
    pub samples_per_s: u32,
    /// Complete responses meanwhile, including those in the discarded part of the interval.
    pub completed: u64,
    /// CPU time of the subject meanwhile; `None` if not readable.
    pub server_cpu_ns: Option<u64>,
    /// Its part in user mode, in steps of 10 ms; `None` if not readable.
    #[serde(default)]
    pub server_user_ns: Option<u64>,
    /// Its part in the kernel, in steps of 10 ms; `None` if not readable.
    #[serde(default)]
    pub server_system_ns: Option<u64>,
    /// Threads of the subject that ran meanwhile and still existed at the end; `None`
    /// if not readable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// TCP segments that the generator's connections received meanwhile. Absent if the load comes
    /// from another machine or does not use TCP, and if the kernel does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments: Option<SegmentRecord>,
    /// System calls and waits, from an interval after the one of the samples. Absent in older
    /// records and after a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<CallRecord>,
    /// The reason why nothing was sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The samples, by the line to which they are charged.
    #[serde(flatten)]
    pub ledger: Ledger,
    /// The samples of all services meanwhile, without stacks. Absent if there are none, if
    /// only user code was sampled, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub services: Option<Ledger>,
}

/// TCP segments with data that the generator's connections received. Only connections that
/// existed before and after the interval count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SegmentRecord {
    pub received: u64,
    /// The bytes in them, as TCP carries them.
    pub bytes: u64,
    /// Connections that were opened meanwhile. Their segments are not in the sum.
    pub opened: u64,
}

/// System calls of a subject, all of them counted, and the waits of its threads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallRecord {
    /// For how long they were counted, in ns of wall-clock time.
    pub counted_ns: u64,
    /// Complete responses meanwhile, including those in the discarded part of the interval.
    pub completed: u64,
    /// The reason why calls were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Calls by the name that strace prints, or by number if abx does not know the name.
    pub by_name: BTreeMap<String, u64>,
    /// Calls of all processes that were not counted because the table was full.
    pub missed: u64,
    /// The waits; absent if the machine does not allow abx to observe context switches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
}

impl LedgerRecord {
    /// A record without samples, for this reason.
    #[must_use]
    pub fn failed(reason: &str) -> LedgerRecord {
        LedgerRecord {
            failure: Some(reason.to_owned()),
            ..LedgerRecord::default()
        }
    }
}
