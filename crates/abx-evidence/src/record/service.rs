//! What is kept of services: servers that subjects need and that are not compared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A server that all subjects of a block need, such as a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceRecord {
    /// Its name in this study.
    pub name: String,
    /// The argument list that started it, with its placeholders.
    pub command: Vec<String>,
    /// How long one start of it was to serve.
    pub restart: Restarted,
}

/// When a service is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Restarted {
    /// Only after it has died.
    Study,
    /// For each block.
    Block,
}

/// One service in one block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockService {
    /// The port that it was given.
    pub port: u16,
    /// Whether it was started for this block.
    pub started: bool,
    /// From its start until it was ready, in seconds.
    pub ready_s: Option<f64>,
    /// How long filling it with data took, in seconds; `None` where that is not done.
    pub seed_s: Option<f64>,
    /// Processor time of its processes over the block's loads; `None` when not readable.
    pub cpu_s: Option<f64>,
    /// The most memory of its processes together that was seen in the block, pages that
    /// they share counted for each; `None` when not readable.
    pub rss_bytes_max: Option<u64>,
    /// How it ended, when it ended by itself while subjects were loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub died: Option<String>,
}
