//! One generator's part of a load.

use serde::{Deserialize, Serialize};

/// The part of a load that one of several generators makes: its connections, and one in every
/// `of` requests of a schedule. All parts together are exactly the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LoadPart {
    /// Its number, from 0 and below `of`.
    pub number: u32,
    /// How many parts there are; each needs a connection.
    pub of: u32,
}

impl LoadPart {
    /// All of it.
    pub const WHOLE: LoadPart = LoadPart { number: 0, of: 1 };

    /// Its first connection among `connections`, and that of the next part.
    #[must_use]
    pub fn connections(self, connections: u64) -> (u64, u64) {
        let (number, of) = (u64::from(self.number), u64::from(self.of));
        let before = |number| share_before(connections, number, of);
        (before(number), before(number + 1))
    }
}

/// The part of `total` that falls to the first `number` of `count` shares; two shares differ by
/// at most one.
pub(crate) fn share_before(total: u64, number: u64, count: u64) -> u64 {
    total / count * number + number.min(total % count)
}
