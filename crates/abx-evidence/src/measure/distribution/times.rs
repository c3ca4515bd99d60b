//! Times at the usual quantiles.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::distribution::histogram::Histogram;
use crate::measure::distribution::quantile::Quantile;

/// Times in µs at the usual quantiles; absent if nothing was counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Times {
    /// The median.
    pub p50: Option<u64>,
    /// 90 %.
    pub p90: Option<u64>,
    /// 95 %.
    pub p95: Option<u64>,
    /// 99 %.
    pub p99: Option<u64>,
    /// 99.9 %.
    pub p99_9: Option<u64>,
    /// The longest.
    pub max: Option<u64>,
    /// The mean.
    pub mean: Option<f64>,
    /// The standard deviation; absent if any time is only known as "at least".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_deviation: Option<f64>,
    /// The figures above that are only known as "at least", because they include
    /// requests without a response.
    pub at_least: Vec<Figure>,
}

/// A figure of [`Times`], in records by its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// The median.
    P50,
    /// 90 %.
    P90,
    /// 95 %.
    P95,
    /// 99 %.
    P99,
    /// 99.9 %.
    #[serde(rename = "p99_9")]
    P999,
    /// The longest.
    Max,
    /// The mean.
    Mean,
}

impl Figure {
    /// The quantiles, with their shares.
    pub const QUANTILES: [(Figure, f64); 5] = [
        (Figure::P50, 0.5),
        (Figure::P90, 0.9),
        (Figure::P95, 0.95),
        (Figure::P99, 0.99),
        (Figure::P999, 0.999),
    ];

    /// All of them, in the order in which they are shown.
    pub const ALL: [Figure; 7] = [
        Figure::P50,
        Figure::P90,
        Figure::P95,
        Figure::P99,
        Figure::P999,
        Figure::Max,
        Figure::Mean,
    ];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Figure::P50 => "p50",
            Figure::P90 => "p90",
            Figure::P95 => "p95",
            Figure::P99 => "p99",
            Figure::P999 => "p99.9",
            Figure::Max => "max",
            Figure::Mean => "mean",
        }
    }
}

impl Times {
    /// A figure, in µs.
    #[must_use]
    pub fn figure(&self, figure: Figure) -> Option<f64> {
        let time = match figure {
            Figure::P50 => self.p50,
            Figure::P90 => self.p90,
            Figure::P95 => self.p95,
            Figure::P99 => self.p99,
            Figure::P999 => self.p99_9,
            Figure::Max => self.max,
            Figure::Mean => return self.mean,
        };
        time.map(|us| us as f64)
    }

    /// The figures of a distribution of which every time is known.
    #[must_use]
    pub fn of(times: &Histogram) -> Times {
        Times::read(times, None)
    }

    /// The figures of a distribution, of which the times in `at_least` are lower bounds;
    /// [`Quantile::of`] explains what that means for a quantile. The longest time and the mean
    /// have no upper end if there is any bound.
    #[must_use]
    pub fn bounded(times: &Histogram, at_least: &Histogram) -> Times {
        Times::read(times, Some(at_least).filter(|bounds| !bounds.is_empty()))
    }

    fn read(times: &Histogram, at_least: Option<&Histogram>) -> Times {
        let read = Figure::QUANTILES.map(|(_, share)| Quantile::of(times, at_least, share));
        let named = Figure::QUANTILES.iter().zip(read);
        let mut bounded: Vec<Figure> = named
            .filter(|(_, quantile)| quantile.is_some_and(|quantile| quantile.at_least))
            .map(|((figure, _), _)| *figure)
            .collect();
        if at_least.is_some() {
            bounded.extend([Figure::Max, Figure::Mean]);
        }
        let [p50, p90, p95, p99, p99_9] = read.map(|quantile| quantile.map(|quantile| quantile.us));
        Times {
            p50,
            p90,
            p95,
            p99,
            p99_9,
            max: times.max_us(),
            mean: times.mean_us(),
            standard_deviation: times.deviation_us().filter(|_| at_least.is_none()),
            at_least: bounded,
        }
    }

    /// Whether this figure is only known as "at least".
    #[must_use]
    pub fn is_at_least(&self, figure: Figure) -> bool {
        self.at_least.contains(&figure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(times_us: &[(u64, usize)]) -> Histogram {
        let mut histogram = Histogram::new();
        for (us, count) in times_us {
            (0..*count).for_each(|_| histogram.record_ns(us * 1_000));
        }
        histogram
    }

    #[test]
    fn figures_that_rest_on_bounds_are_marked() {
        // Method: 970 responses of 100 µs and 30 requests given up after 1 ms.
        let bounds = histogram(&[(1_000, 30)]);
        let times = Times::bounded(&histogram(&[(100, 970), (1_000, 30)]), &bounds);
        assert_eq!((times.p50, times.p95), (Some(100), Some(100)));
        assert_eq!((times.p99, times.max), (Some(1_000), Some(1_000)));
        let named = [Figure::P99, Figure::P999, Figure::Max, Figure::Mean];
        assert_eq!(times.at_least, named);
        assert!(times.is_at_least(Figure::P99) && !times.is_at_least(Figure::P95));
        assert_eq!(times.standard_deviation, None);
    }

    #[test]
    fn the_standard_deviation_is_that_of_the_times() {
        // Method: by hand: as many times of 100 as of 300 µs are 100 µs from their mean.
        let times = Times::of(&histogram(&[(100, 5), (300, 5)]));
        assert_eq!(
            (times.mean, times.standard_deviation),
            (Some(200.0), Some(100.0))
        );
    }

    #[test]
    fn records_name_figures_by_their_keys() {
        // Method: written and read.
        let times = Times {
            p99_9: Some(7),
            at_least: vec![Figure::P999, Figure::Max],
            ..Times::default()
        };
        let json = serde_json::to_value(&times).unwrap();
        assert_eq!(json["at_least"], serde_json::json!(["p99_9", "max"]));
        assert_eq!(json["p99_9"], 7);
        assert_eq!(serde_json::from_value::<Times>(json).unwrap(), times);
    }
}
