//! Connections that are opened, are idle for a while, and are closed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::distribution::quantile::median;
use crate::measure::sum::sum;

/// The results of holding idle connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    /// Requested connections.
    pub asked: u64,
    /// Connections that were still open at the end of the hold time.
    pub standing: u64,
    /// Connections that had been open and were gone by then.
    pub lost: u64,
    /// From the first try to connect to the end of the last handshake.
    pub open_ns: u64,
    /// The server's memory before its first connections. Pages that its processes
    /// share count once. Pages of files do not count, because their share depends on
    /// other processes. `None` if not readable.
    pub memory_before_bytes: Option<u64>,
    /// The server's memory with the connections that were still open.
    pub memory_after_bytes: Option<u64>,
}

impl Held {
    /// Connections opened per second, handshake included; `None` without any.
    #[must_use]
    pub fn connect_rate_per_s(&self) -> Option<f64> {
        let opened = self.standing.saturating_add(self.lost);
        (opened > 0 && self.open_ns > 0).then(|| opened as f64 / (self.open_ns as f64 / 1e9))
    }

    /// The growth of the server's memory, in bytes per open connection; `None` if memory could not
    /// be read or did not grow, and without open connections.
    #[must_use]
    pub fn memory_per_connection(&self) -> Option<f64> {
        let grown = self
            .memory_after_bytes?
            .checked_sub(self.memory_before_bytes?)?;
        (grown > 0 && self.standing > 0).then(|| grown as f64 / self.standing as f64)
    }
}

/// The results of holding idle connections, over all blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldFigures {
    /// Requested connections, in all blocks.
    pub asked: u64,
    /// Connections that were still open at the end of the hold time.
    pub standing: u64,
    /// Connections that had been open and were gone by then.
    pub lost: u64,
    /// Connections opened per second, the median over blocks; `None` without any.
    pub connect_rate_per_s: Option<f64>,
    /// Memory of the server in bytes per connection, the median over blocks; `None`
    /// if it is not known.
    pub memory_per_connection: Option<f64>,
}

impl HeldFigures {
    /// The figures over all blocks; `None` without any.
    pub fn of(blocks: &[Held]) -> Option<HeldFigures> {
        let sum = |of: fn(&Held) -> u64| sum(blocks.iter().map(of));
        let median = |of: fn(&Held) -> Option<f64>| median(blocks.iter().filter_map(of));
        (!blocks.is_empty()).then(|| HeldFigures {
            asked: sum(|held| held.asked),
            standing: sum(|held| held.standing),
            lost: sum(|held| held.lost),
            connect_rate_per_s: median(Held::connect_rate_per_s),
            memory_per_connection: median(Held::memory_per_connection),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_over_connections_that_were_open() {
        // Method: 90 of 100 are open, 5 more were; then memory that shrank, memory that was not
        // read, and no connections.
        let held = Held {
            asked: 100,
            standing: 90,
            lost: 5,
            open_ns: 500_000_000,
            memory_before_bytes: Some(1_000),
            memory_after_bytes: Some(10_000),
        };
        assert_eq!(held.connect_rate_per_s(), Some(190.0));
        assert_eq!(held.memory_per_connection(), Some(100.0));
        let shrunk = Held {
            memory_after_bytes: Some(900),
            ..held
        };
        assert_eq!(shrunk.memory_per_connection(), None);
        let unread = Held {
            memory_before_bytes: None,
            ..held
        };
        assert_eq!(unread.memory_per_connection(), None);
        let none = Held::default();
        assert_eq!(none.connect_rate_per_s(), None);
        assert_eq!(none.memory_per_connection(), None);
    }
}
