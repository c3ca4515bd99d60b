//! How a connection carries requests and answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a connection carries requests and answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Exchange {
    /// What is spoken, such as `http/1.1`.
    pub protocol: String,
    /// Requests that a connection has in flight at most.
    pub pipeline: u32,
}

impl Default for Exchange {
    /// One request at a time in HTTP/1.1.
    fn default() -> Exchange {
        Exchange {
            protocol: "http/1.1".to_owned(),
            pipeline: 1,
        }
    }
}

impl Exchange {
    /// Requests that so many connections have in flight at most.
    #[must_use]
    pub fn in_flight(&self, connections: u32) -> u64 {
        u64::from(connections) * u64::from(self.pipeline.max(1))
    }
}
