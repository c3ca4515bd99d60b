//! Ratios as bars of characters on one scale.

use crate::words::units::ratios;
use crate::words::wrap::columns;

/// A log scale with 1 in the middle.
pub(crate) struct RatioScale {
    /// The logarithm at the right end; its negative is at the left.
    end: f64,
    margin: f64,
    /// Columns on each side of 1.
    half: usize,
}

impl RatioScale {
    pub(crate) fn of(
        values: impl Iterator<Item = [f64; 3]>,
        margin: f64,
        width: usize,
    ) -> RatioScale {
        let margin = margin.max(0.0).ln_1p();
        let furthest = values.flatten().map(|value| value.ln().abs());
        RatioScale {
            end: ROOM * furthest.fold(margin.max(LEAST), f64::max),
            margin,
            half: (width - 1) / 2,
        }
    }

    /// The bar of a ratio and its interval, with an open end if the ratio is a bound.
    pub(crate) fn bar(&self, [ratio, low, high]: [f64; 3], at_least: bool) -> String {
        let mut cells = vec![' '; 2 * self.half + 1];
        cells[self.place(-self.margin)..=self.place(self.margin)].fill('░');
        let [ratio_at, low_at, high_at] = [ratio, low, high].map(|value| self.place(value.ln()));
        if low_at <= high_at {
            cells[low_at..=high_at].fill('━');
        }
        cells[low_at] = if at_least && ratio < 1.0 {
            '◀'
        } else {
            '┣'
        };
        cells[high_at] = if at_least && ratio >= 1.0 {
            '▶'
        } else {
            '┫'
        };
        cells[self.half] = '│';
        cells[ratio_at] = '●';
        cells.into_iter().collect()
    }

    pub(crate) fn axis(&self) -> String {
        let [one, left, right] = self.ticks();
        let half = self.half;
        let before = half.saturating_sub(columns(&one) / 2);
        let after = (2 * half + 1).saturating_sub(before + columns(&one));
        format!("{left:before$}{one}{right:>after$}")
    }

    /// One, and the ratios at the left and the right end, none of them printed as zero.
    fn ticks(&self) -> [String; 3] {
        let low = (-self.end).exp();
        let [one, left, right] = ratios([1.0, low, self.end.exp()]);
        let is_zero = left.parse::<f64>() == Ok(0.0) && low > 0.0;
        let left = if is_zero {
            let decimals = (-low.log10()).ceil() as usize;
            format!("{low:.decimals$}")
        } else {
            left
        };
        [one, left, right]
    }

    fn place(&self, log: f64) -> usize {
        let half = self.half as f64;
        let column = half + (log / self.end * half).round();
        column.clamp(0.0, 2.0 * half) as usize
    }
}

const ROOM: f64 = 1.1;
/// The least end of a scale, as a logarithm, so that four decimals distinguish it from 1.
const LEAST: f64 = 1e-4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_marks_ratio_ends_margin_and_one() {
        // Method: the places of the signs on a scale that ends at ln 1.1 · 1.1.
        let scale = RatioScale::of([[1.05, 1.02, 1.1]].into_iter(), 0.03, 41);
        let bar: Vec<char> = scale.bar([1.05, 1.02, 1.1], false).chars().collect();
        let at = |sign| bar.iter().position(|cell| *cell == sign);
        assert_eq!(bar.len(), 41);
        assert_eq!(at('│'), Some(20));
        assert_eq!(at('┣'), Some(24));
        assert_eq!(at('●'), Some(29));
        assert_eq!(at('┫'), Some(38));
        assert_eq!(at('░'), Some(14));
    }

    #[test]
    fn the_ticks_of_every_scale_are_distinct_and_not_zero() {
        // Method: equal ratios, nearly equal, usual and extreme ones, each with its inverse at the
        // other end.
        for ratio in [1.0, 1.000_01, 1.003, 1.1, 4.0, 90.0, 200.0, 1e3, 9e4, 1e9] {
            let scale = RatioScale::of([[ratio; 3]].into_iter(), 0.0, 41);
            let [one, left, right] = scale.ticks();
            let numbers = [&left, &one, &right].map(|tick| tick.parse::<f64>().unwrap());
            assert!(numbers[0] > 0.0, "{left} of {ratio}");
            let are_apart = numbers.is_sorted_by(|tick, next| tick < next);
            assert!(are_apart, "{numbers:?} of {ratio}");
        }
        let scale = RatioScale::of([[500.0; 3]].into_iter(), 0.03, 41);
        let [one, left, _] = scale.ticks();
        assert_eq!([one, left], ["1.00", "0.001"]);
    }

    #[test]
    fn a_bound_ratio_points_away_from_one() {
        // Method: a ratio above 1 and one below.
        let scale = RatioScale::of([[0.9, 0.8, 0.95]].into_iter(), 0.03, 41);
        assert!(scale.bar([0.9, 0.8, 0.95], true).contains('◀'));
        assert!(scale.bar([1.1, 1.05, 1.2], true).contains('▶'));
    }
}
