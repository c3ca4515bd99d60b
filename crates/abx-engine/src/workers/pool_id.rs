//! The name of a pool, for callers and workers.

use crate::plan::backend::BackendUsed;

/// A pool of connections: one subject, one load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PoolId {
    pub(super) number: u64,
    pub(super) connections: u64,
    pub(super) backend: BackendUsed,
    /// Workers that have a part of it.
    pub(super) workers: u64,
}

impl PoolId {
    /// What moves the bytes of this pool.
    #[must_use]
    pub fn backend(self) -> BackendUsed {
        self.backend
    }
}
