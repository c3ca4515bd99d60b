//! The counts of one worker's users: their sessions and each step of them.

use abx_evidence::{Outcome, StepTimes};

/// Why a step and its session failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepFailure {
    /// The request failed.
    Request(Outcome),
    /// The correct response lacked a value that later steps need.
    MissingValue,
    /// A body from which a value is taken exceeds the limit.
    BodyTooLarge,
    /// A value makes an invalid path, or puts a line end in a header.
    UnsendableValue,
}

impl StepFailure {
    /// The name in records and reports.
    pub(super) fn name(self) -> &'static str {
        match self {
            StepFailure::Request(outcome) => outcome.name(),
            StepFailure::MissingValue => "missing_value",
            StepFailure::BodyTooLarge => "body_too_large",
            StepFailure::UnsendableValue => "unsendable_value",
        }
    }

    /// The outcome of a session with this failure: a response without a required value, or
    /// with an unusable one, is a wrong response.
    pub(super) fn outcome(self) -> Outcome {
        match self {
            StepFailure::Request(outcome) => outcome,
            StepFailure::BodyTooLarge => Outcome::WrongLength,
            StepFailure::MissingValue | StepFailure::UnsendableValue => Outcome::WrongBody,
        }
    }
}

/// Outcomes of sessions. Each session that began was completed, failed or cut off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionCounts {
    pub begun: u64,
    /// Sessions in which every step succeeded.
    pub completed: u64,
    /// Sessions in which a step failed; the steps after it were not made.
    pub failed: u64,
    /// Sessions that were under way at the end.
    pub cut_off: u64,
}

/// The counts of users.
#[derive(Debug, Clone, Default)]
pub struct ScenarioTally {
    pub sessions: SessionCounts,
    pub connections: u64,
    /// Bytes of bodies, without framing.
    pub body_bytes: u64,
    /// Each step, in the order of the scenario.
    pub steps: Vec<StepTimes>,
}

impl ScenarioTally {
    /// An empty tally for this many steps.
    pub(super) fn of(steps: usize) -> ScenarioTally {
        ScenarioTally {
            steps: vec![StepTimes::default(); steps],
            ..ScenarioTally::default()
        }
    }

    /// Counts a failure of a step, and keeps the sentence on the first failure.
    pub(super) fn fail(
        &mut self,
        step: usize,
        failure: StepFailure,
        sentence: impl FnOnce() -> String,
    ) {
        let step = &mut self.steps[step];
        *step.failed.entry(failure.name().to_owned()).or_default() += 1;
        step.first_failure.get_or_insert_with(sentence);
    }
}
