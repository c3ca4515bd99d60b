//! Clever methods compared with slow ones that can hardly be wrong.

use abx_stats::curve::capacity::block_capacities;
use abx_stats::curve::crossing::{Crossing, Side, crossings};
use abx_stats::curve::sweep::Position;
use abx_stats::curve::usl::{Observation, ScalabilityLaw};
use abx_stats::paired::{LogInterval, PairedMean};
use abx_stats::series::segments::Segments;
use abx_stats::student::Confidence;
use proptest::prelude::*;

/// A sweep over powers of ten, with 2 to 6 blocks at every position and log
/// ratios in steps of 0.1 %.
fn sweeps() -> impl Strategy<Value = Vec<Vec<f64>>> {
    (2_usize..6, 2_usize..7).prop_flat_map(|(positions, blocks)| {
        let ratio = (-100_i32..100).prop_map(|step| f64::from(step) / 1000.0);
        prop::collection::vec(prop::collection::vec(ratio, blocks), positions)
    })
}

fn positions(sweep: &[Vec<f64>]) -> Vec<Position<'_>> {
    sweep
        .iter()
        .zip(0..)
        .map(|(blocks, power)| Position {
            at: 10.0_f64.powi(power),
            blocks,
        })
        .collect()
}

fn crossings_of(sweep: &[Vec<f64>]) -> Vec<Crossing> {
    crossings(&positions(sweep), CONFIDENCE).expect("a sweep of two blocks or more")
}

/// The interval of the interpolated blocks at a place, where 1.5 is halfway
/// from the second position to the third.
fn interval_at(sweep: &[Vec<f64>], place: f64) -> LogInterval {
    let before = (place.floor() as usize).min(sweep.len() - 2);
    let share = place - before as f64;
    let blocks: Vec<f64> = sweep[before]
        .iter()
        .zip(&sweep[before + 1])
        .map(|(from, to)| from + share * (to - from))
        .collect();
    PairedMean::of(&blocks)
        .expect("two blocks or more")
        .interval(CONFIDENCE)
}

/// Low, so that many positions are certain.
const CONFIDENCE: Confidence = Confidence::PRINTED;

/// Steps of a scan across a crossing.
const STEPS: usize = 500;

/// The sum that PELT minimizes: squared deviations, and a penalty for each
/// segment but the first.
fn cost(logs: &[f64], lengths: &[usize], penalty: f64) -> f64 {
    let mut start = 0;
    let mut sum = -penalty;
    for length in lengths {
        let part = &logs[start..start + length];
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        sum += penalty + part.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
        start += length;
    }
    sum
}

/// The segment lengths of every way to cut the bins: bit i of `cuts` is a cut after bin i.
fn partitions(bins: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..1_usize << (bins - 1)).map(move |cuts| {
        let mut lengths = vec![1];
        for bin in 1..bins {
            if cuts >> (bin - 1) & 1 == 1 {
                lengths.push(1);
            } else {
                *lengths.last_mut().expect("one segment") += 1;
            }
        }
        lengths
    })
}

/// The penalty, from its definition.
fn penalty(logs: &[f64]) -> f64 {
    let mut steps: Vec<f64> = logs
        .windows(2)
        .map(|pair| (pair[0] - pair[1]).abs())
        .collect();
    steps.sort_unstable_by(f64::total_cmp);
    let half = steps.len() / 2;
    let median = if steps.len() % 2 == 1 {
        steps[half]
    } else {
        f64::midpoint(steps[half - 1], steps[half])
    };
    let spread = median / (2.0_f64.sqrt() * 0.674_489_750_196);
    3.0 * spread.powi(2) * (logs.len() as f64).ln()
}

proptest! {
    #[test]
    fn a_scan_finds_the_same_ends_of_a_crossing(sweep in sweeps()) {
        // Method: scan each crossing in small steps. Between its ends, the
        // interval holds 0 everywhere; just outside of them, it does not.
        for crossing in crossings_of(&sweep) {
            let last = (sweep.len() - 1) as f64;
            let low = crossing.low.map_or(0.0, f64::log10);
            let high = crossing.high.map_or(last, f64::log10);
            let at = crossing.at.log10();
            prop_assert!(low <= at + 1e-9 && at <= high + 1e-9, "{crossing:?}");
            prop_assert!(interval_at(&sweep, at).center.abs() < 1e-9);

            let outside = [(crossing.low, low - 1e-6), (crossing.high, high + 1e-6)];
            for (end, place) in outside {
                if end.is_some() && (0.0..=last).contains(&place) {
                    prop_assert!(interval_at(&sweep, place).excludes_zero(), "{crossing:?}");
                }
            }
            let certain: Vec<f64> = (0..=STEPS)
                .map(|step| low + (high - low) * step as f64 / STEPS as f64)
                .filter(|place| (low + 1e-6..high - 1e-6).contains(place))
                .filter(|place| interval_at(&sweep, *place).excludes_zero())
                .collect();
            // If the means change sides several times within one crossing, certain
            // places may lie between, though no certain position.
            let changes = sweep
                .windows(2)
                .filter(|pair| {
                    let [from, to] = [0, 1].map(|index| pair[index].iter().sum::<f64>());
                    from * to < 0.0
                })
                .count();
            // If a mean is 0 up to rounding, the number of changes is unknown.
            let is_even = sweep.iter()
                .any(|blocks| blocks.iter().sum::<f64>().abs() < 1e-12);
            prop_assert!(
                changes > 1 || is_even || certain.is_empty(),
                "{crossing:?} {certain:?}"
            );
        }
    }

    #[test]
    fn crossings_alternate_and_lie_between_certain_positions(sweep in sweeps()) {
        // Method: list the sides of all positions whose interval excludes 0. Each
        // change of sides in the list is one certain crossing between these two
        // positions, and there are no other certain crossings.
        let certain: Vec<(f64, Side)> = sweep
            .iter()
            .zip(0..)
            .map(|(blocks, power)| {
                let interval = PairedMean::of(blocks).unwrap().interval(CONFIDENCE);
                (10.0_f64.powi(power), interval)
            })
            .filter(|(_, interval)| interval.excludes_zero())
            .map(|(at, interval)| {
                (at, if interval.center > 0.0 { Side::Above } else { Side::Below })
            })
            .collect();
        let expected: Vec<_> = certain
            .windows(2)
            .filter(|pair| pair[0].1 != pair[1].1)
            .map(|pair| (Some(pair[0].0), pair[0].1, pair[1].1, Some(pair[1].0)))
            .collect();
        let crossings: Vec<_> = crossings_of(&sweep)
            .into_iter()
            .filter(Crossing::is_certain)
            .map(|crossing| {
                (crossing.ahead_until, crossing.before, crossing.after, crossing.ahead_from)
            })
            .collect();
        prop_assert_eq!(crossings, expected);
    }

    #[test]
    fn exchanged_subjects_cross_at_the_same_places(sweep in sweeps()) {
        // Method: negate every log ratio. Ends and places stay.
        let negated: Vec<Vec<f64>> = sweep
            .iter()
            .map(|blocks| blocks.iter().map(|block| -block).collect())
            .collect();
        let crossings = crossings_of(&sweep);
        let mirrored = crossings_of(&negated);
        prop_assert_eq!(crossings.len(), mirrored.len());
        for (crossing, mirror) in crossings.iter().zip(&mirrored) {
            prop_assert_eq!(crossing.before, mirror.after);
            let places = |crossing: &Crossing| (crossing.at, crossing.low, crossing.high);
            prop_assert_eq!(places(crossing), places(mirror));
            let neighbours = |crossing: &Crossing| (crossing.ahead_until, crossing.ahead_from);
            prop_assert_eq!(neighbours(crossing), neighbours(mirror));
        }
    }

    #[test]
    fn no_partition_is_better_than_the_one_found(
        logs in prop::collection::vec(-1.0..1.0_f64, 5..11),
        jump in -3.0..3.0_f64,
        at in 0_usize..11,
    ) {
        // Method: try all partitions of a short series, which may have a jump.
        let rates: Vec<f64> = logs
            .iter()
            .enumerate()
            .map(|(bin, log)| (0.2 * log + if bin < at { 0.0 } else { jump }).exp())
            .collect();
        let logs: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
        let penalty = penalty(&logs);
        let segments = Segments::of(&rates).unwrap();
        let lengths: Vec<usize> = segments
            .segments
            .iter()
            .map(|segment| segment.bins.len())
            .collect();
        prop_assert_eq!(lengths.iter().sum::<usize>(), rates.len());
        let least = partitions(rates.len())
            .map(|lengths| cost(&logs, &lengths, penalty))
            .fold(f64::INFINITY, f64::min);
        prop_assert!((cost(&logs, &lengths, penalty) - least).abs() < 1e-9, "{lengths:?}");
    }

    #[test]
    fn any_other_law_fits_worse(
        noise in prop::collection::vec(-0.3..0.3_f64, 6),
        sigma in 0.0..1.0_f64,
        kappa in 0.0..0.01_f64,
        steps in prop::array::uniform3(-0.05..0.05_f64),
    ) {
        // Method: noisy data, and a law slightly off the fitted one, without
        // negative coefficients. Its squared relative errors are no smaller.
        let truth = ScalabilityLaw { lambda: 100.0, sigma, kappa, r2: None };
        let block: Vec<Observation> = [1.0, 2.0, 5.0, 10.0, 30.0, 100.0]
            .iter()
            .zip(&noise)
            .map(|(&connections, noise)| Observation {
                connections,
                throughput: truth.throughput(connections) * noise.exp(),
            })
            .collect();
        let law = ScalabilityLaw::fit(&block).unwrap();
        let errors = |law: &ScalabilityLaw| -> f64 {
            block
                .iter()
                .map(|point| 1.0 - point.throughput / law.throughput(point.connections))
                .map(|error| error.powi(2))
                .sum()
        };
        let other = ScalabilityLaw {
            lambda: law.lambda * (1.0 + steps[0]),
            sigma: (law.sigma + 0.1 * steps[1]).max(0.0),
            kappa: (law.kappa + 0.01 * steps[2]).max(0.0),
            r2: None,
        };
        prop_assert!(errors(&law) <= errors(&other) + 1e-12, "{law:?} {other:?}");
    }

    #[test]
    fn a_looser_limit_never_lowers_a_capacity(
        values in prop::collection::vec(prop::collection::vec(0.1..10.0_f64, 3), 2..6),
        limit in 0.1..10.0_f64,
    ) {
        // Method: compare one grid under a limit and under one 10 % higher, block by block.
        let grid = positions(&values);
        let tight = block_capacities(&grid, limit).unwrap();
        let loose = block_capacities(&grid, 1.1 * limit).unwrap();
        for (tight, loose) in tight.iter().zip(&loose) {
            prop_assert!(tight.rate() <= loose.rate() * (1.0 + 1e-12));
        }
    }
}
