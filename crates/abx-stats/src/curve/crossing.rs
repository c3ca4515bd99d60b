//! Where two subjects change places over a sweep of loads, and how surely that
//! is known.

use super::sweep::{LogSpan, Position, check_positions};
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
/// A position may have only the first of the study's blocks, if its load ended before the
/// others. Its mean is then of fewer blocks, and the two means share the noise of the blocks
/// that both have.
///
/// A side is certain at a position when its t interval excludes 0. Means that
/// cross 0 several times between two certain positions, or between one and the
/// sweep's end, cannot be distinguished: if they end on the other side, that is
/// one change, at the middle one of them; if not, there is none. A mean of
/// exactly 0 counts with the one before it.
///
/// Source: Fieller, Journal of the Royal Statistical Society B 16 (1954);
/// docs/explain/statistics/curves.md, "Where two subjects change places".
///
/// # Errors
/// - [`StatsError::TooFewPositions`], [`StatsError::BadPosition`] for what is no sweep.
/// - [`StatsError::TooFewBlocks`] below [`BLOCKS_MIN`] blocks at a position.
/// - [`StatsError::NoLogRatio`] for a number that is not finite.
pub fn crossings(
    sweep: &[Position<'_>],
    confidence: Confidence,
) -> Result<Vec<Crossing>, StatsError> {
    check_positions(sweep)?;
    for position in sweep {
        let blocks = position.blocks.len();
        if blocks < BLOCKS_MIN {
            return Err(StatsError::TooFewBlocks {
                got: blocks,
                need: BLOCKS_MIN,
            });
        }
        check_log_ratios(position.blocks)?;
    }
    let longest = sweep.iter().map(|position| position.blocks.len()).max();
    let reach = Reach {
        confidence,
        longest: longest.unwrap_or(BLOCKS_MIN),
    };
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

/// How far intervals reach, in units of the deviations in the longest list of blocks.
#[derive(Clone, Copy)]
struct Reach {
    confidence: Confidence,
    /// The most blocks of a position.
    longest: usize,
}

impl Reach {
    /// What the sum of squared deviations, each times [`Reach::weight`], is multiplied by for the
    /// square of the half-width, if the mean is of so many blocks.
    fn of(self, blocks: usize) -> f64 {
        t_quantile(self.confidence, blocks - 1).powi(2) / pairs(self.longest)
    }

    /// What deviations of so many blocks count: 1 in the longest list, more in shorter ones,
    /// whose mean scatters more.
    fn weight(self, blocks: usize) -> f64 {
        (pairs(self.longest) / pairs(blocks)).sqrt()
    }
}

fn pairs(blocks: usize) -> f64 {
    (blocks * (blocks - 1)) as f64
}

/// One position with the result of its blocks.
struct AssessedPosition<'a> {
    at: f64,
    blocks: &'a [f64],
    mean: f64,
    /// What deviations of its blocks count.
    weight: f64,
    /// The sum of the squared deviations, with that weight.
    squares: f64,
    /// The side of the mean; `None` when every mean is 0.
    side: Option<Side>,
    is_certain: bool,
}

impl AssessedPosition<'_> {
    /// The weighted deviation of a block from the mean; none in a block that it lacks.
    fn deviation(&self, block: usize) -> f64 {
        let value = self.blocks.get(block);
        value.map_or(0.0, |value| self.weight * (value - self.mean))
    }
}

fn points<'a>(sweep: &[Position<'a>], reach: Reach) -> Vec<AssessedPosition<'a>> {
    let mut points: Vec<AssessedPosition<'_>> = sweep
        .iter()
        .map(|position| {
            let moments = Moments::of(position.blocks);
            let weight = reach.weight(moments.count);
            let squares = moments.squares * weight.powi(2);
            AssessedPosition {
                at: position.at,
                blocks: position.blocks,
                mean: moments.mean,
                weight,
                squares,
                side: Side::of(moments.mean),
                is_certain: moments.mean.powi(2) > reach.of(moments.count) * squares,
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
fn crossing(points: &[AssessedPosition<'_>], apart: &[usize], reach: Reach) -> Option<Crossing> {
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
    let [from, to] = [&points[index], &points[index + 1]].map(|point| point.mean);
    from / (from - to)
}

/// Walks over the points, from `start` (a share of the way from the first to
/// the second), to where the interval ceases to hold 0; `None` when it never does.
fn end_of_doubt<'a>(
    mut walk: impl Iterator<Item = &'a AssessedPosition<'a>>,
    mut start: f64,
    reach: Reach,
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
    fn between(near: &AssessedPosition<'_>, far: &AssessedPosition<'_>, reach: Reach) -> Quadratic {
        let [fewer, blocks] = {
            let [near, far] = [near.blocks.len(), far.blocks.len()];
            [near.min(far), near.max(far)]
        };
        let reach = reach.of(fewer);
        let mean = near.mean;
        let rise = far.mean - mean;
        let (mut mixed, mut rises, mut joint) = (0.0, 0.0, 0.0);
        for block in 0..blocks {
            let deviation = near.deviation(block);
            let deviation_of_rise = far.deviation(block) - deviation;
            mixed += deviation * deviation_of_rise;
            rises += deviation_of_rise.powi(2);
            joint += (mean * deviation_of_rise - rise * deviation).powi(2);
        }
        let squares = near.squares;
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
        // roots, and only rounding can hide them.
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
mod tests;
