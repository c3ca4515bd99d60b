//! JUnit XML: a test case for each primary comparison and each expectation.

use abx_evidence::{ExpectationResult, Standing, StudyRecord, Verdict};

use crate::sections::compared::expectations::{outcome, overall, reason};
use crate::words::metrics::metric_under;
use crate::words::style::Style;
use crate::words::units::GLUE;
use crate::words::verdict::sentence;

/// A study as JUnit XML. A comparison that is invalid is an error, one that is
/// inconclusive is skipped; an expectation fails when it does, is an error when
/// invalid and skipped when unsettled.
#[must_use]
pub fn study_junit(record: &StudyRecord, responses: &[ExpectationResult]) -> String {
    let comparisons = record.conclusions.primary().map(|comparison| {
        let message = sentence(record, comparison, &Style::plain());
        Case {
            class: format!("abx.comparison.{}", comparison.load),
            name: format!(
                "{} of {} beside {}",
                metric_under(record, &comparison.load, comparison.metric),
                comparison.subject,
                comparison.baseline
            ),
            result: match comparison.verdict {
                Verdict::Invalid => CaseResult::Error(message.clone()),
                Verdict::Inconclusive => CaseResult::Skipped(message.clone()),
                _ => CaseResult::Passed,
            },
            said: message,
        }
    });
    let expectations = responses.iter().map(|response| {
        let message = reason(record, response);
        Case {
            class: format!("abx.expectation.{}", response.load),
            name: match (response.subject.as_str(), response.other.as_str()) {
                ("", _) => response.expected.clone(),
                (subject, "") => format!("{} ({subject})", response.expected),
                (subject, other) => {
                    format!("{} ({subject} beside {other})", response.expected)
                }
            },
            result: match response.standing {
                Standing::Holds => CaseResult::Passed,
                Standing::Fails => CaseResult::Failed(message.clone()),
                Standing::Unsettled(_) => CaseResult::Skipped(message.clone()),
                Standing::Invalid(_) => CaseResult::Error(message.clone()),
            },
            said: message,
        }
    });
    let cases: Vec<Case> = expectations.chain(comparisons).collect();
    document(record, overall(responses), &cases)
}

struct Case {
    class: String,
    name: String,
    result: CaseResult,
    said: String,
}

enum CaseResult {
    Passed,
    Failed(String),
    Skipped(String),
    Error(String),
}

fn document(record: &StudyRecord, expected: Option<&Standing>, cases: &[Case]) -> String {
    let count = |is_meant: fn(&CaseResult) -> bool| {
        cases.iter().filter(|case| is_meant(&case.result)).count()
    };
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{}\"",
        cases.len(),
        count(|result| matches!(result, CaseResult::Failed(_))),
        count(|result| matches!(result, CaseResult::Error(_))),
        count(|result| matches!(result, CaseResult::Skipped(_))),
        record.measured.elapsed_s
    );
    let properties = [
        ("abx_version", record.measured.abx_version.clone()),
        ("seed", record.measured.seed.to_string()),
        (
            "baseline",
            record
                .measured
                .only_baseline()
                .unwrap_or_default()
                .to_owned(),
        ),
        ("margin", record.measured.settings.margin.to_string()),
        (
            "blocks",
            record.measured.complete_blocks().count().to_string(),
        ),
    ];
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  \
         <testsuite name=\"abx\" {counts}>\n    <properties>\n"
    );
    let expected = expected.map(|standing| ("expectations", outcome(standing).to_owned()));
    for (name, value) in expected.into_iter().chain(properties) {
        let value = escape(&value);
        out.push_str(&format!(
            "      <property name=\"{name}\" value=\"{value}\"/>\n"
        ));
    }
    out.push_str("    </properties>\n");
    out.extend(cases.iter().map(case));
    out + "  </testsuite>\n</testsuites>\n"
}

fn case(case: &Case) -> String {
    let (class, name) = (escape(&case.class), escape(&case.name));
    let result = match &case.result {
        CaseResult::Passed => String::new(),
        CaseResult::Failed(message) => element("failure", message),
        CaseResult::Skipped(message) => element("skipped", message),
        CaseResult::Error(message) => element("error", message),
    };
    let message = escape(&case.said);
    // The time of a single case is not known apart from the others'.
    format!(
        "    <testcase classname=\"{class}\" name=\"{name}\" time=\"0\">\n{result}      \
         <system-out>{message}</system-out>\n    </testcase>\n"
    )
}

fn element(name: &str, message: &str) -> String {
    format!("      <{name} message=\"{}\"/>\n", escape(message))
}

/// Text for content and attributes; what XML 1.0 has no letter for is replaced.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            GLUE => out.push(' '),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                out.push(char::REPLACEMENT_CHARACTER);
            }
            letter => out.push(letter),
        }
    }
    out
}
