//! How long a subject takes to settle under load, found by MSER-5: drop from
//! the start what makes the mean of the rest most certain.

use super::{StatsError, moments::Moments};

/// Bins that are averaged into one before the search, which takes the edge off
/// single wild bins.
const BATCH: usize = 5;

/// The shortest series that is searched: below four batches, half of them is
/// one, and the search would have nothing to choose between.
pub const BINS_MIN: usize = 4 * BATCH;

/// Where a series settles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmUp {
    /// How many bins to drop from the start, a multiple of 5.
    pub bins: usize,
    /// False when the best cut is the last one searched, in the middle of the
    /// series: then it may well lie later, and the subject never settled in
    /// the time that was given. A single jump late in the series is not seen.
    pub is_settled: bool,
}

/// Searches the first half of a series of equal bins (rates, in time order)
/// for the cut that minimises the marginal standard error of the rest: the sum
/// of squared deviations over the squared count of the batches kept.
///
/// A rest of less than five bins at the end is left out. Of equally good cuts
/// the earliest is taken, so a constant series is settled from the start.
///
/// Source: White, Cobb and Spratt, Winter Simulation Conference (2000).
///
/// # Errors
/// - [`StatsError::TooFewBins`] below [`BINS_MIN`] bins.
/// - [`StatsError::BadBin`] for a number that is not finite.
pub fn warm_up(series: &[f64]) -> Result<WarmUp, StatsError> {
    if series.len() < BINS_MIN {
        return Err(StatsError::TooFewBins {
            got: series.len(),
            need: BINS_MIN,
        });
    }
    if let Some(bin) = series.iter().position(|value| !value.is_finite()) {
        return Err(StatsError::BadBin {
            bin,
            value: series[bin],
        });
    }
    let batches: Vec<f64> = series
        .chunks_exact(BATCH)
        .map(|bins| bins.iter().sum::<f64>() / BATCH as f64)
        .collect();
    let last_cut = batches.len() / 2;

    // From the end to the start, so that each cut adds one batch to the rest.
    let mut rest = Moments::of(&batches[last_cut + 1..]);
    let mut least = f64::INFINITY;
    let mut best_cut = last_cut;
    for cut in (0..=last_cut).rev() {
        rest.add(batches[cut]);
        let error = rest.squares / ((batches.len() - cut) as f64).powi(2);
        if error <= least {
            least = error;
            best_cut = cut;
        }
    }
    Ok(WarmUp {
        bins: best_cut * BATCH,
        is_settled: best_cut < last_cut,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_start_is_cut_off() {
        // Method: 20 slow bins, then 80 fast ones with a small ripple.
        let series: Vec<f64> = (0..100)
            .map(|bin| if bin < 20 { 500.0 } else { 1000.0 } + f64::from(bin * 7 % 11))
            .collect();
        let found = warm_up(&series).unwrap();
        assert_eq!((found.bins, found.is_settled), (20, true));
    }

    #[test]
    fn a_series_that_keeps_rising_never_settles() {
        // Method: a straight line, and a step just behind the searched half.
        let line: Vec<f64> = (0..100).map(f64::from).collect();
        let step: Vec<f64> = (0..100)
            .map(|bin| if bin < 55 { 1.0 } else { 2.0 })
            .collect();
        assert!(!warm_up(&line).unwrap().is_settled);
        assert!(!warm_up(&step).unwrap().is_settled);
    }

    #[test]
    fn a_constant_series_is_settled_from_the_start() {
        // Method: a value that has no exact sum, in the shortest series and in
        // one with a rest of bins that fill no batch.
        for length in [BINS_MIN, 103] {
            let found = warm_up(&vec![0.1; length]).unwrap();
            assert_eq!((found.bins, found.is_settled), (0, true));
        }
    }

    #[test]
    fn a_series_too_short_or_not_finite_is_refused() {
        // Method: one bin less than needed, then one bin that is no number.
        assert_eq!(
            warm_up(&[1.0; BINS_MIN - 1]),
            Err(StatsError::TooFewBins { got: 19, need: 20 })
        );
        let mut series = [1.0; BINS_MIN];
        series[3] = f64::INFINITY;
        assert!(matches!(
            warm_up(&series),
            Err(StatsError::BadBin { bin: 3, .. })
        ));
    }
}
