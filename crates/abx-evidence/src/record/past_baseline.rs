//! What is kept of an older record whose subject this study is compared with: all
//! that the comparison needs, so that the older record is not needed again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::finding::Finding;
use crate::record::{ResponseRecord, SubjectRecord};

/// The subject of an older record that this study is compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PastBaseline {
    /// Where the older record was read from.
    pub record: String,
    /// When that study started, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// The version of abx that measured it.
    pub abx_version: String,
    /// The subject, as it was then.
    pub subject: SubjectRecord,
    /// What it gave then: one for each load of the new study.
    pub loads: Vec<PastMeasurement>,
}

/// What the older study's subject gave under one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PastLoad")]
pub struct PastMeasurement {
    /// The load's name in the new study.
    pub load: String,
    /// Verified responses per second in each block, all above zero.
    pub throughputs_per_s: Vec<f64>,
    /// Whether the generator was its limit.
    pub is_generator_bound: bool,
    /// Requests that were due in an open loop, when it answered all of them.
    pub kept_up_with: Option<u64>,
    /// What it answered before the load, in the order of the requests.
    #[serde(rename = "answers")]
    pub responses: Vec<ResponseRecord>,
    /// What made its throughput a bound then, and what else the machine did.
    pub findings: Vec<Finding>,
    /// What was measured beside it in the same blocks, and might be again now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<PastReference>,
}

impl PastMeasurement {
    /// How many blocks there are.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.throughputs_per_s.len()
    }
}

/// What was measured beside the older study's subject, in the same blocks: what it gives
/// now tells how the machine has changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PastReference {
    /// Another subject, as it was then; `None` for the server that does nothing, of which
    /// the generator's ceiling is known.
    pub subject: Option<SubjectRecord>,
    /// Verified responses per second in each block, all above zero.
    pub throughputs_per_s: Vec<f64>,
}
