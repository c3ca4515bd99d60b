//! The positions at which two subjects change places over a sweep of loads, with their intervals.

use super::sweep::{LogSpan, Position, check_positions};
use crate::StatsError;
use crate::log_ratios::check_log_ratios;
use crate::moments::Moments;
use crate::paired::BLOCKS_MIN;
use crate::student::{Confidence, t_quantile};

/// The side of 1 on which a ratio of subject over baseline lies.
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

/// One change of the ratio from one side of 1 to the other. All positions are in the
/// unit of the sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// The side of the mean ratio before.
    pub before: Side,
    /// The side after, which is the other one.
    pub after: Side,
    /// The position at which the mean changes sides.
    pub at: f64,
    /// The lower end of the interval for the true position; `None` if the interval
    /// reaches the first position, so that the change may lie below the sweep.
    pub low: Option<f64>,
    /// The upper end; `None` if the change may lie above the sweep.
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
    /// subjects change places. Otherwise only the means did, which may be chance.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.ahead_until.is_some() && self.ahead_from.is_some()
    }
}

/// The places at which the per-block log ratios of a sweep change their sign,
/// in the order of the sweep.
///
/// Between two positions each block's log ratio is interpolated linearly in the
/// logarithm of the position. At every point the interpolated values of the blocks
/// have a t interval, and the change may lie wherever that interval includes 0. If
/// the true lines are straight and the blocks normal, the point where the true mean
/// is 0 is in that set with exactly this confidence. The ends of the set solve a
/// quadratic equation.
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
    let last_certain = |change: &usize| {
        let mut before = points[..=*change].iter();
        before.rposition(|point| point.is_certain)
    };

    let changes: Vec<usize> = (0..points.len() - 1)
        .filter(|index| points[*index].side != points[index + 1].side)
        .collect();
    Ok(changes
        .chunk_by(|change, next| last_certain(change) == last_certain(next))
        .filter(|group| group.len() % 2 == 1)
        .filter_map(|group| crossing(&points, group, reach))
        .collect())
}

/// The half-widths of intervals, in units of the deviations in the longest list of blocks.
#[derive(Clone, Copy)]
struct Reach {
    confidence: Confidence,
    /// The most blocks of a position.
    longest: usize,
}

impl Reach {
    /// The factor from the sum of squared deviations, each times [`Reach::weight`], to the square
    /// of the half-width, for a mean of so many blocks.
    fn of(self, blocks: usize) -> f64 {
        t_quantile(self.confidence, blocks - 1).powi(2) / pairs(self.longest)
    }

    /// The weight of deviations in a list of so many blocks: 1 in the longest list, more in shorter
    /// lists, whose mean has a larger error.
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
    /// The weight of the deviations of its blocks.
    weight: f64,
    /// The sum of the squared weighted deviations.
    squares: f64,
    /// The side of the mean; `None` when every mean is 0.
    side: Option<Side>,
    is_certain: bool,
}

impl AssessedPosition<'_> {
    /// The weighted deviation of a block from the mean; 0 for a block that it lacks.
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

/// The single change that these crossings of the mean amount to: an odd number of
/// crossings without a certain position between them, each by the index of the point before.
fn crossing(points: &[AssessedPosition<'_>], changes: &[usize], reach: Reach) -> Option<Crossing> {
    let (first, last) = (*changes.first()?, *changes.last()?);
    let middle = changes[changes.len() / 2];
    let certain = |point: &&AssessedPosition<'_>| point.is_certain;
    let span = LogSpan {
        from: points[middle].at,
        to: points[middle + 1].at,
    };
    Some(Crossing {
        before: points[first].side?,
        after: points[last + 1].side?,
        at: span.place(share_to_zero(points, middle)),
        low: end_of_doubt(
            points[..=first + 1].iter().rev(),
            1.0 - share_to_zero(points, first),
            reach,
        ),
        high: end_of_doubt(points[last..].iter(), share_to_zero(points, last), reach),
        ahead_until: points[..=first].iter().rfind(certain).map(|last| last.at),
        ahead_from: points[last + 1..].iter().find(certain).map(|next| next.at),
    })
}

/// The share of the way from this point to the next at which the mean is 0.
fn share_to_zero(points: &[AssessedPosition<'_>], index: usize) -> f64 {
    let [from, to] = [&points[index], &points[index + 1]].map(|point| point.mean);
    from / (from - to)
}

/// Walks over the points, from `start` (a share of the way from the first to
/// the second), until the interval excludes 0; `None` if it never does.
fn end_of_doubt<'a>(
    mut walk: impl Iterator<Item = &'a AssessedPosition<'a>>,
    mut start: f64,
    reach: Reach,
) -> Option<f64> {
    let mut near = walk.next()?;
    for far in walk {
        let span = LogSpan {
            from: near.at,
            to: far.at,
        };
        match Quadratic::between(near, far, reach).end(start) {
            Some(share) => return Some(span.place(share)),
            // The end is at this point, and rounding moved it beyond.
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
/// includes 0 where this is not above 0.
struct Quadratic {
    square: f64,
    half_linear: f64,
    constant: f64,
    /// `half_linear² − square · constant`.
    quarter_discriminant: f64,
    /// The largest rounding error of the discriminant.
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
        // A parabola that opens downwards may touch 0 and not rise above it, at a point where all
        // blocks are 0 at once, because each is a multiple of another.
        if self.square <= 0.0 && self.quarter_discriminant <= self.rounding {
            return None;
        }
        // A parabola that opens upwards is not above 0 at `start`, so it has
        // roots, and only rounding can hide them.
        let root = self.quarter_discriminant.max(0.0).sqrt();
        // The point where it rises through 0, in the form without cancellation.
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
        // An end at 1 belongs to the next span, which starts at the same position.
        (start <= rising && rising < 1.0).then_some(rising)
    }
}

/// The error of a sum over some tens of blocks, in units of its last digit.
const ROUNDINGS: f64 = 32.0;

#[cfg(test)]
mod tests;
