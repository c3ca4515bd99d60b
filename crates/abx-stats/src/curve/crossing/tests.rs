use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::paired::{LogInterval, PairedMean};

const AT: [f64; 4] = [10.0, 100.0, 1_000.0, 10_000.0];

/// The crossings of blocks with the same spread around each of these means, so that each
/// interval reaches 0.0248 to both sides at 95 %.
fn crossings_around(means: &[f64]) -> Vec<Crossing> {
    let blocks: Vec<[f64; 3]> = means
        .iter()
        .map(|mean| [mean - 0.01, *mean, mean + 0.01])
        .collect();
    of_blocks(&blocks)
}

fn of_blocks<B: AsRef<[f64]>>(blocks: &[B]) -> Vec<Crossing> {
    let sweep: Vec<Position<'_>> = AT
        .iter()
        .zip(blocks)
        .map(|(&at, blocks)| Position {
            at,
            blocks: blocks.as_ref(),
        })
        .collect();
    crossings(&sweep, Confidence::PRINTED).unwrap()
}

fn interval(blocks: &[f64]) -> LogInterval {
    let mean = PairedMean::of(blocks).expect("blocks");
    mean.interval(Confidence::PRINTED)
}

/// Four blocks whose deviations differ between the positions. In the first sweep both ends are
/// certain; in the second, the far end is so uncertain that the slope may have any sign.
const UNEQUAL: [[[f64; 4]; 2]; 2] = [
    [[0.10, 0.14, 0.09, 0.13], [-0.05, -0.12, -0.07, -0.15]],
    [[0.020, 0.021, 0.019, 0.020], [-0.30, 0.25, 0.10, -0.20]],
];

fn is_close(value: Option<f64>, other: f64) -> bool {
    value.is_some_and(|value| (value / other - 1.0).abs() < 1e-4)
}

#[test]
fn the_ends_are_where_the_interval_leaves_zero() {
    // Method: by hand. Equal spreads and deviations make the half-width
    // constant, 4.30265 · 0.01 / √3 = 0.024841. So the ends lie where the line
    // from 0.1 to -0.1 over a factor of 10 has that value.
    let crossing = crossings_around(&[0.1, -0.1])[0];
    let share = 0.024_841_5 / 0.2;
    assert_eq!(
        (crossing.before, crossing.after),
        (Side::Above, Side::Below)
    );
    assert!(is_close(Some(crossing.at), 10.0 * 10.0_f64.powf(0.5)));
    assert!(is_close(crossing.low, 10.0 * 10.0_f64.powf(0.5 - share)));
    assert!(is_close(crossing.high, 10.0 * 10.0_f64.powf(0.5 + share)));
    assert_eq!(crossing.ahead_until, Some(10.0));
    assert_eq!(crossing.ahead_from, Some(100.0));
    assert!(crossing.is_certain());
}

#[test]
fn doubt_reaches_over_uncertain_positions() {
    // Method: 0.01 at 100 connections is not certain, so doubt begins before
    // it, at a share of 0.8351 of the way down from 0.1 to 0.01.
    let crossing = crossings_around(&[0.1, 0.01, -0.1])[0];
    let share = (0.1 - 0.024_841_5) / 0.09;
    assert!(is_close(crossing.low, 10.0 * 10.0_f64.powf(share)));
    assert_eq!(crossing.ahead_until, Some(10.0));
    assert_eq!(crossing.ahead_from, Some(1_000.0));
}

#[test]
fn a_place_where_all_blocks_are_zero_does_not_end_doubt() {
    // Method: two blocks, one of which is three times the other everywhere, so
    // that no position is certain and the interval is a point where both are 0;
    // with and without a further position at which both are 0 again.
    let sweep = [[-0.001, -0.003], [0.022, 0.066], [0.0, 0.0]];
    for positions in [2, 3] {
        let sweep: Vec<Position<'_>> = AT
            .iter()
            .zip(&sweep[..positions])
            .map(|(&at, blocks)| Position { at, blocks })
            .collect();
        let crossings = crossings(&sweep, Confidence::PRINTED).unwrap();
        assert_eq!(crossings.len(), 1);
        assert_eq!((crossings[0].low, crossings[0].high), (None, None));
    }
}

#[test]
fn doubt_that_reaches_the_end_of_the_sweep_is_open() {
    // Method: one end certain, then the other, then none.
    let cases = [
        ([0.01, -0.1], (false, true)),
        ([0.1, -0.01], (true, false)),
        ([0.01, -0.01], (false, false)),
    ];
    for (means, (has_low, has_high)) in cases {
        let crossing = crossings_around(&means)[0];
        assert_eq!(crossing.low.is_some(), has_low, "{means:?}");
        assert_eq!(crossing.ahead_until.is_some(), has_low, "{means:?}");
        assert_eq!(crossing.high.is_some(), has_high, "{means:?}");
        assert_eq!(crossing.ahead_from.is_some(), has_high, "{means:?}");
        assert!(!crossing.is_certain());
    }
}

#[test]
fn sides_that_change_between_two_certain_positions_are_one_crossing_or_none() {
    // Method: three changes from certainly above to certainly below are one
    // crossing, at the middle; two changes, back to the first side, are none.
    let three = crossings_around(&[0.1, -0.01, 0.01, -0.1]);
    assert_eq!(three.len(), 1);
    assert!(is_close(Some(three[0].at), 100.0 * 10.0_f64.sqrt()));
    assert_eq!(three[0].ahead_until, Some(10.0));
    assert_eq!(three[0].ahead_from, Some(10_000.0));
    assert_eq!(crossings_around(&[0.1, -0.01, 0.01, 0.1]), []);
}

#[test]
fn certain_positions_between_crossings_keep_them_apart() {
    // Method: above, below, above, each certain.
    let both = crossings_around(&[0.1, -0.1, 0.1]);
    let sides: Vec<_> = both
        .iter()
        .map(|crossing| (crossing.before, crossing.after))
        .collect();
    assert_eq!(
        sides,
        [(Side::Above, Side::Below), (Side::Below, Side::Above)]
    );
    assert!(both.iter().all(Crossing::is_certain));
    assert_eq!(both[1].ahead_until, Some(100.0));
}

#[test]
fn a_mean_of_zero_is_no_crossing_by_itself() {
    // Method: a mean of 0 at the start, in the middle, everywhere.
    assert_eq!(crossings_around(&[0.0, 0.1, 0.1]), []);
    assert_eq!(crossings_around(&[0.0, -0.1, -0.1]), []);
    assert_eq!(crossings_around(&[0.1, 0.0, 0.1]), []);
    assert_eq!(crossings_around(&[0.0, 0.0, 0.0]), []);
    assert_eq!(crossings_around(&[0.1, 0.0, -0.1])[0].at, 100.0);
}

#[test]
fn blocks_without_spread_leave_no_doubt() {
    // Method: equal blocks, so that the interval shrinks to the place itself.
    let blocks = [[0.3; 3], [-0.1; 3]];
    let sweep = [0, 1].map(|index| Position {
        at: AT[index],
        blocks: &blocks[index],
    });
    let crossing = crossings(&sweep, Confidence::PRINTED).unwrap()[0];
    assert!(is_close(Some(crossing.at), 10.0 * 10.0_f64.powf(0.75)));
    assert!(is_close(crossing.low, crossing.at));
    assert!(is_close(crossing.high, crossing.at));
}

#[test]
fn the_end_of_doubt_reaches_a_position_when_its_own_interval_is_certain() {
    // Method: two positions, of which one has only the first four of seven blocks. As the
    // shorter one moves towards 0, the crossing has an end before this position exactly if the
    // interval of the position's own blocks excludes 0.
    let long = [0.10, 0.06, 0.13, 0.08, 0.09, 0.12, 0.07];
    let short = [-0.10, -0.05, -0.14, -0.08];
    let crossing = |near: &[f64], far: &[f64]| of_blocks(&[near, far])[0];
    for shift in [0.0, 0.02, 0.04, 0.06, 0.08] {
        let moved: Vec<f64> = short.iter().map(|value| value + shift).collect();
        let is_certain = interval(&moved).excludes_zero();
        let result = crossing(&long, &moved);
        assert_eq!(result.ahead_from.is_some(), is_certain, "{shift}");
        assert_eq!(result.high.is_some(), is_certain, "{shift}");
        assert_eq!(result.ahead_until, Some(10.0), "{shift}");
        // With exchanged positions, the same places are in reverse order.
        let mirrored = crossing(&moved, &long);
        assert_eq!(mirrored.ahead_until.is_some(), is_certain, "{shift}");
        assert_eq!(mirrored.low.is_some(), is_certain, "{shift}");
    }
    // More blocks at the position narrow the interval of the crossing.
    let seven = crossing(&long, &[-0.10, -0.05, -0.14, -0.08, -0.09, -0.12, -0.06]);
    let four = crossing(&long, &short);
    let width = |crossing: Crossing| crossing.high.unwrap() / crossing.low.unwrap();
    assert!(width(four) > width(seven), "{four:?} {seven:?}");
}

#[test]
fn a_sweep_of_one_block_or_without_a_finite_ratio_is_refused() {
    // Method: one block, then an infinite value.
    let positions = [1.0, 2.0].map(|at| Position { at, blocks: &[0.1] });
    assert_eq!(
        crossings(&positions, Confidence::PRINTED),
        Err(StatsError::TooFewBlocks { got: 1, need: 2 })
    );
    let infinite = [1.0, 2.0].map(|at| Position {
        at,
        blocks: &[0.1, f64::INFINITY],
    });
    assert!(matches!(
        crossings(&infinite, Confidence::PRINTED),
        Err(StatsError::NoLogRatio { block: 1, .. })
    ));
}

#[test]
fn doubt_ends_where_the_interval_of_interpolated_blocks_leaves_zero() {
    // Method: bisect from the crossing of the means towards each certain position: the interval
    // of the interpolated blocks holds 0 or does not.
    for [near, far] in UNEQUAL {
        let crossing = of_blocks(&[near, far])[0];
        let is_certain = |share: f64| {
            let blocks = [0, 1, 2, 3].map(|block| near[block] + share * (far[block] - near[block]));
            interval(&blocks).excludes_zero()
        };
        let middle = crossing.at.log10() - 1.0;
        for (position, end) in [(0.0, crossing.low), (1.0, crossing.high)] {
            assert_eq!(end.is_some(), is_certain(position), "{crossing:?}");
            let (mut doubt, mut certain) = (middle, position);
            for _ in 0..60 {
                let between = f64::midpoint(doubt, certain);
                if is_certain(between) {
                    certain = between
                } else {
                    doubt = between
                }
            }
            let expected = 10.0_f64.powf(1.0 + doubt);
            assert!(end.is_none() || is_close(end, expected), "{crossing:?}");
        }
    }
}

#[test]
fn differences_of_any_scale_cross_at_the_same_places() {
    // Method: multiply all log ratios by 2⁻⁴⁰ and by 2⁴⁰, which loses no digit.
    for sweep in UNEQUAL {
        let expected = of_blocks(&sweep);
        for factor in [2.0_f64.powi(-40), 2.0_f64.powi(40)] {
            let scaled = sweep.map(|blocks| blocks.map(|block| block * factor));
            assert_eq!(of_blocks(&scaled), expected, "{factor}");
        }
    }
}

#[test]
fn blocks_that_are_multiples_of_each_other_leave_doubt_everywhere() {
    // Method: each block is a value times a factor of the position, where the interval of the
    // values holds 0. So does the interval at every place, except that it may be a point where
    // all blocks are 0.
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for blocks in 2..12 {
        for _ in 0..300 {
            let values: Vec<f64> = (0..blocks)
                .map(|_| random.random_range(-1.0..1.5))
                .collect();
            let positions = [-1.0, 1.0].map(|sign| sign * random.random_range(0.001..0.5));
            let sweep = positions.map(|factor| {
                values
                    .iter()
                    .map(|value| value * factor)
                    .collect::<Vec<f64>>()
            });
            if interval(&values).excludes_zero() {
                continue;
            }
            let crossing = of_blocks(&sweep)[0];
            assert_eq!((crossing.low, crossing.high), (None, None), "{sweep:?}");
        }
    }
}

#[test]
fn doubt_ends_at_the_first_certain_position_at_the_latest() {
    // Method: bisect to the last bit for the smallest mean that is certain, and try the means
    // just above it, where the remaining doubt rounds to the whole way.
    let mut random = ChaCha8Rng::seed_from_u64(8);
    for _ in 0..300 {
        let apart: [f64; 4] = std::array::from_fn(|_| random.random_range(-0.02..0.02));
        let first: [f64; 4] = std::array::from_fn(|_| random.random_range(-0.3..-0.2));
        let crossing = |mean: u64| {
            let mean = f64::from_bits(mean);
            of_blocks(&[first, apart.map(|apart| mean + apart)]).pop()
        };
        let is_certain =
            |mean: u64| crossing(mean).is_some_and(|crossing| crossing.ahead_from.is_some());
        let (mut doubt, mut certain) = (0.0_f64.to_bits(), 1.0_f64.to_bits());
        while certain - doubt > 1 {
            let between = doubt.midpoint(certain);
            if is_certain(between) {
                certain = between
            } else {
                doubt = between
            }
        }
        for mean in certain..certain + 8 {
            let crossing = crossing(mean).expect("from below to above");
            let is_within = crossing.high.is_some_and(|high| high < 100.0 + 1e-9);
            assert!(is_within || !is_certain(mean), "{crossing:?}");
        }
    }
}

#[test]
fn an_interval_that_widens_as_fast_as_the_mean_moves_has_an_end() {
    // Method: by hand. The rise r has the deviations k · (1, -2, 1), orthogonal to those of the
    // position, with k such that g · 6 k² is r² up to rounding. The quadratic term vanishes, and
    // (m + λ r)² ≤ g · (S + λ² · 6 k²) becomes m² + 2 m r λ ≤ g · S.
    let reach = t_quantile(Confidence::PRINTED, 2).powi(2) / 6.0;
    let (mean, rise) = (0.01, 0.09);
    let share = (reach * 2.0 * 0.01_f64.powi(2) - mean * mean) / (2.0 * mean * rise);
    let width = (rise * rise / (6.0 * reach)).sqrt();
    for step in 0..40 {
        let width = f64::from_bits(width.to_bits() - 20 + step);
        let uncertain = [mean - 0.01, mean, mean + 0.01];
        let rises = [rise + width, rise - 2.0 * width, rise + width];
        let certain = [0, 1, 2].map(|block| uncertain[block] + rises[block]);
        let crossing = of_blocks(&[[-0.1, -0.1, -0.1], uncertain, certain])[0];
        assert!(
            is_close(crossing.high, 100.0 * 10.0_f64.powf(share)),
            "{crossing:?}"
        );
    }
}

#[test]
fn subjects_that_are_equal_over_an_interval_may_change_places_anywhere_in_it() {
    // Method: blocks without spread that are 0 at two positions.
    let crossing = of_blocks(&[[0.1; 3], [0.0; 3], [0.0; 3], [-0.1; 3]])[0];
    assert_eq!((crossing.low, crossing.high), (Some(100.0), Some(1_000.0)));
}
