//! Expectations of a study, and their written form.

use std::fmt;

use crate::judge::metric::Metric;
use abx_evidence::Objective;

/// The side of its factor on which a ratio is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    AtLeast,
    AtMost,
    Above,
    Below,
}

impl Sign {
    /// Its written form.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Sign::AtLeast => ">=",
            Sign::AtMost => "<=",
            Sign::Above => ">",
            Sign::Below => "<",
        }
    }
}

/// A ratio of two subjects that is expected on one side of a factor.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioExpectation {
    /// The compared metric; `None` for speed, by the primary metric of each load.
    pub metric: Option<Metric>,
    pub subject: String,
    /// The expected side of the factor.
    pub sign: Sign,
    /// The factor, above zero.
    pub factor: f64,
    /// The subject that it is compared with.
    pub other: String,
    /// The load; `None` for every load.
    pub load: Option<String>,
}

impl fmt::Display for RatioExpectation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(metric) = self.metric {
            write!(formatter, "{}: ", metric.id())?;
        }
        write!(formatter, "{} {} ", self.subject, self.sign.text())?;
        // Without a written factor it is exactly 1.
        if self.factor.to_bits() != 1.0_f64.to_bits() {
            write!(formatter, "{} * ", self.factor)?;
        }
        formatter.write_str(&self.other)?;
        match &self.load {
            Some(load) => write!(formatter, " @ {load}"),
            None => Ok(()),
        }
    }
}

/// Goals that every subject must meet.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// The goals, all of which must be met.
    pub objective: Objective,
    /// The load; `None` for every load.
    pub load: Option<String>,
}

impl fmt::Display for Threshold {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.objective)?;
        match &self.load {
            Some(load) => write!(formatter, " @ {load}"),
            None => Ok(()),
        }
    }
}

/// An expectation of a study.
#[derive(Debug, Clone, PartialEq)]
pub enum Expectation {
    /// A ratio on one side of a factor.
    Ratio(RatioExpectation),
    /// Limits that each subject must meet.
    Threshold(Threshold),
    /// That no subject is slower than its baseline by more than this share, in
    /// any primary comparison, nor slower than a subject of an older record.
    NotSlower {
        /// From 0 up to, and without, 1.
        share: f64,
    },
}

impl Expectation {
    /// Whether it must be settled. For [`Expectation::NotSlower`] it is enough that no regression
    /// was found, if one could have been found.
    #[must_use]
    pub fn is_demanded(&self) -> bool {
        !matches!(self, Expectation::NotSlower { .. })
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expectation::Ratio(ratio) => ratio.fmt(formatter),
            Expectation::Threshold(threshold) => threshold.fmt(formatter),
            Expectation::NotSlower { share } => {
                // As many digits as were written: 0.03 times 100 is not 3 in floats.
                let percent = (share * 1e8).round() / 1e6;
                write!(formatter, "not slower by more than {percent} %")
            }
        }
    }
}
