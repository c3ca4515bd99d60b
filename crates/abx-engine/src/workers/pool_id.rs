//! The identity of a pool, for callers and workers.

use crate::plan::LoadPart;

/// A pool of connections: one subject, one load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PoolId {
    pub(super) number: u64,
    /// Connections of the whole load.
    pub(super) connections: u64,
    pub(super) part: LoadPart,
    /// The number of workers with a share of the pool.
    pub(super) workers: u64,
}

impl PoolId {
    /// Identifies a pool of this many connections, shared by this many workers. `number`
    /// is unique within its generator.
    #[must_use]
    pub fn new(number: u64, connections: u64, workers: u64) -> PoolId {
        PoolId {
            number,
            connections,
            part: LoadPart::WHOLE,
            workers,
        }
    }

    /// The pool's first connection among all of the load, and the first of the next part.
    pub(super) fn bounds(self) -> (u64, u64) {
        self.part.connections(self.connections)
    }

    pub(super) fn size(self) -> u64 {
        let (first, next) = self.bounds();
        next - first
    }

    /// The number, unique within its generator.
    #[must_use]
    pub fn number(self) -> u64 {
        self.number
    }
}
