//! Which times share a counter: the buckets of an HDR histogram with three
//! significant digits, as HdrHistogram lays them out for 1 µs to 1 h.
//!
//! Times below 2,048 µs have a counter each. Above, each doubling has 1,024
//! counters, so that no two times share one that differ by more than a thousandth.

/// The longest time that is told apart, in µs: one hour.
pub(super) const MICROS_MAX: u64 = 3_600_000_000;
/// Significant digits that are kept.
pub(super) const DIGITS: u8 = 3;
/// 2,048 is the least power of two that tells two thousand times apart.
const LINEAR_BITS: u32 = 11;
/// Counters for each doubling.
const HALF: usize = 1 << (LINEAR_BITS - 1);
/// Counters in all: the index of the longest time, and zero.
pub(super) const COUNTERS: usize = index_of(MICROS_MAX) + 1;

/// Which counter a time in µs belongs to, at most [`MICROS_MAX`].
#[allow(clippy::cast_possible_truncation, reason = "it is below COUNTERS")]
pub(super) const fn index_of(micros: u64) -> usize {
    let doublings = doublings(micros);
    HALF * doublings as usize + (micros >> doublings) as usize
}

/// How often a time must be halved to have [`LINEAR_BITS`] bits or fewer.
const fn doublings(micros: u64) -> u32 {
    let bits = u64::BITS - (micros | ((1 << LINEAR_BITS) - 1)).leading_zeros();
    bits - LINEAR_BITS
}

/// The longest time in µs that shares the counter of this index.
pub(super) fn highest(index: usize) -> u64 {
    let doublings = (index / HALF).saturating_sub(1);
    let lowest = ((index - HALF * doublings) as u64) << doublings;
    lowest + (1 << doublings) - 1
}

/// The time in the middle of those that share the counter of this index, in µs,
/// rounded up: what a mean takes for each of them.
pub(super) fn middle(index: usize) -> u64 {
    let doublings = (index / HALF).saturating_sub(1);
    let half_width = (1 << doublings) >> 1;
    highest(index) + 1 - (1 << doublings) + half_width
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn times_share_counters_as_in_hdrhistogram(micros in 1..=MICROS_MAX) {
            // Method: HdrHistogram's own answers for the same bounds.
            let theirs = Histogram::<u64>::new_with_bounds(1, MICROS_MAX, DIGITS).unwrap();
            let index = index_of(micros);
            prop_assert_eq!(highest(index), theirs.highest_equivalent(micros));
            prop_assert_eq!(middle(index), theirs.median_equivalent(micros));
            prop_assert_eq!(index_of(highest(index)), index);
            prop_assert_eq!(index_of(theirs.lowest_equivalent(micros)), index);
            prop_assert!(index < COUNTERS);
        }
    }

    #[test]
    fn neighbours_at_the_edges_of_doublings_have_the_next_counter() {
        // Method: the last time of a doubling and the first of the next one.
        for edge in [2_048, 4_096, 1 << 20, 1 << 31] {
            assert_eq!(index_of(edge - 1) + 1, index_of(edge), "{edge}");
        }
        assert_eq!((index_of(0), index_of(1), index_of(2_047)), (0, 1, 2_047));
    }
}
