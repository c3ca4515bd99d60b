//! Complete simulated studies, block by block, until the stop rule or the budget ends them.

use abx_stats::Margin;
use abx_stats::paired::LogInterval;
use abx_stats::stop::{Decision, decide};
use abx_verdict::verdict::{
    Assessment, ClaimFamily, Verdict, assess, assess_together, decide_together, judge_interval,
};

use super::extent::{COVERAGE, bounds, most};
use super::noise::{Extent, Noise, World};

/// The most blocks of a study.
pub const BLOCKS_MAX: usize = 24;

/// A study whose truth is known.
#[derive(Debug, Clone)]
pub struct Study {
    pub noise: Noise,
    /// The true ratio of each subject to the baseline, which is not in the list:
    /// two subjects have one ratio.
    pub ratios: Vec<f64>,
}

impl Study {
    /// Two subjects.
    pub fn of_two(noise: Noise, ratio: f64) -> Study {
        Study {
            noise,
            ratios: vec![ratio],
        }
    }

    /// The log ratios of every subject's blocks, until `is_enough` holds for
    /// them or the budget ends.
    pub fn conduct(&self, seed: u64, is_enough: fn(&[Vec<f64>]) -> bool) -> Vec<Vec<f64>> {
        let mut world = self.world(seed);
        let mut comparisons = vec![Vec::with_capacity(BLOCKS_MAX); self.ratios.len()];
        while comparisons[0].len() < BLOCKS_MAX && !is_enough(&comparisons) {
            let speeds = world.block();
            for (index, log_ratios) in comparisons.iter_mut().enumerate() {
                log_ratios.push(self.ratios[index].ln() + speeds[index + 1] - speeds[0]);
            }
        }
        comparisons
    }

    /// The world of this study.
    pub fn world(&self, seed: u64) -> World {
        let extent = Extent {
            subjects: self.ratios.len() + 1,
            blocks_max: BLOCKS_MAX,
        };
        World::new(self.noise, extent, seed)
    }
}

/// How a study is ended and read.
#[derive(Clone, Copy)]
pub struct Method {
    /// Whether to stop after these blocks: the log ratios of each comparison.
    pub is_enough: fn(&[Vec<f64>]) -> bool,
    /// The reading of each comparison.
    pub read: fn(&[Vec<f64>]) -> Vec<Reading>,
}

impl Method {
    /// The method of abx.
    pub const SHIPPED: Method = Method {
        is_enough: is_decided,
        read: |comparisons| {
            let values: Vec<&[f64]> = comparisons.iter().map(Vec::as_slice).collect();
            let assessed =
                assess_together(&values, Margin::DEFAULT, ClaimFamily::alone(values.len()));
            let assessed = assessed
                .into_iter()
                .map(|result| result.expect("six blocks or more"));
            assessed.map(Reading::from).collect()
        },
    };

    /// Like abx, but with each comparison ended and judged as if it were the only one.
    pub const EACH_ALONE: Method = Method {
        is_enough: each_is_decided,
        read: |comparisons| {
            comparisons
                .iter()
                .map(|log_ratios| assess(log_ratios, Margin::DEFAULT).expect("six blocks or more"))
                .map(Reading::from)
                .collect()
        },
    };
}

impl From<Assessment> for Reading {
    fn from(assessed: Assessment) -> Reading {
        Reading {
            low: assessed.low,
            high: assessed.high,
            verdict: assessed.verdict,
            is_fragile: assessed.is_fragile(),
        }
    }
}

/// The stop rule of abx, over comparisons that are judged together.
pub fn is_decided(comparisons: &[Vec<f64>]) -> bool {
    let values: Vec<&[f64]> = comparisons.iter().map(Vec::as_slice).collect();
    decide_together(&values, Margin::DEFAULT, ClaimFamily::alone(values.len()))
        != Decision::Continue
}

/// The stop rule of abx, over comparisons that are judged each on their own.
pub fn each_is_decided(comparisons: &[Vec<f64>]) -> bool {
    comparisons
        .iter()
        .all(|log_ratios| decide(log_ratios, Margin::DEFAULT) != Ok(Decision::Continue))
}

/// The printed result of one comparison, as ratios.
pub struct Reading {
    low: f64,
    high: f64,
    verdict: Verdict,
    is_fragile: bool,
}

impl Reading {
    /// Whether the verdict is false: a direction that is not the true one, or
    /// equivalence although the true difference is the margin or more.
    fn is_false(&self, truth: f64) -> bool {
        // A difference of exactly the margin counts in spite of rounding.
        let margin = Margin::DEFAULT.log() - 1e-9;
        match self.verdict {
            Verdict::Faster | Verdict::More => truth <= 1.0,
            Verdict::Slower | Verdict::Less => truth >= 1.0,
            Verdict::Equivalent => truth.ln().abs() >= margin,
            Verdict::Invalid | Verdict::Inconclusive => false,
        }
    }
}

impl From<LogInterval> for Reading {
    fn from(interval: LogInterval) -> Reading {
        Reading {
            low: interval.low.exp(),
            high: interval.high.exp(),
            verdict: judge_interval(&interval, Margin::DEFAULT),
            is_fragile: false,
        }
    }
}

/// The results of many studies: shares of their comparisons, unless stated otherwise.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The number of studies.
    pub studies: usize,
    /// The interval holds the truth.
    pub coverage: f64,
    /// The verdict is faster.
    pub faster: f64,
    /// The verdict is slower.
    pub slower: f64,
    /// The verdict is equivalent.
    pub equivalent: f64,
    /// The verdict is marked fragile.
    pub fragile: f64,
    /// The study ended with budget left, and this comparison is inconclusive.
    pub left_open: f64,
    /// At least one verdict is false, as a share of the studies.
    pub falsely: f64,
    /// Blocks per study, on average.
    pub blocks: f64,
}

/// Runs this many studies of one kind, each from its own seed.
pub fn simulate(study: &Study, studies: usize, method: Method) -> Outcome {
    let mut outcome = Outcome {
        studies,
        ..Outcome::default()
    };
    let of_studies = 1.0 / studies as f64;
    for seed in 0..studies {
        let comparisons = study.conduct(seed as u64, method.is_enough);
        let readings = (method.read)(&comparisons);
        let mut is_false = false;
        for (reading, truth) in readings.iter().zip(&study.ratios) {
            let share = |is_counted: bool| {
                if is_counted {
                    of_studies / study.ratios.len() as f64
                } else {
                    0.0
                }
            };
            outcome.coverage += share(reading.low <= *truth && *truth <= reading.high);
            outcome.faster += share(reading.verdict == Verdict::Faster);
            outcome.slower += share(reading.verdict == Verdict::Slower);
            outcome.equivalent += share(reading.verdict == Verdict::Equivalent);
            outcome.fragile += share(reading.is_fragile);
            let is_early = comparisons[0].len() < BLOCKS_MAX;
            outcome.left_open += share(is_early && reading.verdict == Verdict::Inconclusive);
            is_false |= reading.is_false(*truth);
        }
        outcome.falsely += if is_false { of_studies } else { 0.0 };
        outcome.blocks += comparisons[0].len() as f64 * of_studies;
    }
    outcome
}

/// Checks the coverage of the printed 95 % interval, and how often a verdict
/// is false.
pub fn check(outcome: &Outcome) -> Result<(), String> {
    let coverage = bounds(&COVERAGE, outcome.studies);
    if !coverage.contains(&outcome.coverage) {
        return Err(format!("coverage outside {coverage:?}: {outcome:?}"));
    }
    if outcome.falsely > most(0.06, outcome.studies) {
        return Err(format!("too many false verdicts: {outcome:?}"));
    }
    Ok(())
}
