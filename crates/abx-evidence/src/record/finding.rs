//! What limits a result: each with the level of the limit and a remedy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::finding_id::FindingId;
pub use crate::record::level::Level;

/// Which figures a finding limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limits {
    /// Every figure of its subject and load.
    #[default]
    All,
    /// Response and service times; throughput stands as it is.
    Times,
    /// Throughput; what is compared in its place stands as it is.
    Throughput,
}

/// Something that limits what a result may claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What it is about: a fixed name that scripts can look for, in snake case.
    pub id: FindingId,
    /// How far it limits.
    pub level: Level,
    /// Which figures it limits.
    pub limits: Limits,
    /// The subject it is about; `None` when it is about all of them.
    pub subject: Option<String>,
    /// The load it was seen under; `None` when it is about all of them.
    pub load: Option<String>,
    /// What was seen, with figures.
    pub message: String,
    /// What the reader can do.
    pub remedy: String,
}

impl Finding {
    /// The same with a remedy that says more than that of its id.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Finding {
        self.remedy = remedy.into();
        self
    }

    /// The same about times only.
    #[must_use]
    pub fn of_times(mut self) -> Finding {
        self.limits = Limits::Times;
        self
    }

    /// The same about one subject.
    #[must_use]
    pub fn about(mut self, subject: &str) -> Finding {
        self.subject = Some(subject.to_owned());
        self
    }

    /// The same under one load.
    #[must_use]
    pub fn under(mut self, load: &str) -> Finding {
        self.load = Some(load.to_owned());
        self
    }

    /// Whether it touches a comparison of these two subjects under this load.
    #[must_use]
    pub fn touches(&self, load: &str, subjects: [&str; 2]) -> bool {
        self.load.as_deref().is_none_or(|mine| mine == load)
            && self
                .subject
                .as_deref()
                .is_none_or(|mine| subjects.contains(&mine))
    }
}

/// Something with what limits it, as long as the list of findings is not whole.
#[derive(Debug)]
pub(crate) struct Limited<T> {
    pub(crate) of: T,
    pub(crate) findings: Vec<Finding>,
}

/// What may be claimed of a whole record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Everything stands.
    #[default]
    Valid,
    /// Something stands as "at least" only.
    Bound,
    /// Something does not stand.
    Invalid,
}

/// The findings of a whole record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Validity {
    /// The worst of them, as one word.
    pub status: Status,
    /// All of them, the worst first.
    pub findings: Vec<Finding>,
}

impl Validity {
    /// Orders findings and takes their worst level.
    #[must_use]
    pub fn of(mut findings: Vec<Finding>) -> Validity {
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
        let status = match findings.first().map(|finding| finding.level) {
            Some(Level::Void) => Status::Invalid,
            Some(Level::Bound) => Status::Bound,
            Some(Level::Note) | None => Status::Valid,
        };
        Validity { status, findings }
    }

    /// The findings with these numbers, counted from 0; what has none is left out.
    pub fn numbered<'a>(&'a self, numbers: &'a [usize]) -> impl Iterator<Item = &'a Finding> {
        numbers
            .iter()
            .filter_map(|number| self.findings.get(*number))
    }

    /// The numbers of these findings; those that are not in the list come back.
    pub(crate) fn numbers(&self, findings: Vec<Finding>) -> (Vec<usize>, Vec<Finding>) {
        let mut numbers = Vec::new();
        let mut others = Vec::new();
        for finding in findings {
            match self
                .findings
                .iter()
                .position(|this_finding| *this_finding == finding)
            {
                Some(number) => numbers.push(number),
                None => others.push(finding),
            }
        }
        (numbers, others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_finding_gives_the_status() {
        // Method: notes alone, then a bound, then a void added.
        let finding = |level| Finding::new(FindingId::Other("x".to_owned()), "m").at(level);
        assert_eq!(Validity::of(vec![]).status, Status::Valid);
        assert_eq!(
            Validity::of(vec![finding(Level::Note)]).status,
            Status::Valid
        );
        let mixed = vec![finding(Level::Note), finding(Level::Bound)];
        assert_eq!(Validity::of(mixed).status, Status::Bound);
        let findings = vec![
            finding(Level::Note),
            finding(Level::Void),
            finding(Level::Bound),
        ];
        let validity = Validity::of(findings);
        assert_eq!(validity.status, Status::Invalid);
        assert_eq!(validity.findings[0].level, Level::Void);
    }

    #[test]
    fn a_finding_touches_only_its_subject_and_load() {
        // Method: one about `a` under `small`, asked from three places.
        let finding = Finding::new(FindingId::Steal, "m")
            .about("a")
            .under("small");
        assert!(finding.touches("small", ["a", "b"]));
        assert!(!finding.touches("small", ["c", "b"]));
        assert!(!finding.touches("large", ["a", "b"]));
    }
}
