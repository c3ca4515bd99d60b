//! Whether a subject's rate was steady: the intervals of one level that a
//! series of rates falls into, found by PELT.

use std::ops::Range;

use crate::StatsError;

/// The shortest series that is searched: below, four fifths of it are no less
/// than the whole.
pub const BINS_MIN: usize = 5;

/// The largest drift of a steady interval, as a share: 1 %.
pub const DRIFT_MAX: f64 = 0.01;

/// An interval of one level.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Its bins, counted from zero.
    pub bins: Range<usize>,
    /// The mean of the log rates.
    pub level: f64,
    /// How far the straight line through the log rates rises from the first
    /// bin to the last: 0.01 is about 1 %.
    pub drift: f64,
}

/// A series, cut where its level changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Segments {
    /// In time order, without gaps: at least one.
    pub segments: Vec<Segment>,
    bins: usize,
}

impl Segments {
    /// Cuts a series of equal bins (rates, in time order) so that the sum over
    /// segments of squared deviations of the log rates from the segment's mean,
    /// plus a penalty for each segment, is least. Of equally good cuts the one
    /// with the longer last segment is taken.
    ///
    /// The penalty is `3 · σ² · ln n` for n bins. σ is the spread of one bin,
    /// from the median absolute difference of neighbours, which changes of
    /// level hardly move; from the mean one when more than half of the
    /// neighbours are equal. A single bin that is off by more than about
    /// `σ · √(6 · ln n)` is a segment of its own.
    ///
    /// Source: Killick, Fearnhead and Eckley, Journal of the American
    /// Statistical Association 107 (2012); docs/explain/statistics/curves.md, "Steadiness".
    ///
    /// # Errors
    /// - [`StatsError::TooShort`] below [`BINS_MIN`] bins.
    /// - [`StatsError::NoLogRate`] for a rate that is not finite or not above 0.
    pub fn of(rates: &[f64]) -> Result<Segments, StatsError> {
        if rates.len() < BINS_MIN {
            return Err(StatsError::TooShort {
                got: rates.len(),
                need: BINS_MIN,
            });
        }
        if let Some(bin) = rates.iter().position(|rate| !rate.ln().is_finite()) {
            return Err(StatsError::NoLogRate {
                bin,
                value: rates[bin],
            });
        }
        let logs: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
        let penalty = 3.0 * spread(&logs).powi(2) * (logs.len() as f64).ln();
        Ok(Segments {
            segments: cut(&logs, penalty)
                .into_iter()
                .map(|bins| segment(&logs, bins))
                .collect(),
            bins: logs.len(),
        })
    }

    /// The segment with most bins, the first of equals.
    #[must_use]
    pub fn longest(&self) -> &Segment {
        self.segments
            .iter()
            .rev()
            .max_by_key(|segment| segment.bins.len())
            .expect("a series has at least one segment")
    }

    /// Whether one segment covers at least four fifths of the series and
    /// drifts by at most [`DRIFT_MAX`].
    ///
    /// Noise alone has a drift of about `σ · √(12 / n)`, which dominates with fewer than
    /// `12 · (σ / 1 %)²` bins.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        let longest = self.longest();
        longest.bins.len() * 5 >= self.bins * 4 && longest.drift.abs() <= DRIFT_MAX.ln_1p()
    }
}

/// The spread of one bin. Two neighbours of one level differ by a normal
/// variable with √2 times that spread.
fn spread(logs: &[f64]) -> f64 {
    let mut steps: Vec<f64> = logs
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).abs())
        .collect();
    steps.sort_unstable_by(f64::total_cmp);
    let last = steps.len() - 1;
    let median = f64::midpoint(steps[last / 2], steps[last.div_ceil(2)]);
    if median > 0.0 {
        median / (std::f64::consts::SQRT_2 * NORMAL_MEDIAN)
    } else {
        // The mean absolute value of a normal variable is √(2 / π) of its spread.
        let mean = steps.iter().sum::<f64>() / steps.len() as f64;
        mean * std::f64::consts::PI.sqrt() / 2.0
    }
}

/// PELT: the best cut of the first bins for every number of them, looking only
/// at last cuts that can still become best.
fn cut(logs: &[f64], penalty: f64) -> Vec<Range<usize>> {
    let costs = Costs::of(logs);
    let mut best = vec![-penalty];
    let mut last_cut = vec![0];
    let mut candidates: Vec<usize> = Vec::new();
    for end in 1..=logs.len() {
        candidates.push(end - 1);
        let cost = |start: usize| best[start] + costs.of_bins(start..end);
        let (least, start) = candidates
            .iter()
            .map(|&start| (cost(start), start))
            .min_by(|pair, other| pair.0.total_cmp(&other.0).then(pair.1.cmp(&other.1)))
            .expect("the newest candidate");
        candidates.retain(|&start| cost(start) <= least + penalty);
        best.push(least + penalty);
        last_cut.push(start);
    }
    let mut ranges = Vec::new();
    let mut end = logs.len();
    while end > 0 {
        ranges.push(last_cut[end]..end);
        end = last_cut[end];
    }
    ranges.reverse();
    ranges
}

/// The squared deviations of any interval from its mean, from running sums.
struct Costs {
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl Costs {
    fn of(logs: &[f64]) -> Costs {
        // Relative to the mean, because the difference of large squares loses digits.
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let (mut sums, mut squares) = (vec![0.0], vec![0.0]);
        let (mut sum, mut square) = (0.0, 0.0);
        for value in logs {
            sum += value - mean;
            square += (value - mean).powi(2);
            sums.push(sum);
            squares.push(square);
        }
        Costs { sums, squares }
    }

    fn of_bins(&self, bins: Range<usize>) -> f64 {
        let sum = self.sums[bins.end] - self.sums[bins.start];
        let squares = self.squares[bins.end] - self.squares[bins.start];
        (squares - sum.powi(2) / bins.len() as f64).max(0.0)
    }
}

fn segment(logs: &[f64], bins: Range<usize>) -> Segment {
    let count = bins.len() as f64;
    let level = logs[bins.clone()].iter().sum::<f64>() / count;
    let middle = (count - 1.0) / 2.0;
    let (mut joint, mut times) = (0.0, 0.0);
    for (time, value) in logs[bins.clone()].iter().enumerate() {
        let time = time as f64 - middle;
        joint += time * (value - level);
        times += time.powi(2);
    }
    let slope = if times > 0.0 { joint / times } else { 0.0 };
    Segment {
        bins,
        level,
        drift: slope * (count - 1.0),
    }
}

/// How far the straight line through the log rates of a whole series rises
/// from its first bin to its last: 0.01 is about 1 %.
///
/// # Errors
/// As [`Segments::of`].
pub fn rise(rates: &[f64]) -> Result<f64, StatsError> {
    let segments = Segments::of(rates)?;
    let logs: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
    Ok(segment(&logs, 0..segments.bins).drift)
}

/// The median size of a normal variable of spread 1: its quantile at 3/4.
pub(super) const NORMAL_MEDIAN: f64 = 0.674_489_750_196_081_7;

#[cfg(test)]
mod tests {
    use super::*;

    /// A rate of 1,000 with a ripple of about 1 %, times a factor for each bin.
    fn rates(bins: usize, factor: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..bins)
            .map(|bin| (1000.0 + (bin * 7 % 11) as f64 * 3.0) * factor(bin))
            .collect()
    }

    fn lengths(segments: &Segments) -> Vec<usize> {
        let segments = segments.segments.iter();
        segments.map(|segment| segment.bins.len()).collect()
    }

    #[test]
    fn a_change_of_level_is_found_in_its_place() {
        // Method: 10 % less from bin 30 on, and back from bin 70 on.
        let drop = |bin| if (30..70).contains(&bin) { 0.9 } else { 1.0 };
        let segments = Segments::of(&rates(100, drop)).unwrap();
        assert_eq!(lengths(&segments), [30, 40, 30]);
        assert_eq!(segments.longest().bins, 30..70);
        let fall = segments.segments[1].level - segments.segments[0].level;
        assert!((fall - 0.9_f64.ln()).abs() < 0.01, "{fall}");
        assert!(!segments.is_steady());
    }

    #[test]
    fn a_series_is_steady_with_one_level_for_four_fifths_of_its_time() {
        // Method: a slow start of one fifth, then of one more bin.
        let slow = |until: usize| rates(100, move |bin| if bin < until { 0.8 } else { 1.0 });
        assert!(Segments::of(&slow(0)).unwrap().is_steady());
        assert!(Segments::of(&slow(20)).unwrap().is_steady());
        assert!(!Segments::of(&slow(21)).unwrap().is_steady());
    }

    #[test]
    fn a_slow_drift_is_not_steady() {
        // Method: a rise of 1.5 % and of 0.5 % over the series, each too small
        // for a cut in this ripple.
        let rising = |share: f64| rates(100, move |bin| 1.0 + share * bin as f64 / 99.0);
        let fast = Segments::of(&rising(0.015)).unwrap();
        assert_eq!(lengths(&fast), [100]);
        assert!(!fast.is_steady());
        let slow = Segments::of(&rising(0.005)).unwrap();
        assert_eq!(lengths(&slow), [100]);
        assert!(slow.is_steady());
        let drift = slow.longest().drift;
        assert!((drift - 0.005).abs() < 0.001, "{drift}");
    }

    #[test]
    fn equal_bins_are_one_segment_and_one_jump_makes_two() {
        // Method: no ripple, so that the median difference is 0.
        let level = Segments::of(&[0.1; 40]).unwrap();
        assert_eq!(lengths(&level), [40]);
        assert_eq!(level.longest().drift, 0.0);
        assert!(level.is_steady());
        let jump: Vec<f64> = (0..40)
            .map(|bin| if bin < 10 { 5.0 } else { 6.0 })
            .collect();
        assert_eq!(lengths(&Segments::of(&jump).unwrap()), [10, 30]);
    }

    #[test]
    fn bins_with_discrete_counts_are_not_each_a_level() {
        // Method: one more response in every third bin, so that a third of the
        // neighbours are equal, then in every fifth, so that most are.
        for every in [3, 5] {
            let counts: Vec<f64> = (0..60)
                .map(|bin| if bin % every == 0 { 101.0 } else { 100.0 })
                .collect();
            assert_eq!(lengths(&Segments::of(&counts).unwrap()), [60], "{every}");
        }
    }

    #[test]
    fn a_series_that_is_too_short_or_has_a_bin_without_a_rate_is_refused() {
        // Method: one bin fewer than required, then a bin without a response.
        assert_eq!(
            Segments::of(&[1.0; BINS_MIN - 1]),
            Err(StatsError::TooShort { got: 4, need: 5 })
        );
        for value in [0.0, -1.0, f64::INFINITY] {
            let result = Segments::of(&[1.0, 1.0, value, 1.0, 1.0]);
            assert_eq!(result, Err(StatsError::NoLogRate { bin: 2, value }));
        }
    }

    #[test]
    fn the_spread_of_a_bin_follows_from_the_median_step() {
        // Method: by hand. The median of the steps 1, 2, 3 and 4, and of 1, 2 and 3, over
        // √2 · 0.6745; and if most steps are 0, the mean step times √π / 2.
        let is_near = |logs: &[f64], expected: f64| (spread(logs) - expected).abs() < 1e-4;
        let (four, three) = ([0.0, 1.0, 3.0, 6.0, 10.0], [0.0, 3.0, 1.0, 2.0]);
        assert!(is_near(&four, 2.6209), "{}", spread(&four));
        assert!(is_near(&three, 2.0967), "{}", spread(&three));
        let few = [0.0, 0.0, 0.0, 0.0, 1.0];
        assert!(is_near(&few, 0.2216), "{}", spread(&few));
    }

    #[test]
    fn a_drift_is_the_rise_from_the_first_bin_to_the_last() {
        // Method: by hand, a straight line of nine steps of 1 %; and a single wild bin, which
        // has no other bin to drift to.
        let line: Vec<f64> = (0..10).map(|bin| (0.01 * f64::from(bin)).exp()).collect();
        assert!((rise(&line).unwrap() - 0.09).abs() < 1e-12);
        let wild = rates(100, |bin| if bin == 50 { 0.5 } else { 1.0 });
        let segments = Segments::of(&wild).unwrap();
        assert_eq!(lengths(&segments), [50, 1, 49]);
        assert_eq!(segments.segments[1].drift, 0.0);
    }
}
