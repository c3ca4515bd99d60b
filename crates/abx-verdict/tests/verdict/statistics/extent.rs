//! How many studies are drawn, and the bounds of their shares.

use std::ops::RangeInclusive;

/// The permitted share of intervals that hold the truth: below it, the printed
/// 95 % would be a lie; above it, blocks are wasted.
pub const COVERAGE: RangeInclusive<f64> = 0.93..=0.985;

/// Whether every study is drawn, as `make simulations` requests. Otherwise a fifth of
/// them are, which reveals gross errors but not small ones.
pub fn is_full() -> bool {
    std::env::var_os("ABX_SIMULATIONS").is_some_and(|value| value == "full")
}

/// How many of these studies are drawn in this run.
pub fn drawn(studies: usize) -> usize {
    if is_full() { studies } else { studies / 5 }
}

/// The range that a share over this many studies must lie in. Unless all studies are
/// drawn, it is wider than `range` by two standard errors at each end.
pub fn bounds(range: &RangeInclusive<f64>, studies: usize) -> RangeInclusive<f64> {
    range.start() - slack(*range.start(), studies)..=most(*range.end(), studies)
}

/// The largest share permitted over this many studies, with the same allowance.
pub fn most(share: f64, studies: usize) -> f64 {
    share + slack(share, studies)
}

fn slack(share: f64, studies: usize) -> f64 {
    if is_full() {
        0.0
    } else {
        2.0 * (share * (1.0 - share) / studies as f64).sqrt()
    }
}
