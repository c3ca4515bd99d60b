//! The counts of each step of a scenario.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::distribution::histogram::Histogram;

/// The counts of one step of a scenario, in the counted sessions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepTimes {
    /// How often it was due. It then succeeded, failed or was cut off.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub begun: u64,
    /// Requests of which the kernel accepted at least one byte.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sent: u64,
    /// Requests that were sent again, because the server had closed an idle connection.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resent: u64,
    /// How often it succeeded.
    pub ok: u64,
    /// How often it was in progress when abx was stopped.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut_off: u64,
    /// How often it failed, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, u64>,
    /// One of its failures, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<String>,
    /// The time from when it was due to the last byte of the response, correct or not. It includes
    /// opening a connection.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub response: Histogram,
    /// Those in `response` without a response: lower bounds of its time.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub response_at_least: Histogram,
}

impl StepTimes {
    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &StepTimes) {
        self.begun += other.begun;
        self.sent += other.sent;
        self.resent += other.resent;
        self.ok += other.ok;
        self.cut_off += other.cut_off;
        for (reason, times) in &other.failed {
            *self.failed.entry(reason.clone()).or_default() += times;
        }
        if self.first_failure.is_none() {
            self.first_failure.clone_from(&other.first_failure);
        }
        self.response.merge(&other.response);
        self.response_at_least.merge(&other.response_at_least);
    }

    /// Adds the counts of each step in `others` to the same step in `steps`; missing steps are
    /// added.
    pub fn merge_all(steps: &mut Vec<StepTimes>, others: &[StepTimes]) {
        if steps.len() < others.len() {
            steps.resize_with(others.len(), StepTimes::default);
        }
        for (step, other) in steps.iter_mut().zip(others) {
            step.merge(other);
        }
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_several_slices_add_up() {
        // Method: two lists of steps, and an empty one.
        let step = |ok, reason: &str| StepTimes {
            ok,
            failed: BTreeMap::from([(reason.to_owned(), 1)]),
            first_failure: Some(format!("session {ok}: {reason}")),
            ..StepTimes::default()
        };
        let mut sum = Vec::new();
        StepTimes::merge_all(&mut sum, &[step(3, "timeout"), step(2, "reset")]);
        StepTimes::merge_all(&mut sum, &[step(4, "timeout"), step(1, "refused")]);
        StepTimes::merge_all(&mut sum, &[]);
        assert_eq!([sum[0].ok, sum[1].ok], [7, 3]);
        assert_eq!(sum[0].failed["timeout"], 2);
        assert_eq!(sum[1].failed.len(), 2);
        assert_eq!(sum[1].first_failure.as_deref(), Some("session 2: reset"));
    }
}
