//! How long slices should be: which length of those that are allowed gives most
//! precision for the time it takes, read from short slices of two subjects in turn.

use crate::StatsError;

/// The fewest rounds of short slices that are read.
pub const ROUNDS_MIN: usize = 20;

/// The largest saving of time that is not worth another length than the usual one.
const TIE: f64 = 0.05;

/// How far the estimates may be off before a difference of their variances is
/// believed: the quantile of the normal distribution for 95 % on one side.
const DOUBT: f64 = 1.645;

/// Which of the two subjects was loaded first in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SliceOrder {
    /// The first one.
    Forth,
    /// The second one.
    Back,
}

/// One round of short slices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShortRound {
    /// What each subject answered per second, at least 0. The unit is free.
    pub rates: [f64; 2],
    /// Who was loaded first.
    pub order: SliceOrder,
}

/// Rounds of short slices without a gap, and what slices cost.
#[derive(Debug, Clone, Copy)]
pub struct ShortRounds<'a> {
    /// The rounds in time order.
    pub rounds: &'a [ShortRound],
    /// The length of a short slice in ns, above 0.
    pub slice_ns: u64,
    /// What a slice of any length takes beyond its length, in ns: until its
    /// last responses have come, and the next one begins.
    pub switch_ns: u64,
}

/// The lengths to choose from.
#[derive(Debug, Clone, Copy)]
pub struct Lengths<'a> {
    /// The usual one in ns, which is taken when none is clearly better.
    pub usual_ns: u64,
    /// Others in ns. Those that are neither the length of the short slices nor an
    /// even multiple of it count as the nearest that is; their order has no influence.
    pub others_ns: &'a [u64],
}

/// One length and what it promises.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LengthPromise {
    pub slice_ns: u64,
    /// The variance of the log ratio that one second of loading each subject gives.
    pub variance: f64,
    /// The share of the usual length's wall time that the same precision takes.
    pub time_share: f64,
}

/// The length that was chosen, and what it was chosen from.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceChoice {
    /// The length in ns.
    pub slice_ns: u64,
    /// The usual length as the short slices could tell of it, in ns.
    pub usual_ns: u64,
    /// Every length that the rounds could tell of, shortest first.
    pub promises: Vec<LengthPromise>,
}

/// Chooses the length of slices that gives most precision for the wall time.
///
/// Method: each rate over its subject's mean, minus 1, is how much faster the
/// machine was in that short slice; in time order, those of both subjects are one
/// series. A round of longer slices is a difference of two neighbouring intervals
/// of that series, so the mean square of all such differences (twice the Allan
/// variance) is the variance of one round. Rounds are in random order, which makes
/// their differences uncorrelated: with a fixed loading time the variance of a
/// block is that of a round times the length. What a subject has of its own does
/// not depend on the length and is kept out: intervals hold both subjects alike,
/// and for the shortest length only neighbours of one subject are compared.
///
/// Noise that neighbours share makes longer slices no better, so the variances are
/// made non-decreasing by pooling (Ayer and others 1955), and a longer slice can
/// only win by what switching costs. Wall time is length plus switching. The usual
/// length stays unless another saves more than 5 %, and, where they differ in
/// variance, more than the estimates' own error (95 %, one side).
///
/// Source: Allan, Proceedings of the IEEE 54 (1966); degrees of freedom: Riley,
/// NIST Special Publication 1065 (2008), for white noise; docs/statistics.md,
/// section 14.
///
/// # Errors
/// - [`StatsError::TooFewRounds`] below [`ROUNDS_MIN`], and when there are too few for
///   the usual length.
/// - [`StatsError::BadRate`] for a rate that is not finite or below 0, or a
///   subject whose rates are all 0.
pub fn slice_choice(series: &ShortRounds, lengths: &Lengths) -> Result<SliceChoice, StatsError> {
    let deviations = Deviations::of(series.rounds)?;
    let usual = Interval::nearest(lengths.usual_ns, series.slice_ns);
    let mut intervals: Vec<Interval> = lengths
        .others_ns
        .iter()
        .map(|ns| Interval::nearest(*ns, series.slice_ns))
        .chain([usual])
        .collect();
    intervals.sort_unstable();
    intervals.dedup();
    let mut estimates: Vec<Estimate> = intervals
        .iter()
        .filter_map(|interval| deviations.estimate(*interval, series.slice_ns))
        .collect();
    pool(&mut estimates);
    let usual = estimates
        .iter()
        .find(|estimate| estimate.interval == usual)
        .copied()
        .ok_or(StatsError::TooFewRounds {
            got: series.rounds.len(),
            need: usual.rounds_needed(),
        })?;
    let cost = |estimate: &Estimate| estimate.cost(series);
    let best = estimates
        .iter()
        .filter(|estimate| (cost(&usual) / cost(estimate)).ln() > estimate.doubt_beside(&usual))
        .min_by(|estimate, other| cost(estimate).total_cmp(&cost(other)))
        .unwrap_or(&usual);
    Ok(SliceChoice {
        slice_ns: best.interval.ns(series.slice_ns),
        usual_ns: usual.interval.ns(series.slice_ns),
        promises: { estimates.iter() }
            .map(|estimate| LengthPromise {
                slice_ns: estimate.interval.ns(series.slice_ns),
                variance: estimate.variance,
                time_share: cost(estimate) / cost(&usual),
            })
            .collect(),
    })
}

impl SliceChoice {
    /// What the chosen length promises.
    #[must_use]
    pub fn promise(&self) -> Option<&LengthPromise> {
        let mut promises = self.promises.iter();
        promises.find(|length_promise| length_promise.slice_ns == self.slice_ns)
    }
}

/// A slice made of short ones: one of them, or those of so many whole rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Interval {
    One,
    Rounds(usize),
}

impl Interval {
    /// The interval that is nearest to a length.
    fn nearest(ns: u64, short_ns: u64) -> Interval {
        let short_slices = ns as f64 / short_ns.max(1) as f64;
        match (short_slices / 2.0).round() as usize {
            rounds if short_slices >= 1.5 => Interval::Rounds(rounds),
            _ => Interval::One,
        }
    }

    fn ns(self, short_ns: u64) -> u64 {
        match self {
            Interval::One => short_ns,
            Interval::Rounds(rounds) => 2 * rounds as u64 * short_ns,
        }
    }

    /// Rounds for at least two differences that share no slice.
    fn rounds_needed(self) -> usize {
        match self {
            Interval::One => ROUNDS_MIN,
            Interval::Rounds(rounds) => ROUNDS_MIN.max(4 * rounds),
        }
    }
}

/// How much faster the machine was in each short slice, in time order.
struct Deviations {
    rounds: Vec<[Deviation; 2]>,
}

#[derive(Debug, Clone, Copy)]
struct Deviation {
    subject: usize,
    /// 0.1 is 10 % above the subject's mean.
    above: f64,
}

impl Deviations {
    fn of(rounds: &[ShortRound]) -> Result<Deviations, StatsError> {
        let is_bad = |rate: &f64| !rate.is_finite() || *rate < 0.0;
        for (round, short_round) in rounds.iter().enumerate() {
            if let Some(&value) = short_round.rates.iter().find(|rate| is_bad(rate)) {
                return Err(StatsError::BadRate { round, value });
            }
        }
        if rounds.len() < ROUNDS_MIN {
            return Err(StatsError::TooFewRounds {
                got: rounds.len(),
                need: ROUNDS_MIN,
            });
        }
        let mean = |subject: usize| {
            let sum: f64 = rounds.iter().map(|round| round.rates[subject]).sum();
            sum / rounds.len() as f64
        };
        let means = [mean(0), mean(1)];
        if means.iter().any(|mean| *mean <= 0.0 || mean.is_infinite()) {
            let value = means[0].min(means[1]);
            return Err(StatsError::BadRate { round: 0, value });
        }
        let deviation = |round: &ShortRound, subject: usize| Deviation {
            subject,
            above: round.rates[subject] / means[subject] - 1.0,
        };
        let in_time = |round: &ShortRound| match round.order {
            SliceOrder::Forth => [deviation(round, 0), deviation(round, 1)],
            SliceOrder::Back => [deviation(round, 1), deviation(round, 0)],
        };
        Ok(Deviations {
            rounds: rounds.iter().map(in_time).collect(),
        })
    }

    /// What these rounds tell of slices of one length; `None` when they are too few.
    fn estimate(&self, interval: Interval, short_ns: u64) -> Option<Estimate> {
        if self.rounds.len() < interval.rounds_needed() {
            return None;
        }
        let (of_a_round, freedom) = match interval {
            Interval::One => self.neighbours()?,
            Interval::Rounds(rounds) => self.intervals(rounds),
        };
        Some(Estimate {
            interval,
            variance: of_a_round * interval.ns(short_ns) as f64 / 1e9,
            freedom: freedom.max(1.0),
            pool: 0,
        })
    }

    /// The mean square of the differences between a round's last slice and the
    /// next one's first, where both are of one subject, and how many there are;
    /// `None` when a subject has none.
    fn neighbours(&self) -> Option<(f64, f64)> {
        let (mut squares, mut counts) = ([0.0; 2], [0_u32; 2]);
        for pair in self.rounds.windows(2) {
            let (last, next) = (pair[0][1], pair[1][0]);
            if last.subject == next.subject {
                squares[last.subject] += (last.above - next.above).powi(2);
                counts[last.subject] += 1;
            }
        }
        let mean = |subject: usize| {
            let count = counts[subject];
            (count > 0).then(|| squares[subject] / f64::from(count))
        };
        Some((
            (mean(0)? + mean(1)?) / 2.0,
            f64::from(counts[0] + counts[1]),
        ))
    }

    /// The mean square of the differences between neighbouring intervals of so
    /// many rounds, wherever they begin, and its degrees of freedom.
    fn intervals(&self, rounds: usize) -> (f64, f64) {
        let mut sums = vec![0.0];
        for round in &self.rounds {
            let before = sums[sums.len() - 1];
            sums.push(before + round[0].above + round[1].above);
        }
        let differences = sums.windows(2 * rounds + 1).map(|sums| {
            let (start, middle, end) = (sums[0], sums[rounds], sums[2 * rounds]);
            (end - middle - (middle - start)) / (2 * rounds) as f64
        });
        let count = self.rounds.len() + 1 - 2 * rounds;
        let mean = differences
            .map(|difference| difference * difference)
            .sum::<f64>()
            / count as f64;
        let (points, length) = ((self.rounds.len() + 1) as f64, rounds as f64);
        let squared = 4.0 * length * length;
        let of_points = 3.0 * (points - 1.0) / (2.0 * length) - 2.0 * (points - 2.0) / points;
        (mean, of_points * squared / (squared + 5.0))
    }
}

/// What the rounds tell of slices of one length.
#[derive(Debug, Clone, Copy)]
struct Estimate {
    interval: Interval,
    variance: f64,
    /// How many independent normal numbers would tell as much.
    freedom: f64,
    /// Estimates of one pool are one and the same variance.
    pool: usize,
}

impl Estimate {
    /// The variance that one second of wall time gives.
    fn cost(&self, series: &ShortRounds) -> f64 {
        let ns = self.interval.ns(series.slice_ns) as f64;
        // A block without any noise costs what its slices do, so that what
        // switching costs still counts.
        let variance = self.variance.max(f64::MIN_POSITIVE * 1e9);
        2.0 * variance * (ns + series.switch_ns as f64) / ns
    }

    /// The saving that is not believed, as a log ratio: the logarithm of a
    /// variance with f degrees of freedom has the variance 2/f.
    fn doubt_beside(&self, other: &Estimate) -> f64 {
        let of_variances = if self.pool == other.pool {
            0.0
        } else {
            DOUBT * (2.0 / self.freedom + 2.0 / other.freedom).sqrt()
        };
        of_variances.max(-(1.0 - TIE).ln())
    }
}

/// Makes the variances non-decreasing with the length: those that are in the
/// wrong order become their mean, weighted by degrees of freedom.
fn pool(estimates: &mut [Estimate]) {
    let mut pools: Vec<(f64, f64, usize)> = Vec::with_capacity(estimates.len());
    for estimate in estimates.iter() {
        let mut pool = (estimate.variance, estimate.freedom, 1);
        while let Some(before) = pools.pop_if(|before| before.0 >= pool.0) {
            let freedom = before.1 + pool.1;
            let sum = before.0 * before.1 + pool.0 * pool.1;
            pool = (sum / freedom, freedom, before.2 + pool.2);
        }
        pools.push(pool);
    }
    let mut left = estimates.iter_mut();
    for (number, (variance, _, count)) in pools.into_iter().enumerate() {
        for estimate in left.by_ref().take(count) {
            (estimate.variance, estimate.pool) = (variance, number);
        }
    }
}

#[cfg(test)]
mod tests;
