//! The name of a pool, for callers and workers.

/// A pool of connections: one subject, one load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PoolId {
    pub(super) number: u64,
    pub(super) connections: u64,
    /// Workers that have a part of it.
    pub(super) workers: u64,
}

impl PoolId {
    /// A name for a pool of so many connections, shared by so many workers. `number`
    /// tells it from all others of its generator.
    #[must_use]
    pub fn new(number: u64, connections: u64, workers: u64) -> PoolId {
        PoolId {
            number,
            connections,
            workers,
        }
    }

    /// What tells it from all other pools of its generator.
    #[must_use]
    pub fn number(self) -> u64 {
        self.number
    }
}
