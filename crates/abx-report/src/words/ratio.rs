//! A ratio with its interval in reports, also if the ratio is only a bound.

use abx_verdict::{Comparison, Verdict};

use crate::words::style::Style;
use crate::words::units::{NO_INTERVAL, UNKNOWN, figure, ratios};

/// The side on which the true ratio may lie beyond the measured one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Further {
    AtLeast,
    AtMost,
    Open,
}

impl Further {
    /// The side of a ratio with this verdict; `None` without a bound.
    fn of(verdict: Verdict, at_least: bool, ratio: f64) -> Option<Further> {
        at_least.then(|| {
            if verdict.is_directed() && ratio > 1.0 {
                Further::AtLeast
            } else if verdict.is_directed() {
                Further::AtMost
            } else {
                Further::Open
            }
        })
    }

    fn words(self) -> &'static str {
        match self {
            Further::AtLeast => "at least ",
            Further::AtMost => "at most ",
            Further::Open => "",
        }
    }

    pub(crate) fn sign(self, style: &Style) -> &'static str {
        match self {
            Further::AtLeast => style.at_least(),
            Further::AtMost => style.at_most(),
            Further::Open => "",
        }
    }
}

/// A ratio in digits. A decided bound is the end of its interval nearest to 1: only for that end
/// "at least" or "at most" is certain.
pub(crate) struct ShownRatio {
    pub(crate) further: Option<Further>,
    pub(crate) ratio: String,
    /// The number that `ratio` prints.
    pub(crate) value: f64,
    pub(crate) detail: String,
    /// The interval's ends; `None` for a bound, and for a constant.
    pub(crate) ends: Option<[String; 2]>,
}

impl ShownRatio {
    pub(crate) fn of(verdict: Verdict, at_least: bool, bounds: [f64; 3]) -> ShownRatio {
        let further = Further::of(verdict, at_least, bounds[0]);
        let [ratio, low, high] = ratios(bounds);
        let [value, lowest, highest] = bounds;
        let (end, value) = match further {
            Some(Further::AtLeast) => (low, lowest),
            Some(Further::AtMost) => (high, highest),
            Some(Further::Open) | None => {
                if further.is_none() && low == high {
                    return ShownRatio {
                        further,
                        ratio,
                        value,
                        detail: "constant".to_owned(),
                        ends: None,
                    };
                }
                let beyond = further.map_or("", |_| ", or beyond");
                return ShownRatio {
                    further,
                    ratio,
                    value,
                    detail: format!("{low} to {high}{beyond}"),
                    ends: Some([low, high]),
                };
            }
        };
        ShownRatio {
            further,
            ratio: end,
            value,
            detail: format!("{ratio} was measured"),
            ends: None,
        }
    }

    /// The ratio of a comparison; `None` without an interval.
    pub(crate) fn of_comparison(comparison: &Comparison) -> Option<ShownRatio> {
        let bounds = comparison.bounds()?;
        Some(ShownRatio::of(
            comparison.verdict,
            comparison.at_least,
            bounds,
        ))
    }

    /// The ratio in a sentence, and with "at least" or "at most" for a bound.
    pub(crate) fn in_words(&self) -> String {
        let limit = self.further.map_or("", Further::words);
        format!("{limit}{}", self.ratio)
    }

    pub(crate) fn in_signs(&self, style: &Style) -> String {
        let limit = self.further.map_or("", |further| further.sign(style));
        format!("{limit}{}", self.ratio)
    }
}

/// The cells of a comparison in a table: its ratio, and its interval.
pub(crate) fn ratio_cells(comparison: &Comparison) -> [String; 2] {
    match (
        ShownRatio::of_comparison(comparison),
        comparison.plain_ratio(),
    ) {
        (Some(shown), _) => [shown.in_words(), shown.detail],
        (None, Some(ratio)) => [figure(ratio), NO_INTERVAL.to_owned()],
        (None, None) => [UNKNOWN, UNKNOWN].map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decided_bound_is_the_end_of_its_interval_nearest_to_1() {
        // Method: one ratio on each side of 1, decided or not, as a bound or not.
        let shown = |verdict, at_least, bounds| {
            let shown = ShownRatio::of(verdict, at_least, bounds);
            (shown.in_words(), shown.detail)
        };
        let (slower, faster) = ([0.94, 0.91, 0.97], [1.5, 1.4, 1.7]);
        let table = [
            (
                Verdict::Slower,
                true,
                slower,
                "at most 0.97",
                "0.94 was measured",
            ),
            (
                Verdict::Less,
                true,
                slower,
                "at most 0.97",
                "0.94 was measured",
            ),
            (
                Verdict::Faster,
                true,
                faster,
                "at least 1.40",
                "1.50 was measured",
            ),
            (
                Verdict::More,
                true,
                faster,
                "at least 1.40",
                "1.50 was measured",
            ),
            (Verdict::Slower, false, slower, "0.94", "0.91 to 0.97"),
            (
                Verdict::Inconclusive,
                true,
                slower,
                "0.94",
                "0.91 to 0.97, or beyond",
            ),
        ];
        for (verdict, at_least, bounds, ratio, detail) in table {
            let expected = (ratio.to_owned(), detail.to_owned());
            assert_eq!(shown(verdict, at_least, bounds), expected, "{verdict:?}");
        }
    }
}
