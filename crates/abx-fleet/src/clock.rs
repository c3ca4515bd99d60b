//! The offset of another machine's clock, estimated from requests and responses.

use std::time::Instant;

/// Another clock less ours, and how well that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockOffset {
    /// Theirs less ours, in ns.
    pub offset_ns: i64,
    /// The error is at most this, in ns.
    pub bound_ns: u64,
    pub at: Instant,
}

/// One request and its response, in ns: when the request was sent by our clock, the time of theirs,
/// and when the response came by ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    pub requested_ns: i64,
    pub agent_ns: i64,
    pub came_ns: i64,
}

/// Questions for one measurement: of so many one is rarely held up both ways.
pub const CLOCK_READINGS: usize = 25;

impl ClockOffset {
    /// Reads the one with the shortest way there and back: their clock was read between
    /// both ends of it, so the middle is wrong by half of it at most. `None` of nothing.
    pub fn of(readings: impl IntoIterator<Item = ClockReading>) -> Option<ClockOffset> {
        let way = |clock_reading: &ClockReading| {
            clock_reading
                .came_ns
                .saturating_sub(clock_reading.requested_ns)
        };
        let best = readings.into_iter().min_by_key(way)?;
        let middle_ns = best.requested_ns + way(&best) / 2;
        Some(ClockOffset {
            offset_ns: best.agent_ns.saturating_sub(middle_ns),
            bound_ns: way(&best).unsigned_abs().div_ceil(2),
            at: Instant::now(),
        })
    }

    /// A moment of our clock by theirs.
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
        fn an_offset_is_right_within_its_bound(
            skew_ns in -400_000_000_000_i64..400_000_000_000,
            ways in prop::collection::vec((0_i64..80_000_000, 0_i64..80_000_000), 1..CLOCK_READINGS),
        ) {
            // Method: clocks that differ by minutes, and ways of any length there and back.
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
            let clock_offset = ClockOffset::of(readings).unwrap();
            prop_assert!(clock_offset.offset_ns.abs_diff(skew_ns) <= clock_offset.bound_ns);
            let shortest = ways.iter().map(|(there, back)| there + back).min().unwrap();
            prop_assert_eq!(clock_offset.bound_ns, shortest.unsigned_abs().div_ceil(2));
            prop_assert_eq!(clock_offset.theirs(7), 7 + clock_offset.offset_ns);
        }
    }
}
