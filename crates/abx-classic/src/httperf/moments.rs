//! Means and deviations of values, and rates.

/// Minimum, mean, maximum and standard deviation of values.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct RunningMoments {
    pub(super) count: u64,
    pub(super) min: f64,
    pub(super) mean: f64,
    pub(super) max: f64,
    /// The sum of the squared distances from the mean.
    squares: f64,
}

impl RunningMoments {
    /// Adds a value. Method: Welford, Technometrics 4 (1962).
    pub(super) fn add(&mut self, value: f64) {
        self.count += 1;
        let is_first = self.count == 1;
        self.min = if is_first { value } else { self.min.min(value) };
        self.max = if is_first { value } else { self.max.max(value) };
        let distance = value - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (value - self.mean);
    }

    /// The sample standard deviation; zero for fewer than two values.
    pub(super) fn deviation(&self) -> f64 {
        match self.count {
            0 | 1 => 0.0,
            count => (self.squares / (count - 1) as f64).sqrt(),
        }
    }
}

/// The rate per second of a count in a time in ns; zero for no time.
pub(super) fn per_second(count: f64, ns: u64) -> f64 {
    match ns {
        0 => 0.0,
        ns => count / (ns as f64 / 1e9),
    }
}
