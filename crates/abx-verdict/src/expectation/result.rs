//! Whether a record meets an expectation.

use super::statement::Sign;
use crate::judge::comparison::Bounds;
use crate::judge::metric::Metric;

/// Why an expectation is neither met nor missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The interval has parts on both sides of the factor.
    Straddles,
    /// The true ratio may lie further from 1 than measured.
    Bound,
    /// There are fewer blocks than this number, which a verdict needs.
    FewBlocks(usize),
    /// There is no interval with two ends.
    NoInterval,
    /// The two subjects were not compared by this metric.
    NotCompared,
    /// Requests had no response, so a quantile may be longer than measured.
    TimesAtLeast,
    /// A quantile needs this number of requests.
    FewRequests(u64),
    /// No request was sent.
    NothingSent,
    /// The generator or a service was the limit, so the faster subject is not known, but the CPU
    /// time per response is.
    GeneratorBound,
    /// The load has no speed: its primary metric is a cost, such as memory per connection.
    NotOfSpeed,
}

impl Doubt {
    /// Whether too little was measured to find even a large difference.
    #[must_use]
    pub fn is_of_too_little(self) -> bool {
        match self {
            Doubt::FewBlocks(_)
            | Doubt::FewRequests(_)
            | Doubt::NothingSent
            | Doubt::NoInterval
            | Doubt::NotCompared => true,
            Doubt::Straddles
            | Doubt::Bound
            | Doubt::TimesAtLeast
            | Doubt::GeneratorBound
            | Doubt::NotOfSpeed => false,
        }
    }
}

/// Whether a record meets an expectation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The whole interval lies on the expected side.
    Holds,
    /// The whole interval lies on the other side.
    Fails,
    Unsettled(Doubt),
    /// No claim stands, for this reason.
    Invalid(String),
}

impl Standing {
    /// Whether too little was measured for any result.
    #[must_use]
    pub fn is_of_too_little(&self) -> bool {
        matches!(self, Standing::Unsettled(doubt) if doubt.is_of_too_little())
    }

    /// The word for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Standing::Holds => "holds",
            Standing::Fails => "fails",
            Standing::Unsettled(_) => "unsettled",
            Standing::Invalid(_) => "invalid",
        }
    }
}

/// The measured value of one goal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GoalReading {
    /// A quantile of response times.
    Time {
        /// Its name, such as p99.
        name: &'static str,
        us: f64,
        /// Whether the true quantile may be longer, because requests had no response.
        at_least: bool,
    },
    /// Requests that failed, or that were due and never sent.
    Errors {
        missed: u64,
        /// The number of requests that were due.
        planned: u64,
    },
}

/// The result of one expectation under one load.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectationResult {
    /// The expectation, as it is written.
    pub expected: String,
    pub is_demanded: bool,
    /// The compared metric; `None` if nothing was compared.
    pub metric: Option<Metric>,
    /// The load; empty for a metric that belongs to no load.
    pub load: String,
    /// The subject; empty if nothing was compared.
    pub subject: String,
    /// The measured value of a goal; `None` for a ratio, and if nothing was measured.
    pub goal: Option<GoalReading>,
    /// The subject that it was compared with; a subject of an older record is its name `of then`.
    pub other: String,
    /// Subject over other, if there is an interval.
    pub bounds: Option<Bounds>,
    /// Whether a ratio of times was inverted, to be read as a ratio of speeds.
    pub is_speed_of_time: bool,
    /// The expected side and the factor of the ratio; `None` if nothing was compared.
    pub wanted: Option<(Sign, f64)>,
    /// The number of additional blocks that would bring the interval to one side of the factor,
    /// if it includes the factor.
    pub blocks_more: Option<u32>,
    pub standing: Standing,
}

/// The result if nothing was compared.
pub(super) fn nothing_compared() -> ExpectationResult {
    ExpectationResult {
        expected: String::new(),
        is_demanded: false,
        metric: None,
        load: String::new(),
        subject: String::new(),
        goal: None,
        other: String::new(),
        bounds: None,
        is_speed_of_time: false,
        wanted: None,
        blocks_more: None,
        standing: Standing::Unsettled(Doubt::NotCompared),
    }
}
