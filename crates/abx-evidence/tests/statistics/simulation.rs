//! Whole studies, block by block, until the stop rule or the budget ends them.

use abx_evidence::stats::Margin;
use abx_evidence::stats::paired::LogInterval;
use abx_evidence::stats::stop::{Decision, decide};
use abx_evidence::verdict::{Verdict, assess, judge_interval};

use crate::noise::{Noise, World};

/// The most blocks of a study.
const BLOCKS_MAX: usize = 24;

/// How a study is ended and read.
#[derive(Clone, Copy)]
pub struct Method {
    /// Whether to stop after these blocks.
    pub is_enough: fn(&[f64]) -> bool,
    /// What they say.
    pub read: fn(&[f64]) -> Reading,
}

impl Method {
    /// What abx does.
    pub const SHIPPED: Method = Method {
        is_enough: |log_ratios| decide(log_ratios, Margin::DEFAULT) != Ok(Decision::Continue),
        read: |log_ratios| {
            let assessed = assess(log_ratios, Margin::DEFAULT).expect("six finite blocks or more");
            Reading {
                low: assessed.low,
                high: assessed.high,
                verdict: assessed.verdict,
                is_fragile: assessed.fragile,
            }
        },
    };
}

/// What is printed of one study, as ratios.
pub struct Reading {
    low: f64,
    high: f64,
    verdict: Verdict,
    is_fragile: bool,
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

/// What became of many studies, as shares of them.
#[derive(Debug, Default)]
pub struct Outcome {
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
    /// Blocks of a study, on average.
    pub blocks: f64,
}

/// Runs this many studies with a known true ratio, each from its own seed.
pub fn simulate(noise: Noise, ratio: f64, studies: usize, method: Method) -> Outcome {
    let mut outcome = Outcome::default();
    let one = 1.0 / studies as f64;
    for seed in 0..studies {
        let mut world = World::new(noise, ratio.ln(), BLOCKS_MAX, seed as u64);
        let mut log_ratios = Vec::with_capacity(BLOCKS_MAX);
        while log_ratios.len() < BLOCKS_MAX && !(method.is_enough)(&log_ratios) {
            log_ratios.push(world.block());
        }
        let reading = (method.read)(&log_ratios);
        let share = |is_so: bool| if is_so { one } else { 0.0 };
        outcome.coverage += share(reading.low <= ratio && ratio <= reading.high);
        outcome.faster += share(reading.verdict == Verdict::Faster);
        outcome.slower += share(reading.verdict == Verdict::Slower);
        outcome.equivalent += share(reading.verdict == Verdict::Equivalent);
        outcome.fragile += share(reading.is_fragile);
        outcome.blocks += log_ratios.len() as f64 * one;
    }
    outcome
}

/// Whether the printed 95 % interval keeps its word, and how often a verdict
/// is false: a difference where there is none, or none where there is one.
pub fn check(outcome: &Outcome, ratio: f64) -> Result<(), String> {
    let falsely = if ratio == 1.0 {
        outcome.faster + outcome.slower
    } else {
        outcome.slower + outcome.equivalent
    };
    if outcome.coverage < 0.93 {
        return Err(format!("coverage below 93 %: {outcome:?}"));
    }
    if falsely > 0.06 {
        return Err(format!("false verdicts above 6 %: {outcome:?}"));
    }
    Ok(())
}
