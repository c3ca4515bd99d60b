//! The coverage of the other intervals in the same worlds: response times at
//! one offered rate, the place of a crossing, the capacity.

use abx_evidence::{Histogram, Quantile};
use abx_stats::Margin;
use abx_stats::curve::capacity::{BlockCapacity, CapacityEstimate, block_capacities, capacity};
use abx_stats::curve::crossing::{Crossing, crossings};
use abx_stats::curve::sweep::Position;
use abx_stats::paired::PairedMean;
use abx_stats::stop::{Decision, decide};
use abx_stats::student::Confidence;
use statrs::distribution::{ContinuousCDF, Normal};

use super::extent::{COVERAGE, bounds, drawn};
use super::noise::{Noise, World};
use super::simulation::{BLOCKS_MAX, Study, is_decided};
use super::{KINDS, each_at_once};

/// Studies per kind of noise.
const STUDIES: usize = 2_000;

/// Studies where every slice is drawn, which costs far more.
const STUDIES_OF_SLICES: usize = 500;

/// Studies where coverage is nearest to its limit.
const STUDIES_OF_CORRELATED: usize = 5_000;

#[test]
fn intervals_of_p99_ratios_hold_the_truth() {
    // Method: studies of two subjects whose true p99 differs by 5 %. Each block
    // has 10,000 lognormal response times for each subject; their median and
    // their shape depend on the start. The stop rule or the budget ends a study.
    let pairs = each_at_once(&KINDS, |noise| {
        let study = Study::of_two(noise, 1.05);
        simulate(noise, |seed| p99_study(&study, seed))
    });
    assert_holds("p99 ratio", &pairs);
}

#[test]
fn crossings_hold_the_true_place() {
    // Method: a sweep of six positions over which the subject falls from 10 %
    // above the baseline to 10 % below, in a straight line that passes 0 at
    // 70 connections. Each load adds 1 % of noise of its own and ends by its own
    // rule. The interval of a certain crossing holds 70, or it counts as a miss.
    let pairs = each_at_once(&KINDS, |noise| {
        let study = Study::of_two(noise, 1.0);
        simulate(noise, |seed| crossing_study(&study, seed))
    });
    assert_holds("crossing", &pairs);
}

#[test]
fn capacity_ratios_hold_the_truth() {
    // Method: two subjects with the same true capacity, each a queue whose p99
    // grows without bound towards full load (see `p99_at`), on a grid of 5 %
    // steps. The stop rule or the budget ends a study.
    let pairs = each_at_once(&KINDS, |noise| {
        let study = Study::of_two(noise, 1.0);
        simulate(noise, |seed| capacity_ratio_study(&study, seed))
    });
    assert_holds("capacity ratio", &pairs);
}

#[test]
fn capacities_hold_the_truth_while_the_speed_of_the_machine_is_constant() {
    // Method: one such subject over ten blocks. Its capacity is no ratio, so an
    // effect of the machine on all subjects does not cancel. A machine whose
    // speed wanders must break the coverage, or the test would prove nothing.
    let pairs = each_at_once(&KINDS, |noise| {
        let study = Study::of_two(noise, 1.0);
        simulate(noise, |seed| capacity_study(&study, FINE, seed))
    });
    let (moving, still): (Vec<_>, Vec<_>) = pairs
        .into_iter()
        .partition(|(noise, _)| matches!(noise, Noise::Correlated | Noise::Drift));
    assert_holds("capacity", &still);
    print("capacity", &moving);
    for (noise, outcome) in &moving {
        assert!(outcome.coverage < 0.93, "{noise:?}: {outcome:?}");
    }
}

#[test]
fn a_coarse_grid_costs_the_capacity_its_coverage() {
    // Method: such a subject on a grid of 20 % steps, where the straight line
    // between two rates lies far above the curve.
    let study = Study::of_two(Noise::Normal, 1.0);
    let outcome = simulate(Noise::Normal, |seed| capacity_study(&study, COARSE, seed));
    print("capacity, 20 % steps", &[(Noise::Normal, outcome)]);
    assert!(outcome.coverage < 0.93, "{outcome:?}");
}

#[test]
fn a_quantile_drawn_directly_is_distributed_like_that_of_drawn_requests() {
    // Method: the p99 of 10,000 lognormal times, 200 times by drawing them and
    // counting them as abx does, and 5,000 times by the shortcut of these
    // studies. Mean and spread agree within four standard errors.
    let mut world = Study::of_two(Noise::Normal, 1.0).world(0);
    let counted: Vec<f64> = (0..200)
        .map(|_| {
            let mut times = Histogram::new();
            for _ in 0..REQUESTS {
                times.record_ns((1e6 * (0.5 * world.normal()).exp()) as u64);
            }
            let p99 = Quantile::of(&times, None, 0.99).expect("requests");
            (p99.us as f64 / 1e3).ln()
        })
        .collect();
    let direct: Vec<f64> = (0..5_000).map(|_| 0.5 * normal_p99(&mut world)).collect();
    let [counted, direct] = [counted, direct].map(|values| PairedMean::of(&values).unwrap());
    let distance = (counted.mean() - direct.mean()).abs();
    assert!(
        distance < 4.0 * direct.spread() / 200.0_f64.sqrt(),
        "{counted:?} {direct:?}"
    );
    let spreads = (counted.spread() / direct.spread()).ln().abs();
    assert!(spreads < 4.0 / 400.0_f64.sqrt(), "{counted:?} {direct:?}");
}

/// The result of one study.
struct StudyResult {
    /// Whether its interval or bound holds the truth; `None` if it has
    /// neither.
    holds: Option<bool>,
    blocks: usize,
}

/// The results of many studies.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    studies: usize,
    /// Of the studies with a result, the share in which it is true.
    coverage: f64,
    /// The share of the studies without a result.
    silent: f64,
    /// Blocks of a study, on average.
    blocks: f64,
}

fn simulate(noise: Noise, study: impl Fn(u64) -> StudyResult) -> Outcome {
    let studies = match noise {
        Noise::Slices => STUDIES_OF_SLICES,
        Noise::Correlated => STUDIES_OF_CORRELATED,
        _ => STUDIES,
    };
    let studies = drawn(studies);
    let (mut with_result, mut held, mut blocks) = (0, 0, 0);
    for seed in 0..studies {
        let result = study(seed as u64);
        with_result += usize::from(result.holds.is_some());
        held += usize::from(result.holds == Some(true));
        blocks += result.blocks;
    }
    Outcome {
        studies,
        coverage: held as f64 / with_result as f64,
        silent: (studies - with_result) as f64 / studies as f64,
        blocks: blocks as f64 / studies as f64,
    }
}

fn print(what: &str, pairs: &[(Noise, Outcome)]) {
    println!("| interval | noise | studies | holds truth | silent | blocks |");
    println!("|---|---|---|---|---|---|");
    for (noise, outcome) in pairs {
        println!(
            "| {what} | {noise:?} | {} | {:.1} % | {:.1} % | {:.1} |",
            outcome.studies,
            outcome.coverage * 100.0,
            outcome.silent * 100.0,
            outcome.blocks
        );
    }
}

fn assert_holds(what: &str, pairs: &[(Noise, Outcome)]) {
    print(what, pairs);
    for (noise, outcome) in pairs {
        assert!(
            bounds(&COVERAGE, outcome.studies).contains(&outcome.coverage),
            "{what}, {noise:?}: {outcome:?}"
        );
    }
}

/// A log ratio of p99 in each block, until the study ends.
fn p99_study(study: &Study, seed: u64) -> StudyResult {
    let mut world = study.world(seed);
    let truth = study.ratios[0].ln();
    let log_ratios = until_enough(|| {
        let speeds = world.block();
        let mut log_p99 = |speed: f64| {
            let shape = 0.5 * (0.02 * world.normal()).exp();
            shape * normal_p99(&mut world) - speed
        };
        truth + log_p99(speeds[1]) - log_p99(speeds[0])
    });
    result_of(&log_ratios, truth)
}

/// The p99 of [`REQUESTS`] normal variables without drawing them: their
/// exceedance probabilities are order statistics of uniform variables. The one
/// at rank 1 % is a beta variable, which two gamma variables give.
/// Source: David and Nagaraja, "Order Statistics" (2003), section 2.1.
fn normal_p99(world: &mut World) -> f64 {
    let above = REQUESTS / 100 + 1;
    let exceeded = world.gamma(above as f64);
    let rest = world.gamma((REQUESTS + 1 - above) as f64);
    -Normal::standard().inverse_cdf(exceeded / (exceeded + rest))
}

fn crossing_study(study: &Study, seed: u64) -> StudyResult {
    let mut world = study.world(seed);
    let mut sweep = vec![Vec::with_capacity(BLOCKS_MAX); CONNECTIONS.len()];
    for _ in 0..BLOCKS_MAX {
        // Each load ends by its own rule.
        let is_open = |blocks: &Vec<f64>| decide(blocks, Margin::DEFAULT) == Ok(Decision::Continue);
        let open: Vec<bool> = sweep.iter().map(is_open).collect();
        if !open.contains(&true) {
            break;
        }
        let speeds = world.block();
        for (position, connections) in CONNECTIONS.iter().enumerate() {
            let truth = 0.05 * (CROSSING / connections).ln();
            let log_ratio = truth + speeds[1] - speeds[0] + 0.01 * world.normal();
            if open[position] {
                sweep[position].push(log_ratio);
            }
        }
    }
    let crossings = crossings(&positions(&CONNECTIONS, &sweep), Confidence::COMPUTED)
        .expect("a sweep of six blocks or more");
    let holds = |crossing: &Crossing| {
        crossing.low.is_some_and(|low| low <= CROSSING)
            && crossing.high.is_some_and(|high| CROSSING <= high)
    };
    let certain: Vec<_> = crossings.into_iter().filter(Crossing::is_certain).collect();
    StudyResult {
        holds: (!certain.is_empty()).then(|| certain.iter().any(holds)),
        blocks: sweep.iter().map(Vec::len).max().unwrap_or_default(),
    }
}

/// Has no result if the capacity of a block lies beyond the grid.
fn capacity_ratio_study(study: &Study, seed: u64) -> StudyResult {
    let mut world = study.world(seed);
    let rates = FINE.rates();
    let mut is_beyond = false;
    let log_ratios = until_enough(|| {
        let speeds = world.block();
        let [baseline, subject] = [0, 1].map(|index| {
            let values = values(&mut world, speeds[index], &rates);
            let blocks: Vec<_> = values.chunks(1).collect();
            let block_capacity =
                block_capacities(&positions(&rates, &blocks), LIMIT).expect("a grid")[0];
            is_beyond |= !matches!(block_capacity, BlockCapacity::Within(_));
            block_capacity.rate().ln()
        });
        subject - baseline
    });
    let result = result_of(&log_ratios, 0.0);
    StudyResult {
        holds: result.holds.filter(|_| !is_beyond),
        ..result
    }
}

fn capacity_study(study: &Study, grid: Grid, seed: u64) -> StudyResult {
    let mut world = study.world(seed);
    let rates = grid.rates();
    let mut blocks = vec![Vec::new(); rates.len()];
    for _ in 0..BLOCKS_OF_CAPACITY {
        let speed = world.block()[0];
        for (rate, value) in values(&mut world, speed, &rates).into_iter().enumerate() {
            blocks[rate].push(value);
        }
    }
    let capacity_estimate = block_capacities(&positions(&rates, &blocks), LIMIT)
        .and_then(|blocks| capacity(&blocks, Confidence::COMPUTED))
        .expect("a grid of ten blocks");
    StudyResult {
        holds: match capacity_estimate {
            CapacityEstimate::Within(interval) => {
                Some(interval.low <= CAPACITY && CAPACITY <= interval.high)
            }
            CapacityEstimate::AtLeast(rate) => Some(rate <= CAPACITY),
            CapacityEstimate::AtMost(rate) => Some(CAPACITY <= rate),
            CapacityEstimate::Unbounded => None,
        },
        blocks: BLOCKS_OF_CAPACITY,
    }
}

/// One block's p99 at each of these rates, with 5 % of noise.
fn values(world: &mut World, log_speed: f64, rates: &[f64]) -> Vec<f64> {
    let full_rate = log_speed.exp();
    rates
        .iter()
        .map(|&rate| p99_at(rate, full_rate) * (0.05 * world.normal()).exp())
        .collect()
}

/// The p99 response time at this rate of a subject that serves at most
/// `full_rate`. Response times are exponential with the mean
/// `1 / (full_rate - rate)`, as in a queue with one server and random arrivals.
fn p99_at(rate: f64, full_rate: f64) -> f64 {
    if rate < full_rate {
        100.0_f64.ln() / (full_rate - rate)
    } else {
        f64::INFINITY
    }
}

fn positions<'a>(at: &[f64], blocks: &'a [impl AsRef<[f64]>]) -> Vec<Position<'a>> {
    at.iter()
        .zip(blocks)
        .map(|(&at, blocks)| Position {
            at,
            blocks: blocks.as_ref(),
        })
        .collect()
}

fn until_enough(mut block: impl FnMut() -> f64) -> Vec<f64> {
    let mut values = vec![Vec::with_capacity(BLOCKS_MAX)];
    while values[0].len() < BLOCKS_MAX && !is_decided(&values) {
        values[0].push(block());
    }
    values.remove(0)
}

fn result_of(log_ratios: &[f64], truth: f64) -> StudyResult {
    let interval = PairedMean::of(log_ratios)
        .expect("six finite blocks or more")
        .interval(Confidence::COMPUTED);
    StudyResult {
        holds: Some(interval.low <= truth && truth <= interval.high),
        blocks: log_ratios.len(),
    }
}

/// Rates around full load, which is 1, in equal steps of the logarithm.
#[derive(Clone, Copy)]
struct Grid {
    lowest: f64,
    step: f64,
    rates: i32,
}

impl Grid {
    fn rates(self) -> Vec<f64> {
        (0..self.rates)
            .map(|rate| self.lowest * self.step.powi(rate))
            .collect()
    }
}

const FINE: Grid = Grid {
    lowest: 0.65,
    step: 1.05,
    rates: 14,
};

const COARSE: Grid = Grid {
    lowest: 0.55,
    step: 1.2,
    rates: 5,
};

/// Response times per block and subject.
const REQUESTS: usize = 10_000;

/// The positions of a sweep, and where the true ratio is 1.
const CONNECTIONS: [f64; 6] = [10.0, 20.0, 50.0, 100.0, 200.0, 500.0];
const CROSSING: f64 = 70.0;

/// The true capacity as a share of full load, and the limit of p99 at which it is reached.
const CAPACITY: f64 = 0.9;
const LIMIT: f64 = std::f64::consts::LN_10 * 2.0 / (1.0 - CAPACITY);

/// Blocks of a study of one subject's capacity.
const BLOCKS_OF_CAPACITY: usize = 10;
