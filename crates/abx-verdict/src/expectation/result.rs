//! Whether a record meets an expectation.

use super::statement::Sign;
use crate::judge::comparison::Bounds;
use crate::judge::metric::Metric;

/// Why an expectation is neither borne out nor refuted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The interval has parts on both sides of the factor.
    Straddles,
    /// The truth may lie further from 1 than what was measured.
    Bound,
    /// Fewer blocks than a verdict takes, which is so many.
    FewBlocks(usize),
    /// There is no interval with two ends.
    NoInterval,
    /// These two were not compared by this.
    NotCompared,
    /// Requests had no response, so a quantile may be longer than what was seen.
    TimesAtLeast,
    /// A quantile needs so many requests.
    FewRequests(u64),
    /// No request was sent.
    NothingSent,
    /// The generator or a service was the limit, so which is faster is not known; what each response
    /// takes of the processor is.
    GeneratorBound,
}

impl Doubt {
    /// Whether so little was measured that no difference could have been found, however
    /// large it is.
    #[must_use]
    pub fn is_of_too_little(self) -> bool {
        match self {
            Doubt::FewBlocks(_)
            | Doubt::FewRequests(_)
            | Doubt::NothingSent
            | Doubt::NoInterval
            | Doubt::NotCompared => true,
            Doubt::Straddles | Doubt::Bound | Doubt::TimesAtLeast | Doubt::GeneratorBound => false,
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

    /// As one word.
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

/// What was measured of one goal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GoalReading {
    /// A quantile of response times.
    Time {
        /// Its name, such as p99.
        name: &'static str,
        us: f64,
        /// Whether the true one may be longer, since requests had no response.
        at_least: bool,
    },
    /// Requests that failed, or that were due and never sent.
    Errors {
        missed: u64,
        /// Of how many that were due.
        planned: u64,
    },
}

/// The response of a record to one expectation, under one load.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectationResult {
    /// What was expected, as a person would write it.
    pub expected: String,
    pub is_demanded: bool,
    /// What was compared; `None` when nothing was.
    pub metric: Option<Metric>,
    /// The load; empty for what is of no load.
    pub load: String,
    /// The subject; empty when nothing was compared at all.
    pub subject: String,
    /// What was measured of a goal; `None` for a ratio, and if nothing was measured.
    pub goal: Option<GoalReading>,
    /// What it was set beside; a subject of an older record is its name `of then`.
    pub other: String,
    /// Subject over other, when there is an interval.
    pub bounds: Option<Bounds>,
    /// Whether the ratio of a time was turned over, to be read as one of speeds.
    pub is_speed_of_time: bool,
    /// On which side of which factor the ratio was expected; `None` when
    /// nothing was compared.
    pub wanted: Option<(Sign, f64)>,
    /// How many blocks more would bring the interval to one side of the factor, where it
    /// includes it.
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
