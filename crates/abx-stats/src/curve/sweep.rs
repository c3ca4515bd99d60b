//! One quantity over a sweep: at each of several positions, a value per
//! block. [`super::crossing`] and [`super::capacity`] use it.

use crate::StatsError;

/// The fewest positions of a sweep.
pub const POSITIONS_MIN: usize = 2;

/// A position of a sweep with the values of its blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Position<'a> {
    /// Connections, or an offered rate in requests/s: above zero.
    pub at: f64,
    /// One value per block, in the order of the blocks: the first value at every
    /// position is from the same block. A position whose load ended before the others
    /// has only the first blocks.
    pub blocks: &'a [f64],
}

/// Finds the first position that is out of range or out of order, or lacks a block.
pub(super) fn check_sweep(sweep: &[Position<'_>]) -> Result<(), StatsError> {
    check_positions(sweep)?;
    let need = sweep[0].blocks.len();
    let counts = sweep.iter().map(|position| position.blocks.len());
    match counts.enumerate().find(|(_, got)| *got != need) {
        None => Ok(()),
        Some((position, got)) => Err(StatsError::UnequalBlocks {
            position,
            got,
            need,
        }),
    }
}

/// Finds the first position that is out of range or out of order.
pub(super) fn check_positions(sweep: &[Position<'_>]) -> Result<(), StatsError> {
    if sweep.len() < POSITIONS_MIN {
        return Err(StatsError::TooFewPositions {
            got: sweep.len(),
            need: POSITIONS_MIN,
        });
    }
    let mut before = 0.0;
    for (position, Position { at, .. }) in sweep.iter().enumerate() {
        if !at.is_finite() || *at <= before {
            return Err(StatsError::BadPosition {
                position,
                value: *at,
            });
        }
        before = *at;
    }
    Ok(())
}

/// The range between two positions, on which values are interpolated linearly in the
/// logarithm of the position.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogSpan {
    pub(super) from: f64,
    pub(super) to: f64,
}

impl LogSpan {
    /// The position after this share of the range, 0 to 1.
    pub(super) fn place(self, share: f64) -> f64 {
        // The exact ends, because a logarithm and its inverse would lose the last bit.
        if share <= 0.0 {
            self.from
        } else if share >= 1.0 {
            self.to
        } else {
            (self.from.ln() + share * (self.to / self.from).ln()).exp()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_ascend_from_above_zero_and_have_the_same_blocks() {
        // Method: a valid sweep, then one with each fault.
        let sweep = |positions: &[f64]| {
            let blocks: &[f64] = &[1.0, 2.0];
            let positions: Vec<_> = positions
                .iter()
                .map(|&at| Position { at, blocks })
                .collect();
            check_sweep(&positions)
        };
        assert_eq!(sweep(&[1.0, 2.0, 300.0]), Ok(()));
        assert_eq!(
            sweep(&[1.0]),
            Err(StatsError::TooFewPositions { got: 1, need: 2 })
        );
        for (places, position) in [
            ([0.0, 1.0], 0),
            ([2.0, 2.0], 1),
            ([2.0, 1.0], 1),
            ([1.0, f64::INFINITY], 1),
            ([1.0, f64::NAN], 1),
        ] {
            let result = sweep(&places);
            assert!(
                matches!(result, Err(StatsError::BadPosition { position: at, .. }) if at == position),
                "{places:?}: {result:?}"
            );
        }
        let positions = [(1.0, &[1.0, 2.0][..]), (2.0, &[1.0][..])];
        assert_eq!(
            check_sweep(&positions.map(|(at, blocks)| Position { at, blocks })),
            Err(StatsError::UnequalBlocks {
                position: 1,
                got: 1,
                need: 2
            })
        );
    }

    #[test]
    fn halfway_is_the_geometric_mean() {
        // Method: from 10 to 1,000 by way of 100, and both ends exactly.
        let way = LogSpan {
            from: 10.0,
            to: 1_000.0,
        };
        assert!((way.place(0.5) - 100.0).abs() < 1e-9);
        assert_eq!((way.place(0.0), way.place(1.0)), (10.0, 1_000.0));
    }
}
