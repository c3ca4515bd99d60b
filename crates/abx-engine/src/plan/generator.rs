//! The threads that make load.

use abx_evidence::Wait;
use serde::{Deserialize, Serialize};

/// The threads that make load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnginePlan {
    /// How many worker threads, at least one.
    pub threads: usize,
    /// Processors that the workers are pinned to, each to one in turn; empty
    /// leaves them where the kernel puts them.
    pub cpus: Vec<usize>,
    /// How a worker waits for responses. SUBTLE: awake only where each worker has a
    /// processor that nobody else needs, before all the server.
    #[serde(default)]
    pub wait: Wait,
}
