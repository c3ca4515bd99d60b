//! The offset of another machine's clock, estimated from requests and responses.

use std::time::Instant;

/// The offset of another clock from this machine's, and its accuracy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockOffset {
    /// The other clock minus this machine's, in ns.
    pub offset_ns: i64,
    /// The largest possible error, in ns.
    pub bound_ns: u64,
    pub at: Instant,
}

/// The times of one request and its response, in ns: sending by this machine's clock, the reading
/// of the other clock, and arrival by this machine's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    pub requested_ns: i64,
    pub agent_ns: i64,
    pub came_ns: i64,
}

/// Requests per measurement: enough that at least one is usually not delayed.
pub const CLOCK_READINGS: usize = 25;

impl ClockOffset {
    /// Uses the reading with the shortest round trip. The other clock was read during it, so the
    /// middle is wrong by at most half of it. `None` without readings.
    pub fn of(readings: impl IntoIterator<Item = ClockReading>) -> Option<ClockOffset> {
        let round_trip =
            |reading: &ClockReading| reading.came_ns.saturating_sub(reading.requested_ns);
        let best = readings.into_iter().min_by_key(round_trip)?;
        let middle_ns = best.requested_ns + round_trip(&best) / 2;
        Some(ClockOffset {
            offset_ns: best.agent_ns.saturating_sub(middle_ns),
            bound_ns: round_trip(&best).unsigned_abs().div_ceil(2),
            at: Instant::now(),
        })
    }

    /// Converts a time of this machine's clock to that of the other clock.
    pub fn theirs(&self, ours_ns: i64) -> i64 {
        ours_ns.saturating_add(self.offset_ns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_offset_is_correct_within_its_bound(
            skew_ns in -400_000_000_000_i64..400_000_000_000,
            ways in prop::collection::vec((0_i64..80_000_000, 0_i64..80_000_000), 1..CLOCK_READINGS),
        ) {
            // Method: clocks that differ by minutes, and any delays in both directions.
            let mut now_ns = 1_000_000_000_000_i64;
            let readings = ways.iter().map(|(there, back)| {
                let requested_ns = now_ns;
                now_ns += there + back + 1_000;
                ClockReading {
                    requested_ns,
                    agent_ns: requested_ns + there + skew_ns,
                    came_ns: requested_ns + there + back,
                }
            });
            let offset = ClockOffset::of(readings).unwrap();
            prop_assert!(offset.offset_ns.abs_diff(skew_ns) <= offset.bound_ns);
            let shortest = ways.iter().map(|(there, back)| there + back).min().unwrap();
            prop_assert_eq!(offset.bound_ns, shortest.unsigned_abs().div_ceil(2));
            prop_assert_eq!(offset.theirs(7), 7 + offset.offset_ns);
        }
    }
}
