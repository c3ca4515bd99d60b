//! Mean and squared deviations of a growing series.

/// Running mean and sum of squared deviations.
///
/// Welford's recurrence: equal values give exactly zero deviation, which a sum
/// of squares would miss by rounding. Source: Welford, Technometrics 4 (1962).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moments {
    pub(super) count: usize,
    pub(super) mean: f64,
    /// Sum of the squared deviations from the mean.
    pub(super) squares: f64,
}

impl Moments {
    pub(super) fn add(&mut self, value: f64) {
        self.count += 1;
        let deviation = value - self.mean;
        self.mean += deviation / self.count as f64;
        self.squares += deviation * (value - self.mean);
    }

    pub(super) fn of(values: &[f64]) -> Moments {
        let mut moments = Moments::default();
        for value in values {
            moments.add(*value);
        }
        moments
    }
}
