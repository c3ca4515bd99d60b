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
    let comparisons = record.conclusions.primary().map(|one| {
        let said = sentence(record, one, &Style::plain());
        Case {
            class: format!("abx.comparison.{}", one.load),
            name: format!(
                "{} of {} beside {}",
                metric_under(record, &one.load, one.metric),
                one.subject,
                one.baseline
            ),
            result: match one.verdict {
                Verdict::Invalid => CaseResult::Error(said.clone()),
                Verdict::Inconclusive => CaseResult::Skipped(said.clone()),
                _ => CaseResult::Passed,
            },
            said,
        }
    });
    let expectations = responses.iter().map(|response| {
        let said = reason(record, response);
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
                Standing::Fails => CaseResult::Failed(said.clone()),
                Standing::Unsettled(_) => CaseResult::Skipped(said.clone()),
                Standing::Invalid(_) => CaseResult::Error(said.clone()),
            },
            said,
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
        cases.iter().filter(|one| is_meant(&one.result)).count()
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

fn case(one: &Case) -> String {
    let (class, name) = (escape(&one.class), escape(&one.name));
    let result = match &one.result {
        CaseResult::Passed => String::new(),
        CaseResult::Failed(said) => element("failure", said),
        CaseResult::Skipped(said) => element("skipped", said),
        CaseResult::Error(said) => element("error", said),
    };
    let said = escape(&one.said);
    // The time of a single case is not known apart from the others'.
    format!(
        "    <testcase classname=\"{class}\" name=\"{name}\" time=\"0\">\n{result}      \
         <system-out>{said}</system-out>\n    </testcase>\n"
    )
}

fn element(name: &str, said: &str) -> String {
    format!("      <{name} message=\"{}\"/>\n", escape(said))
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
