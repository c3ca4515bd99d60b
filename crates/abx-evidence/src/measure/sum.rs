//! Sums of counters. A record may hold any number, so sums saturate where they would overflow.

pub fn sum(counters: impl IntoIterator<Item = u64>) -> u64 {
    counters.into_iter().fold(0, u64::saturating_add)
}

/// The sum of readings; `None` unless every one of them is known.
pub fn sum_known(readings: impl IntoIterator<Item = Option<u64>>) -> Option<u64> {
    let mut readings = readings.into_iter();
    readings.try_fold(0_u64, |sum, reading| Some(sum.saturating_add(reading?)))
}
