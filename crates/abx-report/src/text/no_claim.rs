//! Why no claim is possible, on one line: for those who see no report.

use abx_evidence::{ExpectationResult, Finding, Level, Standing};

use crate::words::prose::{message, prose, remedy};
use crate::words::wrap::clean_name;

/// The first finding that rules a claim out, or else the first expectation that the record
/// does not settle.
#[must_use]
pub fn no_claim_line(findings: &[Finding], answers: &[ExpectationResult]) -> String {
    let mut voids = findings.iter().filter(|one| one.level == Level::Void);
    let settled = [Standing::Holds, Standing::Fails];
    let mut open = answers
        .iter()
        .filter(|one| !settled.contains(&one.standing));
    let why = match (voids.next(), open.next()) {
        (Some(finding), _) => {
            let message = message(finding).replace('\n', " ");
            format!("{message}; {}", remedy(finding))
        }
        (None, Some(answer)) => {
            let expected = clean_name(&answer.expected);
            let because = match &answer.standing {
                Standing::Invalid(why) => format!(": {}", prose(why, &[]).replace('\n', " ")),
                _ => String::new(),
            };
            format!(
                "expected {expected}, which is {}{because}",
                answer.standing.word()
            )
        }
        (None, None) => "the report says why".to_owned(),
    };
    format!("no claim is possible (exit code 3): {why}")
}

#[cfg(test)]
mod tests {
    use abx_evidence::{Doubt, FindingId};

    use super::*;

    #[test]
    fn a_finding_comes_before_what_is_not_settled() {
        // Method: notes only, an expectation that is open beside one that holds, and a finding
        // that voids.
        let answer = |expected: &str, standing| ExpectationResult {
            expected: expected.to_owned(),
            is_demanded: true,
            metric: None,
            load: String::new(),
            subject: String::new(),
            goal: None,
            other: String::new(),
            bounds: None,
            is_speed_of_time: false,
            wanted: None,
            blocks_more: None,
            standing,
        };
        let answers = [
            answer("a >= b", Standing::Holds),
            answer("a >= 2 * b", Standing::Unsettled(Doubt::Straddles)),
        ];
        let note = Finding::new(FindingId::FailedRequests, "1 failed").at(Level::Note);
        let void = Finding::new(FindingId::FailedRequests, "90 of 100 failed").at(Level::Void);
        let line = |findings: &[Finding], answers: &[ExpectationResult]| {
            let line = no_claim_line(findings, answers);
            let why = line.strip_prefix("no claim is possible (exit code 3): ");
            why.expect("they all begin so").to_owned()
        };
        let unsettled = "expected a >= 2 * b, which is unsettled";
        let notes = std::slice::from_ref(&note);
        assert_eq!(line(notes, &answers), unsettled);
        assert_eq!(line(notes, &answers[..1]), "the report says why");
        let said = line(&[note, void], &answers);
        assert!(said.starts_with("90 of 100 failed; "), "{said}");
        assert!(!said.contains('\n'), "{said}");
    }
}
