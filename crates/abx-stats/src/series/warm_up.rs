//! The time that a subject takes to settle under load, by MSER-5: drop the start whose removal
//! makes the mean of the rest most certain, if it differs from the rest.

use crate::{StatsError, moments::Moments};

/// The number of bins that are averaged into one before the search, which dampens
/// single outlying bins.
const BATCH: usize = 5;

/// The shortest series that is searched: below four batches, half of them is
/// one, and the search would have no choice.
pub const BINS_MIN: usize = 4 * BATCH;

/// A dropped start must differ from the rest by more than this share of the rest's mean,
const DIFFERENCE: f64 = 0.05;
/// or by more than this number of standard errors: some cut is always the best by chance.
const STANDARD_ERRORS: f64 = 4.0;

/// The end of the warm-up of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmUp {
    /// The number of bins to drop from the start, a multiple of 5.
    pub bins: usize,
    /// False if the best cut is the last that was searched, in the middle of the
    /// series: then the true one may lie later, and the subject did not settle within
    /// the series. A single jump late in the series is not detected.
    pub is_settled: bool,
}

/// Searches the first half of a series of equal bins (rates, in time order)
/// for the cut that minimises the marginal standard error of the rest: the sum
/// of squared deviations over the squared number of the remaining batches.
///
/// A rest of less than five bins at the end is left out. Of equally good cuts
/// the earliest is taken, so a constant series is settled from the start. So is a series
/// whose best cut drops nothing that differs from the rest by more than 5 % or four
/// standard errors: MSER alone drops bins of every other level series with noise.
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
    let (dropped, rest) = batches.split_at(best_cut);
    if best_cut > 0 && !differ(&Moments::of(dropped), &Moments::of(rest)) {
        best_cut = 0;
    }
    Ok(WarmUp {
        bins: best_cut * BATCH,
        is_settled: best_cut < last_cut,
    })
}

/// Whether the dropped batches have another level than the rest, beyond its noise.
fn differ(dropped: &Moments, rest: &Moments) -> bool {
    let [drop_count, rest_count] = [dropped.count, rest.count].map(|count| count as f64);
    let difference = (dropped.mean - rest.mean).abs();
    let spread = (rest.squares / (rest_count - 1.0)).sqrt();
    let error = spread * (1.0 / drop_count + 1.0 / rest_count).sqrt();
    difference > DIFFERENCE * rest.mean.abs() || difference > STANDARD_ERRORS * error
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn a_slow_start_is_cut_off() {
        // Method: 20 slow bins, then 80 fast ones with a small ripple.
        let series: Vec<f64> = (0..100)
            .map(|bin| if bin < 20 { 500.0 } else { 1000.0 } + f64::from(bin * 7 % 11))
            .collect();
        let result = warm_up(&series).unwrap();
        assert_eq!((result.bins, result.is_settled), (20, true));
    }

    #[test]
    fn a_series_that_keeps_rising_never_settles() {
        // Method: a straight line, and a step just after the searched half.
        let line: Vec<f64> = (0..100).map(f64::from).collect();
        let step: Vec<f64> = (0..100)
            .map(|bin| if bin < 55 { 1.0 } else { 2.0 })
            .collect();
        assert!(!warm_up(&line).unwrap().is_settled);
        assert!(!warm_up(&step).unwrap().is_settled);
    }

    #[test]
    fn the_noise_of_a_level_series_is_no_warm_up() {
        // Method: 2,000 level series of 40 bins with a spread of 3 %, as of a server that is
        // warm at once; and as many whose first eighth is 10 % slower.
        let mut random = ChaCha8Rng::seed_from_u64(11);
        let mut result = |start: f64| {
            let cut = (0..2_000).filter(|_| {
                let bins = (0..40).map(|bin| {
                    let level = if bin < 5 { start } else { 1000.0 };
                    let noise: f64 = (0..12).map(|_| random.random::<f64>() - 0.5).sum();
                    level * (1.0 + 0.03 * noise)
                });
                warm_up(&bins.collect::<Vec<_>>()).unwrap().bins > 0
            });
            cut.count()
        };
        let level = result(1000.0);
        assert!(level < 160, "{level}");
        let slow = result(900.0);
        assert!(slow > 1_600, "{slow}");
    }

    #[test]
    fn the_level_of_a_dropped_start_differs() {
        // Method: a start slightly less than 5 %, exactly 5 % and slightly more than 5 % away
        // from a rest of pure noise; and slightly less and more than four standard errors.
        let differs =
            |dropped: f64, rest: &[f64]| differ(&Moments::of(&[dropped]), &Moments::of(rest));
        let wild = [70.0, 130.0, 100.0, 100.0];
        assert!(!differs(95.1, &wild) && !differs(104.9, &wild));
        assert!(!differs(95.0, &wild) && !differs(105.0, &wild));
        assert!(differs(94.9, &wild) && differs(105.1, &wild));
        // Four values with a spread of 1: the distance of a single value has an error of 1.118.
        let rest = [99.0, 101.0, 100.0 - 0.5f64.sqrt(), 100.0 + 0.5f64.sqrt()];
        assert!(!differs(95.6, &rest) && differs(95.4, &rest));
    }

    #[test]
    fn a_constant_series_is_settled_from_the_start() {
        // Method: a value that has no exact sum, in the shortest series and in
        // one with a rest of bins that fill no batch.
        for length in [BINS_MIN, 103] {
            let result = warm_up(&vec![0.1; length]).unwrap();
            assert_eq!((result.bins, result.is_settled), (0, true));
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

    #[test]
    fn a_start_that_only_scatters_around_the_level_is_kept() {
        // Method: five bins below and five as far above a rest without any spread, which alone
        // has no error at all.
        let series: Vec<f64> = (0..40)
            .map(|bin| match bin / 5 {
                0 => 900.0,
                1 => 1100.0,
                _ => 1000.0,
            })
            .collect();
        let result = warm_up(&series).unwrap();
        assert_eq!((result.bins, result.is_settled), (0, true));
    }
}
