//! Where two subjects change places over a sweep of loads, and how surely that
//! is known.

use super::sweep::{LogSpan, Position, check_sweep};
use crate::StatsError;
use crate::log_ratios::check_log_ratios;
use crate::moments::Moments;
use crate::paired::BLOCKS_MIN;
use crate::student::{Confidence, t_quantile};

/// On which side of 1 a ratio of subject over baseline lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The subject has more than the baseline.
    Above,
    /// The subject has less than the baseline.
    Below,
}

impl Side {
    fn of(mean: f64) -> Option<Side> {
        if mean > 0.0 {
            Some(Side::Above)
        } else if mean < 0.0 {
            Some(Side::Below)
        } else {
            None
        }
    }
}

/// One change of the ratio from one side of 1 to the other. Places are in the
/// unit of the sweep's positions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// Where the mean ratio lies before.
    pub before: Side,
    /// Where it lies after: the other side.
    pub after: Side,
    /// Where the means change sides.
    pub at: f64,
    /// The lower end of where the true ones may; `None` when that reaches the
    /// first position, so that the change may lie below the sweep.
    pub low: Option<f64>,
    /// The upper end; `None` when the change may lie above the sweep.
    pub high: Option<f64>,
    /// The last position before the change at which the side is certain;
    /// `None` without one.
    pub ahead_until: Option<f64>,
    /// The first position after the change at which the other side is certain;
    /// `None` without one.
    pub ahead_from: Option<f64>,
}

impl Crossing {
    /// Whether the sides are certain before and after: only then did the
    /// subjects change places. Otherwise the means did, and the blocks do not
    /// show that it was more than chance.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.ahead_until.is_some() && self.ahead_from.is_some()
    }
}

/// The places at which the per-block log ratios of a sweep change their sign,
/// in the order of the sweep.
///
/// Between two positions each block's log ratio is taken for a straight line
/// in the logarithm of the position. At every place the blocks' values so
/// interpolated have a t interval, and the change may lie wherever that
/// interval holds 0. If the lines are straight and the blocks normal, the
/// place where the true mean is 0 is in that set with exactly this confidence.
/// Its ends solve a quadratic equation.
///
/// A side is certain at a position when its t interval excludes 0. Means that
/// cross 0 several times between two certain positions, or between one and the
/// sweep's end, cannot be told apart: if they end on the other side, that is
/// one change, at the middle one of them; if not, there is none. A mean of
/// exactly 0 counts with the one before it.
///
/// Source: Fieller, Journal of the Royal Statistical Society B 16 (1954);
/// docs/explain/statistics/curves.md, "Where two subjects change places".
///
/// # Errors
/// - [`StatsError::TooFewPositions`], [`StatsError::BadPosition`],
///   [`StatsError::UnequalBlocks`] for what is no sweep.
/// - [`StatsError::TooFewBlocks`] below [`BLOCKS_MIN`] blocks.
/// - [`StatsError::NoLogRatio`] for a number that is not finite.
pub fn crossings(
    sweep: &[Position<'_>],
    confidence: Confidence,
) -> Result<Vec<Crossing>, StatsError> {
    check_sweep(sweep)?;
    let blocks = sweep[0].blocks.len();
    if blocks < BLOCKS_MIN {
        return Err(StatsError::TooFewBlocks {
            got: blocks,
            need: BLOCKS_MIN,
        });
    }
    for position in sweep {
        check_log_ratios(position.blocks)?;
    }
    let reach = t_quantile(confidence, blocks - 1).powi(2) / (blocks * (blocks - 1)) as f64;
    let points = points(sweep, reach);
    let last_certain = |change: &usize| points[..=*change].iter().rposition(|it| it.is_certain);

    let changes: Vec<usize> = (0..points.len() - 1)
        .filter(|index| points[*index].side != points[index + 1].side)
        .collect();
    Ok(changes
        .chunk_by(|change, next| last_certain(change) == last_certain(next))
        .filter(|apart| apart.len() % 2 == 1)
        .filter_map(|apart| crossing(&points, apart, reach))
        .collect())
}

/// One position with what its blocks say.
struct AssessedPosition<'a> {
    at: f64,
    blocks: &'a [f64],
    moments: Moments,
    /// The side of the mean; `None` when every mean is 0.
    side: Option<Side>,
    is_certain: bool,
}

/// `reach` times the sum of squared deviations is the square of the interval's
/// half-width.
fn points<'a>(sweep: &[Position<'a>], reach: f64) -> Vec<AssessedPosition<'a>> {
    let mut points: Vec<AssessedPosition<'_>> = sweep
        .iter()
        .map(|position| {
            let moments = Moments::of(position.blocks);
            AssessedPosition {
                at: position.at,
                blocks: position.blocks,
                moments,
                side: Side::of(moments.mean),
                is_certain: moments.mean.powi(2) > reach * moments.squares,
            }
        })
        .collect();
    let mut side = points.iter().find_map(|point| point.side);
    for point in &mut points {
        side = point.side.or(side);
        point.side = side;
    }
    points
}

/// The change that these crossings of the means amount to, an odd number of
/// them with no certain position between: each is the index of the point before.
fn crossing(points: &[AssessedPosition<'_>], apart: &[usize], reach: f64) -> Option<Crossing> {
    let (first, last) = (*apart.first()?, *apart.last()?);
    let middle = apart[apart.len() / 2];
    let certain = |point: &&AssessedPosition<'_>| point.is_certain;
    let way = LogSpan {
        from: points[middle].at,
        to: points[middle + 1].at,
    };
    Some(Crossing {
        before: points[first].side?,
        after: points[last + 1].side?,
        at: way.place(share_to_zero(points, middle)),
        low: end_of_doubt(
            points[..=first + 1].iter().rev(),
            1.0 - share_to_zero(points, first),
            reach,
        ),
        high: end_of_doubt(points[last..].iter(), share_to_zero(points, last), reach),
        ahead_until: points[..=first].iter().rfind(certain).map(|it| it.at),
        ahead_from: points[last + 1..].iter().find(certain).map(|it| it.at),
    })
}

/// The share of the way from this point to the next at which the mean is 0.
fn share_to_zero(points: &[AssessedPosition<'_>], index: usize) -> f64 {
    let [from, to] = [&points[index], &points[index + 1]].map(|point| point.moments.mean);
    from / (from - to)
}

/// Walks over the points, from `start` (a share of the way from the first to
/// the second), to where the interval ceases to hold 0; `None` when it never does.
fn end_of_doubt<'a>(
    mut walk: impl Iterator<Item = &'a AssessedPosition<'a>>,
    mut start: f64,
    reach: f64,
) -> Option<f64> {
    let mut near = walk.next()?;
    for far in walk {
        let way = LogSpan {
            from: near.at,
            to: far.at,
        };
        match Quadratic::between(near, far, reach).end(start) {
            Some(share) => return Some(way.place(share)),
            // Its end lies at this point, and rounding moved it beyond.
            None if far.is_certain => return Some(far.at),
            None => {
                start = 0.0;
                near = far;
            }
        }
    }
    None
}

/// The squared mean less the squared half-width on the way between two points,
/// as `square · share² + 2 · half_linear · share + constant`: the interval
/// holds 0 where this is not above 0.
struct Quadratic {
    square: f64,
    half_linear: f64,
    constant: f64,
    /// `half_linear² − square · constant`.
    quarter_discriminant: f64,
    /// What rounding may have made of that.
    rounding: f64,
}

impl Quadratic {
    fn between(near: &AssessedPosition<'_>, far: &AssessedPosition<'_>, reach: f64) -> Quadratic {
        let mean = near.moments.mean;
        let rise = far.moments.mean - mean;
        let (mut mixed, mut rises, mut joint) = (0.0, 0.0, 0.0);
        for (from, to) in near.blocks.iter().zip(far.blocks) {
            let deviation = from - mean;
            let deviation_of_rise = (to - from) - rise;
            mixed += deviation * deviation_of_rise;
            rises += deviation_of_rise.powi(2);
            joint += (mean * deviation_of_rise - rise * deviation).powi(2);
        }
        let squares = near.moments.squares;
        let terms = mean.powi(2) * rises + rise.powi(2) * squares + reach * squares * rises;
        Quadratic {
            square: rise.powi(2) - reach * rises,
            half_linear: mean * rise - reach * mixed,
            constant: mean.powi(2) - reach * squares,
            // The same as the difference of products, multiplied out: there
            // the large terms cancel, and nothing would be left without spread.
            quarter_discriminant: reach * joint - reach.powi(2) * (squares * rises - mixed.powi(2)),
            rounding: ROUNDINGS * f64::EPSILON * reach * terms,
        }
    }

    /// The first share of the way from `start` to 1 at which this rises above
    /// 0, if it is not above 0 at `start`.
    fn end(&self, start: f64) -> Option<f64> {
        // One that opens downwards may touch 0 and not rise above it: at the place
        // where all blocks are 0 at once, as they are when each is a multiple of another.
        if self.square <= 0.0 && self.quarter_discriminant <= self.rounding {
            return None;
        }
        // A parabola that opens upwards is not above 0 at `start`, so it has
        // roots, and only rounding can say otherwise.
        let root = self.quarter_discriminant.max(0.0).sqrt();
        // Where it rises through 0, in the form that does not cancel.
        let rising = if self.half_linear > 0.0 {
            -self.constant / (self.half_linear + root)
        } else {
            (root - self.half_linear) / self.square
        };
        let rising = if self.square > 0.0 {
            rising.max(start)
        } else {
            rising
        };
        // At 1 it only touches: what follows has the same position.
        (start <= rising && rising < 1.0).then_some(rising)
    }
}

/// A sum over some tens of blocks is wrong by a few times its last digit.
const ROUNDINGS: f64 = 32.0;

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::paired::{LogInterval, PairedMean};

    const AT: [f64; 4] = [10.0, 100.0, 1_000.0, 10_000.0];

    /// Blocks with the same spread around each of these means, so that the
    /// interval of each reaches 0.0248 to each side at 95 %.
    fn found(means: &[f64]) -> Vec<Crossing> {
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

    /// Four blocks whose deviations differ between the positions: both ends are
    /// certain; then the second is so uncertain that the slope may have any sign.
    const UNEQUAL: [[[f64; 4]; 2]; 2] = [
        [[0.10, 0.14, 0.09, 0.13], [-0.05, -0.12, -0.07, -0.15]],
        [[0.020, 0.021, 0.019, 0.020], [-0.30, 0.25, 0.10, -0.20]],
    ];

    fn is_close(value: Option<f64>, other: f64) -> bool {
        value.is_some_and(|value| (value / other - 1.0).abs() < 1e-4)
    }

    #[test]
    fn the_ends_are_where_the_interval_leaves_zero() {
        // Method: by hand. Equal spread everywhere and equal deviations make
        // the half-width constant, 4.30265 · 0.01 / √3 = 0.024841, so the ends
        // lie where the line from 0.1 to -0.1 over a factor of 10 has that value.
        let crossing = found(&[0.1, -0.1])[0];
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
        // Method: 0.01 at 100 connections is within the interval, so doubt
        // begins before it, a share of 0.8351 of the way down from 0.1 to 0.01.
        let crossing = found(&[0.1, 0.01, -0.1])[0];
        let share = (0.1 - 0.024_841_5) / 0.09;
        assert!(is_close(crossing.low, 10.0 * 10.0_f64.powf(share)));
        assert_eq!(crossing.ahead_until, Some(10.0));
        assert_eq!(crossing.ahead_from, Some(1_000.0));
    }

    #[test]
    fn a_place_where_all_blocks_are_zero_ends_no_doubt() {
        // Method: two blocks, one of which is three times the other everywhere, so
        // that no position is certain and the interval is a point where both are 0;
        // with and without a position behind at which both are 0 again.
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
        for (means, (before, after)) in cases {
            let crossing = found(&means)[0];
            assert_eq!(crossing.low.is_some(), before, "{means:?}");
            assert_eq!(crossing.ahead_until.is_some(), before, "{means:?}");
            assert_eq!(crossing.high.is_some(), after, "{means:?}");
            assert_eq!(crossing.ahead_from.is_some(), after, "{means:?}");
            assert!(!crossing.is_certain());
        }
    }

    #[test]
    fn signs_that_change_between_two_certain_positions_are_one_crossing_or_none() {
        // Method: three changes from certainly above to certainly below are
        // one, at the middle; two, back to the side they came from, are none.
        let three = found(&[0.1, -0.01, 0.01, -0.1]);
        assert_eq!(three.len(), 1);
        assert!(is_close(Some(three[0].at), 100.0 * 10.0_f64.sqrt()));
        assert_eq!(three[0].ahead_until, Some(10.0));
        assert_eq!(three[0].ahead_from, Some(10_000.0));
        assert_eq!(found(&[0.1, -0.01, 0.01, 0.1]), []);
    }

    #[test]
    fn certain_positions_between_keep_crossings_apart() {
        // Method: above, below, above, each certain.
        let both = found(&[0.1, -0.1, 0.1]);
        let sides: Vec<_> = both.iter().map(|it| (it.before, it.after)).collect();
        assert_eq!(
            sides,
            [(Side::Above, Side::Below), (Side::Below, Side::Above)]
        );
        assert!(both.iter().all(Crossing::is_certain));
        assert_eq!(both[1].ahead_until, Some(100.0));
    }

    #[test]
    fn means_of_zero_change_nothing_by_themselves() {
        // Method: a mean of 0 at the start, in the middle, everywhere.
        assert_eq!(found(&[0.0, 0.1, 0.1]), []);
        assert_eq!(found(&[0.0, -0.1, -0.1]), []);
        assert_eq!(found(&[0.1, 0.0, 0.1]), []);
        assert_eq!(found(&[0.0, 0.0, 0.0]), []);
        assert_eq!(found(&[0.1, 0.0, -0.1])[0].at, 100.0);
    }

    #[test]
    fn blocks_without_spread_leave_no_doubt() {
        // Method: equal blocks, so that the set shrinks to the place itself.
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
    fn a_sweep_of_one_block_or_without_a_ratio_is_refused() {
        // Method: one block, then a number that is none.
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
        // Method: from the place where the means cross towards each certain position, by
        // halving: the interval of the blocks there holds 0, or does not.
        for [near, far] in UNEQUAL {
            let crossing = of_blocks(&[near, far])[0];
            let is_certain = |share: f64| {
                let blocks = [0, 1, 2, 3].map(|it| near[it] + share * (far[it] - near[it]));
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
    fn differences_of_any_size_cross_at_the_same_places() {
        // Method: all log ratios times powers of two, which loses no digit: about a
        // millionth of a millionth of what they were, and as many times more.
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
        // Method: each block has a factor of its own, with an interval that holds 0, times
        // one number for each position: so does the interval at every place, or it is the
        // point where all blocks are 0.
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
    fn doubt_ends_no_later_than_at_the_first_certain_position() {
        // Method: the smallest mean that is certain to the last bit, by halving, and the
        // ones behind it, where what is left of doubt rounds to all of the way.
        let mut random = ChaCha8Rng::seed_from_u64(8);
        for _ in 0..300 {
            let apart: [f64; 4] = std::array::from_fn(|_| random.random_range(-0.02..0.02));
            let first: [f64; 4] = std::array::from_fn(|_| random.random_range(-0.3..-0.2));
            let crossing = |mean: u64| {
                let mean = f64::from_bits(mean);
                of_blocks(&[first, apart.map(|apart| mean + apart)]).pop()
            };
            let is_certain = |mean: u64| crossing(mean).is_some_and(|it| it.ahead_from.is_some());
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
        // Method: by hand. The rise r has deviations of k · (1, -2, 1), across those of the
        // position, with k so that g · 6 k² is r² or, by rounding, next to it: nothing is left
        // of the square, and (m + λ r)² ≤ g · (S + λ² · 6 k²) is m² + 2 m r λ ≤ g · S.
        let reach = t_quantile(Confidence::PRINTED, 2).powi(2) / 6.0;
        let (mean, rise) = (0.01, 0.09);
        let share = (reach * 2.0 * 0.01_f64.powi(2) - mean * mean) / (2.0 * mean * rise);
        let width = (rise * rise / (6.0 * reach)).sqrt();
        for step in 0..40 {
            let width = f64::from_bits(width.to_bits() - 20 + step);
            let uncertain = [mean - 0.01, mean, mean + 0.01];
            let rises = [rise + width, rise - 2.0 * width, rise + width];
            let certain = [0, 1, 2].map(|it| uncertain[it] + rises[it]);
            let crossing = of_blocks(&[[-0.1, -0.1, -0.1], uncertain, certain])[0];
            assert!(
                is_close(crossing.high, 100.0 * 10.0_f64.powf(share)),
                "{crossing:?}"
            );
        }
    }

    #[test]
    fn subjects_that_are_equal_over_a_interval_may_change_places_anywhere_in_it() {
        // Method: blocks without spread that are 0 at two positions.
        let crossing = of_blocks(&[[0.1; 3], [0.0; 3], [0.0; 3], [-0.1; 3]])[0];
        assert_eq!((crossing.low, crossing.high), (Some(100.0), Some(1_000.0)));
    }
}
