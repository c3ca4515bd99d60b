//! The findings of a whole record, and its comparisons before they refer to them by number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::findings::rule::Declared;
use abx_evidence::{Finding, Level};

/// Something with the findings that limit it, before the list of all findings is complete.
#[derive(Debug)]
pub struct Limited<T> {
    pub of: T,
    pub findings: Vec<Finding>,
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
        check_levels(&findings);
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
        let status = match findings.first().map(|finding| finding.level) {
            Some(Level::Void) => Status::Invalid,
            Some(Level::Bound) => Status::Bound,
            Some(Level::Note) | None => Status::Valid,
        };
        Validity { status, findings }
    }

    /// The findings with these numbers, counted from 0. Unknown numbers are skipped.
    pub fn numbered<'a>(&'a self, numbers: &'a [usize]) -> impl Iterator<Item = &'a Finding> {
        numbers
            .iter()
            .filter_map(|number| self.findings.get(*number))
    }

    /// The numbers of these findings, and the findings that are not in the list.
    pub fn numbers(&self, findings: Vec<Finding>) -> (Vec<usize>, Vec<Finding>) {
        check_levels(&findings);
        let mut numbers = Vec::new();
        let mut others = Vec::new();
        for finding in findings {
            let mut known = self.findings.iter();
            match known.position(|known| *known == finding) {
                Some(number) => numbers.push(number),
                None => others.push(finding),
            }
        }
        (numbers, others)
    }
}

/// Checks that each id declares the level of its finding.
fn check_levels(findings: &[Finding]) {
    for finding in findings {
        let is_declared = finding.id.levels().contains(&finding.level);
        debug_assert!(is_declared, "{} at {:?}", finding.id, finding.level);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::rule::new_finding;
    use abx_evidence::FindingId;

    #[test]
    fn the_worst_finding_gives_the_status() {
        // Method: no finding, a note, a note and a bound, and one of each level.
        let finding = |level| new_finding(FindingId::Other("x".to_owned()), "m").at(level);
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
    #[should_panic(expected = "steal at Void")]
    fn a_level_that_its_id_does_not_declare_is_a_mistake() {
        // Method: a finding of a known id at a level that its rule does not declare.
        let finding = new_finding(FindingId::Steal, "m").at(Level::Void);
        let _ = Validity::of(vec![finding]);
    }
}
