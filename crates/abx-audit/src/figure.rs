//! Figures as printed, and the values that print this way.

use serde::{Deserialize, Serialize};

/// A number that a tool printed: in seconds, bytes, responses or percent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PrintedFigure {
    /// The text, without the unit.
    pub printed: String,
    /// The value, in the unit of the key.
    pub value: f64,
    /// The smallest number that prints this way, truncated or rounded.
    pub low: f64,
    /// The largest number that prints this way.
    pub high: f64,
    /// The line in the file, from 1.
    pub line: usize,
}

impl PrintedFigure {
    /// All values that print this way.
    pub(crate) fn reach(&self) -> Reach {
        Reach {
            low: self.low,
            high: self.high,
        }
    }
}

/// The range of values that a number may have, none of them negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reach {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Reach {
    pub(crate) fn exact(value: f64) -> Reach {
        Reach {
            low: value,
            high: value,
        }
    }

    pub(crate) fn plus(self, other: Reach) -> Reach {
        Reach {
            low: self.low + other.low,
            high: self.high + other.high,
        }
    }

    pub(crate) fn minus(self, other: Reach) -> Reach {
        Reach {
            low: (self.low - other.high).max(0.0),
            high: (self.high - other.low).max(0.0),
        }
    }

    pub(crate) fn times(self, other: Reach) -> Reach {
        Reach {
            low: self.low * other.low,
            high: self.high * other.high,
        }
    }

    pub(crate) fn over(self, other: Reach) -> Reach {
        let high = if other.low > 0.0 {
            self.high / other.low
        } else {
            f64::INFINITY
        };
        let low = if other.high > 0.0 {
            self.low / other.high
        } else {
            0.0
        };
        Reach { low, high }
    }

    pub(crate) fn scaled(self, factor: f64) -> Reach {
        self.times(Reach::exact(factor))
    }

    /// Whether both could be the same number. A NaN contradicts nothing.
    pub(crate) fn meets(self, other: Reach) -> bool {
        let slack = 1e-9 * (self.high.abs() + other.high.abs());
        !(self.high + slack < other.low || other.high + slack < self.low)
    }

    /// Whether the whole range lies below the other.
    pub(crate) fn is_below(self, other: Reach) -> bool {
        !self.meets(other) && self.high < other.low
    }

    pub(crate) fn middle(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_share_a_number_do_not_contradict_each_other() {
        // Method: 5000 requests in a printed 0.900 s, and rates just inside and outside.
        let time = Reach {
            low: 0.899,
            high: 0.901,
        };
        let rate = Reach::exact(5000.0).over(time);
        assert!(rate.meets(Reach::exact(5555.34)));
        assert!(!rate.meets(Reach::exact(5562.0)));
        assert!(Reach::exact(5000.0).is_below(rate));
        assert!(rate.meets(Reach::exact(f64::NAN)));
        assert!(
            Reach::exact(1.0)
                .over(Reach::exact(0.0))
                .meets(Reach::exact(7.0))
        );
    }
}
