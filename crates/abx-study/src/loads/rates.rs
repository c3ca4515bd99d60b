//! How much a load offers, if that depends on the capacity of the subjects.

use abx_engine::schedule::{Amount, Arrivals, PerSecond};
use abx_evidence::Objective;

use crate::units;

/// How much a load offers.
#[derive(Debug, Clone, PartialEq)]
pub enum RateSpec {
    AsPaced,
    /// A share of the slowest subject's throughput in a closed loop over the same connections.
    Share {
        /// 0.25 for a quarter.
        share: f64,
        /// How requests are laid out in time.
        spacing: Spacing,
    },
    /// Several rates around the highest at which each subject meets an objective.
    Objective {
        /// The objective to meet.
        objective: Objective,
        /// How requests are laid out in time.
        spacing: Spacing,
    },
    /// The load's pacing, which was found from a share or an objective.
    Found {
        /// Of the slowest subject's throughput.
        share: Option<f64>,
        /// The objective to meet.
        objective: Option<Objective>,
    },
}

/// How the requests of a rate are laid out in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// At equal distances.
    Constant,
    /// At random, independent of each other.
    Poisson,
}

/// The default shares.
/// Source: docs/explain/statistics/response-times.md, "Response times".
pub const SHARES: [f64; 4] = [0.25, 0.50, 0.75, 0.90];

/// One entry of a list of rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// Requests per second.
    Fixed(PerSecond),
    /// A share of the slowest subject's capacity.
    Share(f64),
}

impl Rate {
    /// Reads `2000` or `25%`; `None` for anything else, and for shares that are
    /// not above 0 and at most 2.
    #[must_use]
    pub fn parse(text: &str) -> Option<Rate> {
        if text.ends_with('%') {
            let share = units::share(text).filter(|share| *share > 0.0 && *share <= 2.0);
            return share.map(Rate::Share);
        }
        text.parse().ok().map(Rate::Fixed)
    }

    /// The part after the connections in the name of a load.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Rate::Fixed(rate) => format!("r{}", rate.amount()),
            Rate::Share(share) => format!("r{}pct", (1e4 * share).round() / 1e2),
        }
    }
}

impl Spacing {
    /// The spacing of these arrivals.
    #[must_use]
    pub fn of(arrivals: &Arrivals) -> Spacing {
        match arrivals {
            Arrivals::Poisson { .. } => Spacing::Poisson,
            _ => Spacing::Constant,
        }
    }

    /// Requests at this rate, rounded to a whole number per second from 10/s, else to three
    /// decimals. `None` for a rate that cannot be offered.
    #[must_use]
    pub fn at(self, rate_per_s: f64) -> Option<Arrivals> {
        let rounded = if rate_per_s >= 10.0 {
            rate_per_s.round()
        } else {
            (rate_per_s * 1e3).round() / 1e3
        };
        let per_s = Amount::try_from(rounded).and_then(PerSecond::try_from);
        per_s.ok().map(|per_s| self.every(per_s))
    }

    pub(super) fn every(self, per_s: PerSecond) -> Arrivals {
        match self {
            Spacing::Constant => Arrivals::Constant { per_s },
            Spacing::Poisson => Arrivals::Poisson { per_s },
        }
    }
}

impl RateSpec {
    /// Whether the rate has to be found before anything is measured.
    #[must_use]
    pub fn is_unresolved(&self) -> bool {
        matches!(self, RateSpec::Share { .. } | RateSpec::Objective { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_numbers_or_shares() {
        // Method: each kind with its name, and texts that are neither.
        let name = |text| Rate::parse(text).map(Rate::name);
        assert_eq!(name("2000").as_deref(), Some("r2000"));
        assert_eq!(name("0.5").as_deref(), Some("r0.5"));
        assert_eq!(name("25%").as_deref(), Some("r25pct"));
        assert_eq!(name("12.5%").as_deref(), Some("r12.5pct"));
        for wrong in ["", "fast", "-1", "0", "0%", "250%", "%"] {
            assert_eq!(name(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_found_rate_is_rounded_for_reading() {
        // Method: a high rate, a low one, and values that are no rate.
        let at = |rate| Spacing::Constant.at(rate);
        let per_s = |rate: f64| Arrivals::Constant {
            per_s: Amount::try_from(rate)
                .and_then(PerSecond::try_from)
                .unwrap(),
        };
        assert_eq!(at(12_345.67), Some(per_s(12_346.0)));
        assert_eq!(at(1.23456), Some(per_s(1.235)));
        assert_eq!(at(0.0), None);
        assert_eq!(at(f64::NAN), None);
    }
}
