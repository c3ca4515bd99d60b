//! Findings: limits of a result, each with its level and a remedy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::finding_id::FindingId;
pub use crate::record::level::Level;

/// The figures that a finding limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limits {
    /// Every figure of its subject and load.
    #[default]
    All,
    /// Response and service times, not throughput.
    Times,
    /// Throughput, not the metric that is compared instead.
    Throughput,
}

/// A limit on what a result may claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Its fixed name in snake case, for scripts.
    pub id: FindingId,
    /// How much it limits a result.
    pub level: Level,
    /// The figures that it limits.
    pub limits: Limits,
    /// The subject that it is about; `None` if it is about all of them.
    pub subject: Option<String>,
    /// The load under which it was seen; `None` if it is about all of them.
    pub load: Option<String>,
    /// The observation, with figures.
    pub message: String,
    /// The remedy.
    pub remedy: String,
}

impl Finding {
    /// This finding with a remedy that states more than that of its id.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Finding {
        self.remedy = remedy.into();
        self
    }

    /// This finding at another level.
    #[must_use]
    pub fn at(mut self, level: Level) -> Finding {
        self.level = level;
        self
    }

    /// This finding at another level if a condition holds.
    #[must_use]
    pub fn at_if(self, condition: bool, level: Level) -> Finding {
        if condition { self.at(level) } else { self }
    }

    /// This finding about times only.
    #[must_use]
    pub fn of_times(mut self) -> Finding {
        self.limits = Limits::Times;
        self
    }

    /// This finding about one subject.
    #[must_use]
    pub fn about(mut self, subject: &str) -> Finding {
        self.subject = Some(subject.to_owned());
        self
    }

    /// This finding under one load.
    #[must_use]
    pub fn under(mut self, load: &str) -> Finding {
        self.load = Some(load.to_owned());
        self
    }

    /// Whether it affects the comparison of these two subjects under this load.
    #[must_use]
    pub fn touches(&self, load: &str, subjects: [&str; 2]) -> bool {
        self.load.as_deref().is_none_or(|name| name == load)
            && self
                .subject
                .as_deref()
                .is_none_or(|name| subjects.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_touches_only_its_subject_and_load() {
        // Method: a finding about `a` under `small`, and three comparisons.
        let finding = Finding {
            id: FindingId::Steal,
            level: Level::Bound,
            limits: Limits::All,
            subject: Some("a".to_owned()),
            load: Some("small".to_owned()),
            message: "m".to_owned(),
            remedy: String::new(),
        };
        assert!(finding.touches("small", ["a", "b"]));
        assert!(!finding.touches("small", ["c", "b"]));
        assert!(!finding.touches("large", ["a", "b"]));
    }
}
