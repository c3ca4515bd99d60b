//! Which times share a counter: the buckets of an HDR histogram, as HdrHistogram lays
//! them out for 1 µs to 1 h.
//!
//! With n linear bits, times below 2ⁿ µs have a counter each; above, each doubling has
//! half as many. With [`FINE_BITS`] that is three significant digits: 2,048 counters, then
//! 1,024 per doubling, so that times that share a counter differ by at most a thousandth.

/// The longest time that is distinguished, in µs: one hour.
pub(super) const MICROS_MAX: u64 = 3_600_000_000;
/// Significant digits of a time.
pub(super) const DIGITS: u8 = 3;
/// 2,048 is the least power of two that distinguishes two thousand times.
pub(super) const FINE_BITS: u32 = 11;
/// Counters in all: the index of the longest time, and zero.
pub(super) const COUNTERS: usize = index_of::<FINE_BITS>(MICROS_MAX) + 1;

/// Counters for each doubling.
const fn half(linear_bits: u32) -> usize {
    1 << (linear_bits - 1)
}

/// Which counter a time in µs belongs to, at most [`MICROS_MAX`].
#[allow(clippy::cast_possible_truncation, reason = "it is below COUNTERS")]
pub(super) const fn index_of<const LINEAR_BITS: u32>(micros: u64) -> usize {
    let doublings = doublings::<LINEAR_BITS>(micros);
    half(LINEAR_BITS) * doublings as usize + (micros >> doublings) as usize
}

/// How often a time must be halved to have at most `LINEAR_BITS` bits.
const fn doublings<const LINEAR_BITS: u32>(micros: u64) -> u32 {
    let bits = u64::BITS - (micros | ((1 << LINEAR_BITS) - 1)).leading_zeros();
    bits - LINEAR_BITS
}

/// How often the times that share the counter of this index must be halved.
const fn doublings_at<const LINEAR_BITS: u32>(index: usize) -> usize {
    (index / half(LINEAR_BITS)).saturating_sub(1)
}

/// The shortest time in µs that shares the counter of this index.
pub(super) const fn lowest<const LINEAR_BITS: u32>(index: usize) -> u64 {
    let doublings = doublings_at::<LINEAR_BITS>(index);
    ((index - half(LINEAR_BITS) * doublings) as u64) << doublings
}

/// The longest time in µs that shares the counter of this index.
pub(super) const fn highest<const LINEAR_BITS: u32>(index: usize) -> u64 {
    lowest::<LINEAR_BITS>(index) + (1 << doublings_at::<LINEAR_BITS>(index)) - 1
}

/// The middle of the times that share the counter of this index, in µs, rounded up. Means use it
/// for each of them.
pub(super) const fn middle<const LINEAR_BITS: u32>(index: usize) -> u64 {
    lowest::<LINEAR_BITS>(index) + ((1 << doublings_at::<LINEAR_BITS>(index)) >> 1)
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn times_share_counters_as_in_hdrhistogram(micros in 1..=MICROS_MAX) {
            // Method: HdrHistogram's own results for the same bounds.
            let theirs = Histogram::<u64>::new_with_bounds(1, MICROS_MAX, DIGITS).unwrap();
            let index = index_of::<FINE_BITS>(micros);
            prop_assert_eq!(lowest::<FINE_BITS>(index), theirs.lowest_equivalent(micros));
            prop_assert_eq!(highest::<FINE_BITS>(index), theirs.highest_equivalent(micros));
            prop_assert_eq!(middle::<FINE_BITS>(index), theirs.median_equivalent(micros));
            prop_assert_eq!(index_of::<FINE_BITS>(highest::<FINE_BITS>(index)), index);
            prop_assert_eq!(index_of::<FINE_BITS>(theirs.lowest_equivalent(micros)), index);
            prop_assert!(index < COUNTERS);
        }
    }

    #[test]
    fn neighbours_at_the_edges_of_doublings_have_the_next_counter() {
        // Method: the last time of a doubling and the first of the next one.
        for edge in [2_048, 4_096, 1 << 20, 1 << 31] {
            let [last, first] = [edge - 1, edge].map(index_of::<FINE_BITS>);
            assert_eq!(last + 1, first, "{edge}");
        }
        assert_eq!([0, 1, 2_047].map(index_of::<FINE_BITS>), [0, 1, 2_047]);
    }
}
