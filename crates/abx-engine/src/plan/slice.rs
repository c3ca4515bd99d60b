//! How long a pool is loaded.

use abx_evidence::CoursePlan;
use serde::{Deserialize, Serialize};

/// When a slice stops sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SliceEnd {
    /// After this time.
    AfterNs(u64),
    /// After this many requests over all connections.
    AfterRequests(u64),
}

/// One slice of load on one pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlicePlan {
    /// When it stops sending; responses in flight are then awaited.
    pub end: SliceEnd,
    /// Requests sent before this much of the slice has passed are not counted.
    pub discard_ns: u64,
    /// How the course of the slice is recorded; `None` to record none.
    #[serde(default)]
    pub course: Option<CoursePlan>,
}
