//! What users did who each make sessions of several requests in order, and what became of
//! that. Start at [`ScenarioRecord`] for what is kept, at [`ScenarioTally`] for how it is counted.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::distribution::histogram::Histogram;
use crate::measure::distribution::steps::StepTimes;
use crate::measure::distribution::times::Times;
use crate::measure::expected_status::ExpectedStatus;
use crate::measure::outcome::Outcome;
use crate::record::Machine;

/// The schema of a scenario's measurements, as JSON.
pub const SCENARIO_SCHEMA: &str = "abx.scenario/1";
/// The share of its processor time from which the generator is taken to be the limit.
const BUSY: f64 = 0.9;
/// The share of the sessions from which those that the end cut off matter to their rate.
const CUT_OFF: f64 = 0.05;

/// Why a step failed, and its session with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepFailure {
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
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            StepFailure::Request(outcome) => outcome.name(),
            StepFailure::MissingValue => "missing_value",
            StepFailure::BodyTooLarge => "body_too_large",
            StepFailure::UnsendableValue => "unsendable_value",
        }
    }

    /// What a session is counted as that ended so: a response that does not hold what it has
    /// to, or holds what cannot be used, is a wrong one.
    #[must_use]
    pub fn outcome(self) -> Outcome {
        match self {
            StepFailure::Request(outcome) => outcome,
            StepFailure::BodyTooLarge => Outcome::WrongLength,
            StepFailure::MissingValue | StepFailure::UnsendableValue => Outcome::WrongBody,
        }
    }
}

/// What became of sessions. What was begun is what was completed, failed or cut off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionCounts {
    /// Those that users began.
    pub begun: u64,
    /// Those of which every step succeeded.
    pub completed: u64,
    /// Those of which a step failed; the steps behind it were not made.
    pub failed: u64,
    /// Those that were under way at the end.
    pub cut_off: u64,
}

impl SessionCounts {
    fn merge(&mut self, other: SessionCounts) {
        self.begun += other.begun;
        self.completed += other.completed;
        self.failed += other.failed;
        self.cut_off += other.cut_off;
    }
}

/// What users counted. Those of several threads are merged in any order.
#[derive(Debug, Clone, Default)]
pub struct ScenarioTally {
    /// What became of their sessions.
    pub sessions: SessionCounts,
    /// Sessions that were completed before the end. Answers that were under way then are
    /// waited for, and the last one of a session may be among them.
    pub completed_in_time: u64,
    /// Completed sessions, from their first pause or request to their last response.
    pub session: Histogram,
    /// The same without pauses.
    pub session_without_think: Histogram,
    pub connections: u64,
    pub steps: Vec<StepTally>,
}

/// What was counted of one step.
#[derive(Debug, Clone, Default)]
pub struct StepTally {
    /// How often it was due.
    pub begun: u64,
    /// Requests of which the kernel took a byte at least.
    pub sent: u64,
    /// Those of them that were sent again, since a connection that had served before was
    /// closed before a byte of the response.
    pub resent: u64,
    pub ok: u64,
    /// How often it failed, by [`StepFailure::name`].
    pub failed: BTreeMap<&'static str, u64>,
    /// How often it was under way when abx was stopped.
    pub cut_off: u64,
    /// From when it was due to the last byte of the response, right or wrong.
    pub response: Histogram,
    /// Those of `response` without a response, of which only this is known: it took at least so
    /// long.
    pub response_at_least: Histogram,
    /// From the first byte of the request to the last one of the response.
    pub service: Histogram,
    /// Bytes of bodies, without framing.
    pub body_bytes: u64,
    /// The first of its failures: how long after the beginning, in ns, and a sentence.
    pub first_failure: Option<(u64, String)>,
}

impl ScenarioTally {
    /// Nothing yet of so many steps.
    #[must_use]
    pub fn of(steps: usize) -> ScenarioTally {
        ScenarioTally {
            steps: vec![StepTally::default(); steps],
            ..ScenarioTally::default()
        }
    }

    /// Adds what `other` holds, which has the same steps.
    pub fn merge(&mut self, other: ScenarioTally) {
        self.sessions.merge(other.sessions);
        self.completed_in_time += other.completed_in_time;
        self.session.merge(&other.session);
        self.session_without_think
            .merge(&other.session_without_think);
        self.connections += other.connections;
        for (mine, theirs) in self.steps.iter_mut().zip(other.steps) {
            mine.merge(theirs);
        }
    }
}

impl StepTally {
    /// Counts a failure. Of the first one a sentence is kept.
    pub fn fail(&mut self, failure: StepFailure, at_ns: u64, sentence: impl FnOnce() -> String) {
        *self.failed.entry(failure.name()).or_default() += 1;
        if self.first_failure.is_none() {
            self.first_failure = Some((at_ns, sentence()));
        }
    }

    fn merge(&mut self, other: StepTally) {
        self.begun += other.begun;
        self.sent += other.sent;
        self.resent += other.resent;
        self.ok += other.ok;
        for (name, times) in other.failed {
            *self.failed.entry(name).or_default() += times;
        }
        self.cut_off += other.cut_off;
        self.response.merge(&other.response);
        self.response_at_least.merge(&other.response_at_least);
        self.service.merge(&other.service);
        self.body_bytes += other.body_bytes;
        let first = [self.first_failure.take(), other.first_failure];
        self.first_failure = first.into_iter().flatten().min();
    }
}

impl From<StepTally> for StepTimes {
    fn from(tally: StepTally) -> StepTimes {
        let failed = tally.failed.into_iter();
        StepTimes {
            ok: tally.ok,
            failed: failed
                .map(|(reason, times)| (reason.to_owned(), times))
                .collect(),
            first_failure: tally.first_failure.map(|(_, sentence)| sentence),
            response: tally.response,
            response_at_least: tally.response_at_least,
        }
    }
}

/// A scenario that was run, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioRecord {
    /// [`SCENARIO_SCHEMA`].
    pub schema: String,
    /// The version of abx that measured.
    pub abx_version: String,
    /// When the load began, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// The command line, without secrets.
    pub command: Vec<String>,
    /// The server.
    pub url: String,
    /// The file that says what a session is.
    pub scenario: String,
    /// The SHA-256 of that file, in hexadecimal.
    pub scenario_sha256: String,
    /// What pauses are drawn from.
    pub seed: u64,
    /// How many users there are, each with one session at a time.
    pub users: u32,
    /// When users begin no further session.
    pub end: ScenarioEnd,
    /// From the beginning until the last response.
    pub elapsed_s: f64,
    /// Whether somebody stopped it before its end.
    pub interrupted: bool,
    /// What became of sessions.
    pub sessions: SessionCounts,
    /// Completed sessions per second; none before there was time for any.
    pub sessions_per_s: Option<f64>,
    /// Completed sessions in µs, from their first pause or request to their last response.
    pub session_us: Times,
    /// The same without pauses.
    pub session_without_think_us: Times,
    /// Connections that were begun.
    pub connections: u64,
    /// Each step, in the order of the file.
    pub steps: Vec<StepRecord>,
    /// What it took abx.
    pub generator: ScenarioCost,
    /// Where it was measured.
    pub machine: Machine,
    /// Processor time of the server's processes from the beginning to the last response, where
    /// it can be read.
    pub server_cpu_s: Option<f64>,
}

/// When users begin no further session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScenarioEnd {
    /// After this time, in ns. Answers under way are waited for, and sessions cut off.
    AfterNs(u64),
    /// After so many sessions, which all come to their end.
    AfterSessions(u64),
}

/// What it took abx to make the load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioCost {
    /// Threads, which share the users.
    pub threads: usize,
    /// Processor time of all of them.
    pub cpu_s: f64,
    /// The share of its time that the busiest of them was busy.
    pub busy: f64,
}

/// One step, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepRecord {
    /// What it is called.
    pub name: String,
    /// The request's method.
    pub method: String,
    /// Its path, with the names of values as they stand in the file.
    pub path: String,
    /// The right status.
    pub expect_status: ExpectedStatus,
    /// How often it was due, which is how often it succeeded, failed or was cut off.
    pub begun: u64,
    /// Requests that were sent, at least in part.
    pub sent: u64,
    /// Those of them that were sent again, since a connection that had served before was
    /// closed before a byte of the response.
    pub resent: u64,
    /// How often it succeeded.
    pub ok: u64,
    /// How often it failed, by reason.
    pub failed: BTreeMap<String, u64>,
    /// How often it was under way when abx was stopped.
    pub cut_off: u64,
    /// The first of its failures, as a sentence.
    pub first_failure: Option<String>,
    /// Bytes of the bodies that came.
    pub body_bytes: u64,
    /// In µs from when it was due, a connection's making included, to the last byte of the
    /// answer, right or wrong.
    pub response_time_us: Times,
    /// In µs from the first byte of the request.
    pub service_time_us: Times,
}

impl StepRecord {
    /// A step of this name, with what was counted of it.
    #[must_use]
    pub fn of(
        name: &str,
        request: (&str, &str),
        expect_status: ExpectedStatus,
        tally: StepTally,
    ) -> StepRecord {
        let failed = tally.failed.into_iter();
        StepRecord {
            name: name.to_owned(),
            method: request.0.to_owned(),
            path: request.1.to_owned(),
            expect_status,
            begun: tally.begun,
            sent: tally.sent,
            resent: tally.resent,
            ok: tally.ok,
            failed: failed
                .map(|(name, times)| (name.to_owned(), times))
                .collect(),
            cut_off: tally.cut_off,
            first_failure: tally.first_failure.map(|(_, sentence)| sentence),
            body_bytes: tally.body_bytes,
            response_time_us: Times::bounded(&tally.response, &tally.response_at_least),
            service_time_us: Times::of(&tally.service),
        }
    }

    /// How often it failed, whatever for.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }
}

impl ScenarioRecord {
    /// Whether abx had no time to spare, so that the server may do more than what came out.
    #[must_use]
    pub fn is_generator_bound(&self) -> bool {
        self.generator.busy >= BUSY
    }

    /// Whether sessions are so long beside the load that those which the end cut off make
    /// their rate too low.
    #[must_use]
    pub fn is_too_short(&self) -> bool {
        let SessionCounts { begun, cut_off, .. } = self.sessions;
        cut_off as f64 > CUT_OFF * begun as f64
    }

    /// Processor time of the server for each completed session, in µs, where it can be read.
    #[must_use]
    pub fn server_us_per_session(&self) -> Option<f64> {
        let sessions = Some(self.sessions.completed).filter(|count| *count > 0)?;
        Some(self.server_cpu_s? * 1e6 / sessions as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_load_add_up_whichever_comes_first() {
        // Method: two tallies of one step that failed in different ways, merged both ways.
        let part = |failure: StepFailure, at_ns: u64, ns: u64| {
            let mut tally = ScenarioTally::of(1);
            tally.sessions = SessionCounts {
                begun: 3,
                completed: 1,
                failed: 1,
                cut_off: 1,
            };
            let step = &mut tally.steps[0];
            (step.begun, step.ok) = (2, 1);
            step.response.record_ns(ns);
            step.fail(failure, at_ns, || format!("at {at_ns}"));
            step.fail(failure, at_ns + 1, || "later".to_owned());
            tally
        };
        let item = || part(StepFailure::MissingValue, 70, 1_000_000);
        let other = || part(StepFailure::Request(Outcome::WrongStatus), 30, 2_000_000);
        let [mut forth, mut back] = [item(), other()];
        forth.merge(other());
        back.merge(item());
        for tally in [forth, back] {
            assert_eq!((tally.sessions.begun, tally.sessions.cut_off), (6, 2));
            let step = StepRecord::of("a", ("GET", "/"), 200_u16.into(), tally.steps[0].clone());
            assert_eq!((step.begun, step.ok, step.failures()), (4, 2, 4));
            let failed: Vec<_> = step
                .failed
                .iter()
                .map(|(name, times)| (name.as_str(), *times))
                .collect();
            assert_eq!(failed, [("missing_value", 2), ("wrong_status", 2)]);
            assert_eq!(step.first_failure.as_deref(), Some("at 30"));
            assert_eq!(step.response_time_us.max, Some(2_000));
        }
    }

    #[test]
    fn a_step_without_a_response_is_known_as_at_least() {
        // Method: one response, and one that was waited for in vain.
        let mut tally = StepTally::default();
        tally.response.record_ns(1_000_000);
        tally.response.record_ns(9_000_000);
        tally.response_at_least.record_ns(9_000_000);
        let step = StepRecord::of("a", ("GET", "/"), 200_u16.into(), tally);
        use crate::measure::distribution::times::Figure;
        assert!(step.response_time_us.is_at_least(Figure::P99));
        assert!(!step.response_time_us.is_at_least(Figure::P50));
    }
}
