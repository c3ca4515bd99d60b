//! The spread of times, as ab computes it.

/// Minimum, mean, deviation, median and maximum in µs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Spread {
    pub(super) min_us: u64,
    pub(super) mean_us: u64,
    /// The sample standard deviation (over n − 1).
    pub(super) deviation_us: f64,
    /// The value that ab calls the median, see [`Spread::of`].
    pub(super) middle_us: u64,
    pub(super) median_us: u64,
    pub(super) max_us: u64,
}

impl Spread {
    /// Computes the spread of times in any order.
    ///
    /// SUBTLE: for an odd number of times, ab's median is the mean of the middle one and the next
    /// one; for an even number, it is the upper one of the two in the middle.
    pub(super) fn of(mut times_us: Vec<u64>) -> Spread {
        times_us.sort_unstable();
        let (Some(min), Some(max)) = (times_us.first(), times_us.last()) else {
            return Spread::default();
        };
        let count = times_us.len();
        let sum: u64 = times_us.iter().sum();
        let mean_us = sum / count as u64;
        let squares = times_us
            .iter()
            .map(|time_us| (*time_us as f64 - mean_us as f64).powi(2));
        let half = count / 2;
        let (upper, lower) = (times_us[half], times_us[(count - 1) / 2]);
        Spread {
            min_us: *min,
            mean_us,
            deviation_us: match count {
                1 => 0.0,
                _ => (squares.sum::<f64>() / (count - 1) as f64).sqrt(),
            },
            middle_us: match count % 2 {
                1 if count > 1 => (times_us[half] + times_us[half + 1]) / 2,
                _ => upper,
            },
            median_us: (lower + upper) / 2,
            max_us: *max,
        }
    }
}

/// Rounds to whole ms, halves up.
pub(super) fn ms(us: u64) -> u64 {
    (us + 500) / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_computed_as_by_ab_and_the_median_correctly() {
        // Method: by hand, for one, two, three and four times.
        for (times, middle, median) in [
            (&[7][..], 7, 7),
            (&[4, 2], 4, 3),
            (&[9, 1, 5], 7, 5),
            (&[8, 2, 4, 6], 6, 5),
        ] {
            let spread = Spread::of(times.to_vec());
            assert_eq!((spread.middle_us, spread.median_us), (middle, median));
        }
        assert_eq!(Spread::of(Vec::new()), Spread::default());
    }

    #[test]
    fn mean_and_deviation_are_of_whole_microseconds() {
        // Method: by hand: 1, 2 and 6 have mean 3 and deviation √7; one time has none.
        let spread = Spread::of(vec![6, 1, 2]);
        assert_eq!((spread.min_us, spread.mean_us, spread.max_us), (1, 3, 6));
        assert!((spread.deviation_us - 7_f64.sqrt()).abs() < 1e-12);
        assert_eq!(Spread::of(vec![5]).deviation_us, 0.0);
        assert_eq!([ms(499), ms(500), ms(1_499), ms(1_500)], [0, 1, 1, 2]);
    }
}
