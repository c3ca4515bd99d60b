//! Services in a record: servers that subjects need and that are not compared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A server that all subjects of a block need, such as a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceRecord {
    /// Its name in this study.
    pub name: String,
    /// The argument list that started it, with its placeholders.
    pub command: Vec<String>,
    /// How long one start of it serves.
    pub restart: Restarted,
}

/// How long one start of a service serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Restarted {
    /// The whole study, unless the service ends by itself.
    Study,
    /// One block.
    Block,
}

/// One service in one block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockService {
    /// The port that it got.
    pub port: u16,
    /// Whether it was started for this block.
    pub started: bool,
    /// The time from its start until it was ready, in seconds.
    pub ready_s: Option<f64>,
    /// How long filling it with data took, in seconds; `None` without a `seed`.
    pub seed_s: Option<f64>,
    /// CPU time of its processes over the block's loads; `None` if not readable.
    pub cpu_s: Option<f64>,
    /// The most memory of all its processes that was seen in the block. Shared pages
    /// count for each process. `None` if not readable.
    pub rss_bytes_max: Option<u64>,
    /// How it ended, if it ended by itself while subjects were loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub died: Option<String>,
}
