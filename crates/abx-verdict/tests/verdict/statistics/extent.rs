//! How many studies are drawn, and what their shares may be.

use std::ops::RangeInclusive;

/// The least and the largest share of intervals that may hold the truth:
/// below, the printed 95 % would be a lie; above, blocks are wasted.
pub const COVERAGE: RangeInclusive<f64> = 0.93..=0.985;

/// Whether every study is drawn, as `make simulations` requests; else a fifth of
/// them, which shows what is broken and not what is a little off.
pub fn is_full() -> bool {
    std::env::var_os("ABX_SIMULATIONS").is_some_and(|it| it == "full")
}

/// So many of these studies are drawn now.
pub fn drawn(studies: usize) -> usize {
    if is_full() { studies } else { studies / 5 }
}

/// The range that a share over so many studies has to lie in: this one, or when not
/// all are drawn, wider by two of its errors at each end.
pub fn bounds(range: &RangeInclusive<f64>, studies: usize) -> RangeInclusive<f64> {
    range.start() - slack(*range.start(), studies)..=most(*range.end(), studies)
}

/// The most that a share over so many studies may be, in the same way.
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
