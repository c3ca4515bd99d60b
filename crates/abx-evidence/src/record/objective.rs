//! Objectives of a service: limits of quantiles of response times and of the share of failures,
//! such as `p99<50ms,errors<0.1%`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::distribution::quantile::Quantile;
use crate::measure::distribution::times::Figure;
use crate::measure::share::share;
use crate::record::Histograms;

/// The default goal for errors.
const ERRORS: Goal = Goal::Errors { limit_percent: 0.1 };
/// The least usage of a limit, because a usage of zero has no logarithm.
const LEAST: f64 = 1e-3;

/// Goals that must all be met; at least one. In records the text of its `Display`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Objective {
    goals: Vec<Goal>,
}

/// One goal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// A quantile of response times lies below this limit.
    Time {
        figure: Figure,
        /// Its share, 0.99 for p99.
        share: f64,
        limit_us: f64,
    },
    /// Less than this share of the due requests failed or got no response.
    Errors {
        /// The limit in percent, above 0 and below 100.
        limit_percent: f64,
    },
}

/// A subject's results under a load, to be compared with an objective.
#[derive(Debug, Clone, Copy)]
pub struct ObjectiveInput<'a> {
    /// Requests that were due.
    pub planned: u64,
    /// Requests that got a verified response.
    pub ok: u64,
    /// The times of requests, including those that were never sent.
    pub times: &'a Histograms,
}

/// How much of an objective's limits was used: below 1 it is met.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitUsage {
    /// The largest ratio of a measured value to its limit, above 0.
    pub amount: f64,
    /// Whether the true ratio may be larger.
    pub at_least: bool,
}

/// Why a text is not an objective.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectiveError {
    #[error("an objective has at least one goal: write one such as `p99<50ms,errors<0.1%`")]
    Empty,
    #[error(
        "`{0}` is not a goal: write a quantile and a time (`p50`, `p90`, `p95`, `p99` or `p99.9`, \
         `<`, a number and us, ms or s) or `errors<` and a percentage"
    )]
    Goal(String),
    #[error("`{0}` has two limits: leave one of them out")]
    Twice(String),
}

impl Objective {
    /// The goals, in the order in which they were written.
    #[must_use]
    pub fn goals(&self) -> &[Goal] {
        &self.goals
    }

    /// How much of a limit was used, for the goal that was missed most or met most narrowly; `None`
    /// if no request was due. Without a goal for errors, at most 0.1 % of requests may fail,
    /// because failures are fast.
    #[must_use]
    pub fn burden(&self, input: &ObjectiveInput) -> Option<LimitUsage> {
        let has_errors = self
            .goals
            .iter()
            .any(|goal| matches!(goal, Goal::Errors { .. }));
        let implied = (!has_errors).then_some(ERRORS);
        let goals = self.goals.iter().chain(&implied);
        let usages: Option<Vec<LimitUsage>> = goals.map(|goal| goal.burden(input)).collect();
        let larger = |left: LimitUsage, right: LimitUsage| {
            if left.amount >= right.amount {
                left
            } else {
                right
            }
        };
        usages?.into_iter().reduce(larger)
    }
}

impl Goal {
    /// The name of the limited figure, as it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Goal::Time { figure, .. } => figure.name(),
            Goal::Errors { .. } => "errors",
        }
    }

    /// Whether a figure of this name can be limited.
    #[must_use]
    pub fn is_known(name: &str) -> bool {
        let mut figures = Figure::QUANTILES.into_iter();
        name == "errors" || figures.any(|(figure, _)| figure.name() == name)
    }

    fn burden(self, input: &ObjectiveInput) -> Option<LimitUsage> {
        match self {
            Goal::Errors { limit_percent } => {
                let missed = input.planned.saturating_sub(input.ok);
                let share = share(missed, input.planned)?;
                Some(LimitUsage {
                    amount: (100.0 * share / limit_percent).max(LEAST),
                    at_least: false,
                })
            }
            Goal::Time {
                share, limit_us, ..
            } => {
                let bounds = &input.times.response_at_least;
                let bounds = (!bounds.is_empty()).then_some(bounds);
                let quantile = Quantile::of(&input.times.response, bounds, share)?;
                Some(LimitUsage {
                    amount: (quantile.us as f64 / limit_us).max(LEAST),
                    at_least: quantile.at_least,
                })
            }
        }
    }

    fn parse(text: &str) -> Option<Goal> {
        let (name, limit) = text.split_once('<')?;
        let (name, limit) = (name.trim(), limit.trim());
        if name == "errors" {
            let limit_percent = number(limit.strip_suffix('%')?)?;
            return (limit_percent < 100.0).then_some(Goal::Errors { limit_percent });
        }
        let mut figures = Figure::QUANTILES.into_iter();
        let (figure, share) = figures.find(|(figure, _)| figure.name() == name)?;
        let unit =
            limit.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        let amount = number(&limit[..limit.len() - unit.len()])?;
        let in_us = match unit.trim() {
            "us" | "µs" => 1.0,
            "ms" => 1e3,
            "s" => 1e6,
            _ => return None,
        };
        Some(Goal::Time {
            figure,
            share,
            limit_us: amount * in_us,
        })
    }
}

/// A number above zero in plain digits.
fn number(text: &str) -> Option<f64> {
    let is_plain = text
        .chars()
        .all(|letter| letter.is_ascii_digit() || letter == '.');
    let number: f64 = text.parse().ok().filter(|_| is_plain)?;
    (number.is_finite() && number > 0.0).then_some(number)
}

impl FromStr for Objective {
    type Err = ObjectiveError;

    fn from_str(text: &str) -> Result<Objective, ObjectiveError> {
        let mut goals: Vec<Goal> = Vec::new();
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let goal = Goal::parse(part).ok_or_else(|| ObjectiveError::Goal(part.to_owned()))?;
            if goals.iter().any(|other| other.name() == goal.name()) {
                return Err(ObjectiveError::Twice(goal.name().to_owned()));
            }
            goals.push(goal);
        }
        if goals.is_empty() {
            return Err(ObjectiveError::Empty);
        }
        Ok(Objective { goals })
    }
}

impl TryFrom<String> for Objective {
    type Error = ObjectiveError;

    fn try_from(text: String) -> Result<Objective, ObjectiveError> {
        text.parse()
    }
}

impl From<Objective> for String {
    fn from(objective: Objective) -> String {
        objective.to_string()
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let goals: Vec<String> = self.goals.iter().map(Goal::to_string).collect();
        out.write_str(&goals.join(","))
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}<", self.name())?;
        match self {
            Goal::Errors { limit_percent } => write!(out, "{limit_percent}%"),
            Goal::Time { limit_us, .. } => {
                let (amount, unit) = in_largest_unit(*limit_us);
                write!(out, "{amount}{unit}")
            }
        }
    }
}

/// A time in the largest unit in which it is at least 1 and reads back exactly.
fn in_largest_unit(us: f64) -> (f64, &'static str) {
    let units = [(1e6, "s"), (1e3, "ms")];
    let amounts = units.map(|(unit_us, name)| {
        // Without the rounding errors of the change of units.
        let amount = (us / unit_us * 1e9).round() / 1e9;
        (amount >= 1.0 && amount * unit_us == us).then_some((amount, name))
    });
    amounts.into_iter().flatten().next().unwrap_or((us, "us"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<String, ObjectiveError> {
        text.parse::<Objective>()
            .map(|objective| objective.to_string())
    }

    #[test]
    fn goals_are_read_and_written_alike() {
        // Method: every quantile and unit, with and without spaces.
        let table = [
            ("p99<50ms,errors<0.1%", "p99<50ms,errors<0.1%"),
            (" p99.9 < 1.5s ", "p99.9<1.5s"),
            ("p50<800us", "p50<800us"),
            ("p95<2000ms", "p95<2s"),
            ("errors<5%", "errors<5%"),
            ("errors<0.0000000000123%", "errors<0.0000000000123%"),
            ("errors<0.1222222222222%", "errors<0.1222222222222%"),
            ("p99<1.0000000001ms", "p99<1000.0000001us"),
        ];
        for (text, expected) in table {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
        let back: Objective = serde_json::from_str("\"p99<50ms\"").unwrap();
        assert_eq!(serde_json::to_string(&back).unwrap(), "\"p99<50ms\"");
    }

    #[test]
    fn invalid_goals_are_refused_by_name() {
        // Method: texts for each error.
        assert_eq!(read(" , "), Err(ObjectiveError::Empty));
        for wrong in [
            "p99",
            "p98<5ms",
            "p99<5",
            "p99<ms",
            "p99<-5ms",
            "p99<0ms",
            "p99>5ms",
            "errors<0.1",
            "errors<100%",
            "p99<1e3ms",
            "p99<5min",
            "p99<nanms",
        ] {
            assert_eq!(read(wrong), Err(ObjectiveError::Goal(wrong.to_owned())));
        }
        let twice = Err(ObjectiveError::Twice("p99".to_owned()));
        assert_eq!(read("p99<5ms,p99<6ms"), twice);
    }

    #[test]
    fn the_burden_is_that_of_the_goal_that_is_missed_most() {
        // Method: 98 responses of 10 ms and two of 60 ms, five of 10,000 due ones missing; then
        // the two without a response, and no requests at all.
        let mut times = Histograms::default();
        (0..98).for_each(|_| times.response.record_ns(10_000_000));
        (0..2).for_each(|_| times.response.record_ns(60_000_000));
        let input = ObjectiveInput {
            planned: 10_000,
            ok: 9_995,
            times: &times,
        };
        let burden = |text: &str| text.parse::<Objective>().unwrap().burden(&input).unwrap();
        assert!((burden("p50<20ms").amount - 0.5).abs() < 0.01);
        assert!((burden("p99<50ms").amount - 1.2).abs() < 0.01);
        assert!((burden("p50<20ms,p99<50ms").amount - 1.2).abs() < 0.01);
        assert!((burden("p50<20ms,errors<0.025%").amount - 2.0).abs() < 1e-9);
        (0..2).for_each(|_| times.response_at_least.record_ns(60_000_000));
        let bounded = ObjectiveInput {
            planned: 1_000,
            ok: 1_000,
            times: &times,
        };
        let objective: Objective = "p99<50ms,errors<1%".parse().unwrap();
        assert!(objective.burden(&bounded).unwrap().at_least);
        let nothing = ObjectiveInput {
            planned: 0,
            ok: 0,
            times: &Histograms::default(),
        };
        assert_eq!(objective.burden(&nothing), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[p0-9.<, a-z%µ-]{0,24}") {
            // Method: random characters of the grammar; an objective that is read is the same when
            // it is written and read again.
            if let Ok(objective) = text.parse::<Objective>() {
                let written = objective.to_string();
                prop_assert_eq!(written.parse::<Objective>(), Ok(objective));
            }
        }
    }
}
