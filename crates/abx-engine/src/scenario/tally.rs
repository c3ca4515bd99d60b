//! What the users of one worker counted: their sessions and each step of them.

use abx_evidence::{Outcome, StepTimes};

/// Why a step failed, and its session with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepFailure {
    /// As any request may fail.
    Request(Outcome),
    /// The correct response did not have a value that later steps need.
    MissingValue,
    /// The body that a value is to be taken from is larger than what is kept of bodies.
    BodyTooLarge,
    /// A value cannot be sent where the step has it: a path that is none, a line end in a header.
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

    /// The outcome of a session that ended so: a response that does not hold what it has
    /// to, or holds what cannot be used, is a wrong one.
    pub(super) fn outcome(self) -> Outcome {
        match self {
            StepFailure::Request(outcome) => outcome,
            StepFailure::BodyTooLarge => Outcome::WrongLength,
            StepFailure::MissingValue | StepFailure::UnsendableValue => Outcome::WrongBody,
        }
    }
}

/// What became of sessions. Those begun were completed, failed or cut off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionCounts {
    pub begun: u64,
    /// Those of which every step succeeded.
    pub completed: u64,
    /// Those of which a step failed; the steps after it were not made.
    pub failed: u64,
    /// Those that were under way at the end.
    pub cut_off: u64,
}

/// What users counted.
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
    /// Nothing yet of so many steps.
    pub(super) fn of(steps: usize) -> ScenarioTally {
        ScenarioTally {
            steps: vec![StepTimes::default(); steps],
            ..ScenarioTally::default()
        }
    }

    /// Counts a failure of a step. Of the first one a sentence is kept.
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
