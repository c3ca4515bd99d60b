//! The threads that make load.

use abx_evidence::Wait;
use serde::{Deserialize, Serialize};

/// The threads that make load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnginePlan {
    /// How many worker threads, at least one.
    pub threads: usize,
    /// Processors to which the workers are pinned in turn; if empty, the kernel places the
    /// workers.
    pub cpus: Vec<usize>,
    /// How a worker waits for responses. SUBTLE: awake only if each worker has a
    /// processor that nothing else needs, least of all the server.
    #[serde(default)]
    pub wait: Wait,
}
