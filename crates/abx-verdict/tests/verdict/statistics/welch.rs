//! Two sides that were measured apart: what must hold for any blocks, and
//! whether the printed interval keeps its word when the truth is known.

use abx_stats::Margin;
use abx_stats::stop::Decision;
use abx_stats::student::Confidence;
use abx_stats::welch::{TwoSamples, Welch, blocks_more, decide};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::extent::{COVERAGE, bounds, drawn};

/// Studies for each pair of spreads and each true ratio.
const STUDIES: usize = 5_000;
/// The most blocks that are measured now.
const BLOCKS_MAX: usize = 24;

/// Logarithms of the throughputs of 2 to 30 blocks, in steps of 0.1 %.
fn logs() -> impl Strategy<Value = Vec<f64>> {
    let block = (9_000_i32..9_400).prop_map(|step| f64::from(step) / 1000.0);
    prop::collection::vec(block, 2..30)
}

fn welch(now: &[f64], then: &[f64]) -> Welch {
    Welch::of(TwoSamples {
        now,
        then,
        between: 0.0,
    })
    .expect("two finite blocks or more on each side")
}

fn is_close(value: f64, other: f64) -> bool {
    (value - other).abs() < 1e-9 * value.abs().max(1.0)
}

proptest! {
    #[test]
    fn swapping_now_and_then_mirrors_everything(now in logs(), then in logs()) {
        // Method: the same blocks with the sides exchanged.
        let there = welch(&now, &then);
        let back = welch(&then, &now);
        let [there_at, back_at] = [there, back].map(|welch| welch.interval(Confidence::COMPUTED));
        prop_assert!(is_close(there_at.center, -back_at.center));
        prop_assert!(is_close(there_at.low, -back_at.high));
        prop_assert!(is_close(there_at.high, -back_at.low));
        prop_assert!(is_close(there.degrees(), back.degrees()));
    }

    #[test]
    fn a_machine_of_any_speed_gives_the_same(
        now in logs(),
        then in logs(),
        shift in -3.0..3.0,
    ) {
        // Method: every throughput of both sides times the same factor.
        let moved = |blocks: &[f64]| blocks.iter().map(|log| log + shift).collect::<Vec<_>>();
        let before = welch(&now, &then).interval(Confidence::COMPUTED);
        let after = welch(&moved(&now), &moved(&then)).interval(Confidence::COMPUTED);
        prop_assert!(is_close(before.center, after.center));
        prop_assert!(is_close(before.low, after.low));
        prop_assert!(is_close(before.high, after.high));
    }

    #[test]
    fn a_scaled_spread_scales_the_interval(
        now in logs(),
        then in logs(),
        scale in 0.1..10.0,
    ) {
        // Method: every logarithm times the same number; degrees stay.
        let scaled = |blocks: &[f64]| blocks.iter().map(|log| log * scale).collect::<Vec<_>>();
        let before = welch(&now, &then);
        let after = welch(&scaled(&now), &scaled(&then));
        let [wide, wider] = [before, after].map(|welch| welch.half_width(Confidence::COMPUTED));
        prop_assert!(is_close(wide * scale, wider));
        prop_assert!(is_close(before.degrees(), after.degrees()));
    }

    #[test]
    fn degrees_of_freedom_lie_between_those_of_one_side_and_of_both(
        now in logs(),
        then in logs(),
    ) {
        // Method: the range that Welch and Satterthwaite's formula has.
        let [value, other] = [now.len(), then.len()].map(|blocks| (blocks - 1) as f64);
        let degrees = welch(&now, &then).degrees();
        prop_assert!(degrees >= value.min(other), "{degrees}");
        prop_assert!(degrees <= value + other + 1e-9, "{degrees}");
    }

    #[test]
    fn any_numbers_get_a_result_or_an_error(
        now in prop::collection::vec(prop::num::f64::ANY, 0..20),
        then in prop::collection::vec(prop::num::f64::ANY, 0..20),
    ) {
        // Method: all bit patterns. Nothing panics, and only finite numbers pass.
        let sides = TwoSamples { now: &now, then: &then, between: 0.0 };
        let is_finite = now.iter().chain(&then).all(|log| log.is_finite());
        let has_spread = now.len().min(then.len()) >= 2;
        prop_assert_eq!(Welch::of(sides).is_ok(), is_finite && has_spread);
        let _ = decide(sides, Margin::DEFAULT);
        let _ = blocks_more(sides, Margin::DEFAULT, Confidence::COMPUTED, None);
    }
}

/// Spreads of the logarithm of a block's throughput, and how many blocks there
/// are of then.
#[derive(Debug, Clone, Copy)]
struct World {
    now: f64,
    then: f64,
    blocks_then: usize,
}

/// What became of many studies.
#[derive(Debug)]
struct Outcome {
    /// The share of intervals that hold the truth.
    coverage: f64,
    /// Blocks measured now, on average.
    blocks: f64,
}

/// Studies of a machine that stays the same, ended by the shipped rule.
fn simulate(world: World, ratio: f64, confidence: Confidence) -> Outcome {
    let mut outcome = Outcome {
        coverage: 0.0,
        blocks: 0.0,
    };
    let studies = drawn(STUDIES);
    for seed in 0..studies {
        let mut random = ChaCha8Rng::seed_from_u64(seed as u64);
        let then: Vec<f64> = (0..world.blocks_then)
            .map(|_| 10.0 + world.then * normal(&mut random))
            .collect();
        let mut now = Vec::new();
        while now.len() < BLOCKS_MAX {
            now.push(10.0 + ratio.ln() + world.now * normal(&mut random));
            let sides = TwoSamples {
                now: &now,
                then: &then,
                between: 0.0,
            };
            if decide(sides, Margin::DEFAULT) != Ok(Decision::Continue) {
                break;
            }
        }
        let interval = welch(&now, &then).interval(confidence);
        let holds = interval.low <= ratio.ln() && ratio.ln() <= interval.high;
        outcome.coverage += f64::from(u8::from(holds)) / studies as f64;
        outcome.blocks += now.len() as f64 / studies as f64;
    }
    outcome
}

/// Mean 0, spread 1, by the method of Box and Muller.
fn normal(random: &mut ChaCha8Rng) -> f64 {
    // One minus, because the logarithm needs a number above zero.
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}

const WORLDS: [World; 4] = [
    World {
        now: 0.01,
        then: 0.01,
        blocks_then: 6,
    },
    World {
        now: 0.02,
        then: 0.01,
        blocks_then: 12,
    },
    World {
        now: 0.01,
        then: 0.03,
        blocks_then: 12,
    },
    World {
        now: 0.05,
        then: 0.05,
        blocks_then: 20,
    },
];

#[test]
fn the_interval_of_two_days_holds_the_truth() {
    // Method: 5,000 studies for each world, at the true ratios 1 and 1.05, with
    // normal noise and the real stop rule: 93 to 98.5 % hold the truth.
    println!("| spread now | spread then | blocks then | ratio | holds truth | blocks now |");
    println!("|---|---|---|---|---|---|");
    for world in WORLDS {
        for ratio in [1.0, 1.05] {
            let outcome = simulate(world, ratio, Confidence::COMPUTED);
            println!(
                "| {:.0} % | {:.0} % | {} | {ratio:.2} | {:.1} % | {:.1} |",
                world.now * 100.0,
                world.then * 100.0,
                world.blocks_then,
                outcome.coverage * 100.0,
                outcome.blocks,
            );
            let is_right = bounds(&COVERAGE, drawn(STUDIES)).contains(&outcome.coverage);
            assert!(is_right, "{world:?} at {ratio}: {outcome:?}");
        }
    }
}

#[test]
fn a_narrower_interval_of_two_days_is_seen() {
    // Method: the same studies read at 80 %: a check that could not fail would
    // prove nothing.
    let narrow = Confidence::new(0.8).expect("a share");
    let outcome = simulate(WORLDS[1], 1.0, narrow);
    assert!(outcome.coverage < 0.93, "{outcome:?}");
}
