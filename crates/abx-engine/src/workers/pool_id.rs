//! The name of a pool, for callers and workers.

use crate::plan::LoadPart;

/// A pool of connections: one subject, one load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PoolId {
    pub(super) number: u64,
    /// Those of the whole load.
    pub(super) connections: u64,
    pub(super) part: LoadPart,
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
            part: LoadPart::WHOLE,
            workers,
        }
    }

    /// The first of all connections of the load that is its own, and the first of the next
    /// part.
    pub(super) fn own(self) -> (u64, u64) {
        self.part.connections(self.connections)
    }

    pub(super) fn size(self) -> u64 {
        let (first, next) = self.own();
        next - first
    }

    /// What tells it from all other pools of its generator.
    #[must_use]
    pub fn number(self) -> u64 {
        self.number
    }
}
